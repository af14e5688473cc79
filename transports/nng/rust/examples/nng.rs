//! Sends messages with nng: start `example receive`, then `example send` in a second terminal.

use std::sync::mpsc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nng::options::{Options, RecvBufferSize, RecvMaxSize, RecvTimeout, protocol::pubsub::Subscribe};
use nng::{PipeEvent, Protocol, Socket};

const PAYLOAD_BYTES: usize = 1000;
const RATE_HZ: f64 = 100.0;
const COUNT: u32 = 100;
const TOPIC: &str = "messages";
const ADDRESS: &str = "ipc:///tmp/messages.nng";
const RECEIVE_BUFFER: i32 = 128;
const PATIENCE: Duration = Duration::from_secs(10);

fn send() -> Result<(), Box<dyn std::error::Error>> {
    let publisher = Socket::new(Protocol::Pub0)?;
    let (closed, receiver_closed) = mpsc::channel();
    publisher.pipe_notify(move |_, event| {
        if event == PipeEvent::RemovePost {
            let _ = closed.send(());
        }
    })?;
    publisher.dial(ADDRESS)?;
    let message = [TOPIC.as_bytes(), &vec![0; PAYLOAD_BYTES]].concat();
    let begin = Instant::now();
    for number in 0..COUNT {
        let due = begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ);
        sleep(due.saturating_duration_since(Instant::now()));
        publisher.send(message.as_slice()).map_err(|(_, cause)| cause)?;
    }
    // Until the receiver has closed: a socket that closes drops what it has queued.
    let _ = receiver_closed.recv_timeout(PATIENCE);
    println!("sent {COUNT} messages");
    Ok(())
}

/// Listens while others connect: a receiver that connects misses what is sent before.
fn receive() -> Result<(), Box<dyn std::error::Error>> {
    let subscriber = Socket::new(Protocol::Sub0)?;
    subscriber.set_opt::<RecvTimeout>(Some(PATIENCE))?;
    subscriber.set_opt::<RecvBufferSize>(RECEIVE_BUFFER)?;
    subscriber.set_opt::<RecvMaxSize>(0)?; // messages of any size
    subscriber.set_opt::<Subscribe>(TOPIC.into())?;
    subscriber.listen(ADDRESS)?;
    println!("ready");
    let mut count = 0;
    while count < COUNT {
        match subscriber.recv() {
            Ok(message) => count += u32::from(message.len() == TOPIC.len() + PAYLOAD_BYTES),
            Err(nng::Error::TimedOut) => break,
            Err(cause) => return Err(cause.into()),
        }
    }
    println!("received {count} messages");
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() == Some("send") { send() } else { receive() }
}
