//! Sends messages with MPI: `mpirun -n 1 example receive : -n 1 example send` starts both programs.

use std::thread::sleep;
use std::time::{Duration, Instant};

use mpi::traits::*;

const PAYLOAD_BYTES: usize = 1000;
const RATE_HZ: f64 = 100.0;
const COUNT: u32 = 100;
const TAG: i32 = 1;
const RECEIVER: i32 = 0; // the ranks of the two programs
const SENDER: i32 = 1;

fn send(world: &impl Communicator) {
    let payload = vec![0u8; PAYLOAD_BYTES];
    let begin = Instant::now();
    for number in 0..COUNT {
        let due = begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ);
        sleep(due.saturating_duration_since(Instant::now()));
        world.process_at_rank(RECEIVER).send_with_tag(&payload[..], TAG);
    }
    println!("sent {COUNT} messages");
}

fn receive(world: &impl Communicator) {
    println!("ready");
    let mut payload = vec![0u8; PAYLOAD_BYTES];
    let mut count = 0;
    for _ in 0..COUNT {
        let status = world.process_at_rank(SENDER).receive_into_with_tag(&mut payload[..], TAG); // uses a whole core
        count += u32::from(status.count(u8::equivalent_datatype()) as usize == PAYLOAD_BYTES);
    }
    println!("received {count} messages");
}

fn main() {
    let universe = mpi::initialize().expect("MPI is initialized only once");
    let world = universe.world();
    match std::env::args().nth(1).as_deref() {
        Some("send") => send(&world),
        _ => receive(&world),
    }
}
