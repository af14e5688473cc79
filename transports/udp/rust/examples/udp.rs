//! Sends messages as UDP datagrams: start `example receive`, then `example send` in a second terminal.
//! For calls, start `example serve`, then `example call`.
//! UDP confirms nothing: a datagram that finds the receive buffer full is lost.

use std::error::Error;
use std::net::UdpSocket;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_send_buffer_size};

const PAYLOAD_BYTES: usize = 1000;
const RATE_HZ: f64 = 100.0;
const COUNT: u32 = 100;
const ADDRESS: &str = "127.0.0.1:9000";
const SEND_BUFFER: usize = 0; // bytes; 0 keeps the system's default
const RECEIVE_BUFFER: usize = 0;
const PATIENCE: Duration = Duration::from_secs(10);
const LARGEST: usize = 65536;

fn open_socket(address: &str) -> Result<UdpSocket, Box<dyn Error>> {
    let socket = UdpSocket::bind(address)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    if SEND_BUFFER != 0 {
        set_socket_send_buffer_size(&socket, SEND_BUFFER)?;
    }
    if RECEIVE_BUFFER != 0 {
        set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER)?;
    }
    Ok(socket)
}

/// Sends messages, and with `calls` waits for the reply to each. Returns the number of replies.
fn send(calls: bool) -> Result<u32, Box<dyn Error>> {
    let socket = open_socket("0.0.0.0:0")?;
    socket.connect(ADDRESS)?; // a connected socket discards datagrams of other senders
    let (payload, mut reply) = (vec![0; PAYLOAD_BYTES], vec![0; LARGEST]);
    let mut count = 0;
    let begin = Instant::now();
    for number in 0..COUNT {
        let due = begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ);
        sleep(due.saturating_duration_since(Instant::now()));
        socket.send(&payload)?;
        if calls {
            count += u32::from(socket.recv(&mut reply)? == PAYLOAD_BYTES);
        }
    }
    Ok(count)
}

/// Counts the messages that arrive. With `answers`, returns each message as its reply.
fn receive(answers: bool) -> Result<u32, Box<dyn Error>> {
    let socket = open_socket(ADDRESS)?;
    println!("ready");
    let mut message = vec![0; LARGEST];
    let mut count = 0;
    while count < COUNT {
        let Ok((length, sender)) = socket.recv_from(&mut message) else { break };
        count += u32::from(length == PAYLOAD_BYTES);
        if answers {
            socket.send_to(&message[..length], sender)?;
        }
    }
    Ok(count)
}

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("send") => {
            send(false)?;
            println!("sent {COUNT} messages");
        }
        Some("call") => println!("received {} replies", send(true)?),
        Some("serve") => println!("answered {} calls", receive(true)?),
        _ => println!("received {} messages", receive(false)?),
    }
    Ok(())
}
