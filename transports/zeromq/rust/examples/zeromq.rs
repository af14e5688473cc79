//! Sends messages with ZeroMQ: start `example receive`, then `example send` in a second terminal.
//! For calls, start `example serve`, then `example call`.

use std::thread::sleep;
use std::time::{Duration, Instant};

const PAYLOAD_BYTES: usize = 1000;
const RATE_HZ: f64 = 100.0;
const COUNT: u32 = 100;
const TOPIC: &str = "messages";
const ADDRESS: &str = "ipc://@messages"; // a socket on this machine, without a file
const HWM: i32 = 1000;
const NODROP: bool = false;
const PATIENCE_MS: i32 = 10_000;

/// Sleeps until a message is due.
fn wait_for(number: u32, begin: Instant) {
    let due = begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ);
    sleep(due.saturating_duration_since(Instant::now()));
}

/// Sets the option for which the crate has no function. With true, sending waits for room in the queue instead of dropping
/// messages.
fn set_nodrop(publisher: &mut zmq::Socket, nodrop: bool) {
    let value = i32::from(nodrop);
    let option = zmq_sys::ZMQ_XPUB_NODROP as i32;
    // SAFETY: the socket is open, and ZeroMQ copies the four bytes of the value.
    let code = unsafe { zmq_sys::zmq_setsockopt(publisher.as_mut_ptr(), option, (&raw const value).cast(), 4) };
    assert_eq!(code, 0, "ZeroMQ has this option since version 4.2");
}

fn send(context: &zmq::Context) -> zmq::Result<()> {
    let mut publisher = context.socket(zmq::XPUB)?;
    publisher.set_sndhwm(HWM)?;
    set_nodrop(&mut publisher, NODROP);
    publisher.set_rcvtimeo(PATIENCE_MS)?;
    publisher.bind(ADDRESS)?;
    publisher.recv_msg(0)?; // waits for the subscription, because earlier messages are lost
    let begin = Instant::now();
    for number in 0..COUNT {
        wait_for(number, begin);
        publisher.send_multipart([TOPIC.as_bytes(), &[0; PAYLOAD_BYTES]], 0)?;
    }
    println!("sent {COUNT} messages");
    Ok(())
}

fn receive(context: &zmq::Context) -> zmq::Result<()> {
    let subscriber = context.socket(zmq::SUB)?;
    subscriber.set_rcvhwm(HWM)?;
    subscriber.set_rcvtimeo(PATIENCE_MS)?;
    subscriber.set_subscribe(TOPIC.as_bytes())?;
    subscriber.connect(ADDRESS)?;
    println!("ready");
    let mut count = 0;
    while count < COUNT {
        let Ok(parts) = subscriber.recv_multipart(0) else { break };
        count += u32::from(parts.len() == 2 && parts[1].len() == PAYLOAD_BYTES);
    }
    println!("received {count} messages");
    Ok(())
}

fn call(context: &zmq::Context) -> zmq::Result<()> {
    let client = context.socket(zmq::REQ)?;
    client.set_linger(0)?;
    client.set_rcvtimeo(PATIENCE_MS)?;
    client.connect(ADDRESS)?;
    let mut count = 0;
    let begin = Instant::now();
    for number in 0..COUNT {
        wait_for(number, begin);
        client.send(&[0; PAYLOAD_BYTES][..], 0)?;
        let Ok(reply) = client.recv_msg(0) else { break }; // no reply came in time
        count += u32::from(reply.len() == PAYLOAD_BYTES);
    }
    println!("received {count} replies");
    Ok(())
}

fn serve(context: &zmq::Context) -> zmq::Result<()> {
    let server = context.socket(zmq::REP)?;
    server.set_rcvtimeo(PATIENCE_MS)?;
    server.bind(ADDRESS)?;
    println!("ready");
    let mut count = 0;
    while count < COUNT {
        let Ok(request) = server.recv_msg(0) else { break };
        server.send(request, 0)?; // echoes the request as the reply
        count += 1;
    }
    println!("answered {count} calls");
    Ok(())
}

fn main() -> zmq::Result<()> {
    let context = zmq::Context::new();
    match std::env::args().nth(1).as_deref() {
        Some("send") => send(&context),
        Some("call") => call(&context),
        Some("serve") => serve(&context),
        _ => receive(&context),
    }
}
