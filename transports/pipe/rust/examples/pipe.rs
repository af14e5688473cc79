//! Sends messages through a named pipe: start `example receive`, then `example send` in a second terminal.
//! A pipe carries bytes without message boundaries, so the receiver must know the size of a message.

use std::error::Error;
use std::fs::{File, OpenOptions, remove_file};
use std::io::{Read, Write};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::pipe::fcntl_setpipe_size;

const PAYLOAD_BYTES: usize = 1000;
const RATE_HZ: f64 = 100.0;
const COUNT: u32 = 100;
const TOPIC: &str = "messages";
const PIPE_SIZE: usize = 0; // the capacity in bytes; 0 keeps the system's default, 64 KiB

fn send(path: &str) -> Result<(), Box<dyn Error>> {
    let mut pipe = OpenOptions::new().write(true).open(path)?;
    let payload = vec![0; PAYLOAD_BYTES];
    let begin = Instant::now();
    for number in 0..COUNT {
        let due = begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ);
        sleep(due.saturating_duration_since(Instant::now()));
        pipe.write_all(&payload)?; // waits while the pipe is full
    }
    println!("sent {COUNT} messages");
    Ok(())
}

fn receive(path: &str) -> Result<(), Box<dyn Error>> {
    mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR)?;
    println!("ready");
    let opened = File::open(path); // waits for the sender
    remove_file(path)?; // the pipe itself remains until both programs have closed it
    let mut pipe = opened?;
    if PIPE_SIZE != 0 {
        fcntl_setpipe_size(&pipe, PIPE_SIZE)?;
    }
    let mut payload = vec![0; PAYLOAD_BYTES];
    let mut count = 0;
    while count < COUNT && pipe.read_exact(&mut payload).is_ok() {
        count += 1;
    }
    println!("received {count} messages");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = format!("{TOPIC}.fifo");
    match std::env::args().nth(1).as_deref() {
        Some("send") => send(&path),
        _ => receive(&path),
    }
}
