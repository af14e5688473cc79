//! Sends messages with nng: start `example receive`, then `example send` in a second terminal.
//! For calls, start `example serve`, then `example call`.

use std::sync::mpsc::{self, Receiver};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nng::options::{Options, RecvBufferSize, RecvMaxSize, RecvTimeout, SendBufferSize, protocol::pubsub::Subscribe};
use nng::{PipeEvent, Protocol, Socket};

const PAYLOAD_BYTES: usize = 1000;
const RATE_HZ: f64 = 100.0;
const COUNT: u32 = 100;
const TOPIC: &str = "messages";
const ADDRESS: &str = "ipc:///tmp/messages.nng";
const SEND_BUFFER: i32 = -1; // the number of messages that a publisher queues; -1: nng decides
const RECEIVE_BUFFER: i32 = 128;
const PATIENCE: Duration = Duration::from_secs(10);

/// Returns a channel that receives a value when the socket's peer has closed, because a closing socket drops its queued
/// messages.
fn until_peer_closes(socket: &Socket) -> nng::Result<Receiver<()>> {
    let (closed, peer_closed) = mpsc::channel();
    socket.pipe_notify(move |_, event| {
        if event == PipeEvent::RemovePost {
            let _ = closed.send(());
        }
    })?;
    Ok(peer_closed)
}

fn send() -> Result<(), Box<dyn std::error::Error>> {
    let publisher = Socket::new(Protocol::Pub0)?;
    if SEND_BUFFER >= 0 {
        publisher.set_opt::<SendBufferSize>(SEND_BUFFER)?;
    }
    let receiver_closed = until_peer_closes(&publisher)?;
    publisher.dial(ADDRESS)?;
    let message = [TOPIC.as_bytes(), &vec![0; PAYLOAD_BYTES]].concat();
    let begin = Instant::now();
    for number in 0..COUNT {
        let due = begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ);
        sleep(due.saturating_duration_since(Instant::now()));
        publisher.send(message.as_slice()).map_err(|(_, cause)| cause)?;
    }
    let _ = receiver_closed.recv_timeout(PATIENCE);
    println!("sent {COUNT} messages");
    Ok(())
}

/// The receiver listens and the senders dial, because a dialling receiver would miss messages sent before it is
/// connected.
fn receive() -> Result<(), Box<dyn std::error::Error>> {
    let subscriber = Socket::new(Protocol::Sub0)?;
    subscriber.set_opt::<RecvTimeout>(Some(PATIENCE))?;
    subscriber.set_opt::<RecvBufferSize>(RECEIVE_BUFFER)?;
    subscriber.set_opt::<RecvMaxSize>(0)?; // 0 accepts messages of any size
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

fn call() -> Result<(), Box<dyn std::error::Error>> {
    let client = Socket::new(Protocol::Req0)?;
    client.set_opt::<RecvTimeout>(Some(PATIENCE))?;
    client.set_opt::<RecvMaxSize>(0)?; // 0 accepts replies of any size
    client.dial(ADDRESS)?;
    let mut count = 0;
    let begin = Instant::now();
    for number in 0..COUNT {
        let due = begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ);
        sleep(due.saturating_duration_since(Instant::now()));
        client.send(vec![0; PAYLOAD_BYTES].as_slice()).map_err(|(_, cause)| cause)?;
        count += u32::from(client.recv()?.len() == PAYLOAD_BYTES);
    }
    println!("received {count} replies");
    Ok(())
}

fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let server = Socket::new(Protocol::Rep0)?;
    server.set_opt::<RecvTimeout>(Some(PATIENCE))?;
    server.set_opt::<RecvMaxSize>(0)?; // 0 accepts requests of any size
    let client_closed = until_peer_closes(&server)?;
    server.listen(ADDRESS)?;
    println!("ready");
    let mut count = 0;
    while count < COUNT {
        let Ok(request) = server.recv() else { break };
        server.send(request).map_err(|(_, cause)| cause)?; // echoes the request as the reply
        count += 1;
    }
    let _ = client_closed.recv_timeout(PATIENCE);
    println!("answered {count} calls");
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("send") => send(),
        Some("call") => call(),
        Some("serve") => serve(),
        _ => receive(),
    }
}
