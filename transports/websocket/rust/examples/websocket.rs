//! Sends messages over a WebSocket: start `example receive`, then `example send` in a second terminal.
//! For calls, start `example serve`, then `example call`.

use std::error::Error;
use std::net::{TcpListener, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Error as Failure, Message, WebSocket, client::client_with_config};

const PAYLOAD_BYTES: usize = 1000;
const RATE_HZ: f64 = 100.0;
const COUNT: u32 = 100;
const TOPIC: &str = "messages";
const ADDRESS: &str = "127.0.0.1:8765";
const PATIENCE: Duration = Duration::from_secs(10);

fn any_size() -> WebSocketConfig {
    WebSocketConfig::default().max_message_size(None).max_frame_size(None)
}

fn connect() -> Result<WebSocket<TcpStream>, Box<dyn Error>> {
    let stream = TcpStream::connect(ADDRESS)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(client_with_config(format!("ws://{ADDRESS}/{TOPIC}"), stream, Some(any_size()))?.0)
}

fn send() -> Result<(), Box<dyn Error>> {
    let mut socket = connect()?;
    let begin = Instant::now();
    for number in 0..COUNT {
        let due = begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ);
        sleep(due.saturating_duration_since(Instant::now()));
        socket.send(Message::binary(vec![0; PAYLOAD_BYTES]))?;
    }
    socket.close(None)?;
    // Wait until the receiver has also closed, which means that the receiver has all messages.
    while socket.read().is_ok() {}
    println!("sent {COUNT} messages");
    Ok(())
}

/// Counts the messages that arrive. With `answers`, returns each message as its reply.
fn run_server(answers: bool) -> Result<u32, Box<dyn Error>> {
    let listener = TcpListener::bind(ADDRESS)?;
    println!("ready");
    let (stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut socket = tungstenite::accept_with_config(stream, Some(any_size()))?;
    let mut count = 0;
    loop {
        match socket.read() {
            Ok(Message::Binary(message)) => {
                count += u32::from(message.len() == PAYLOAD_BYTES);
                if answers {
                    socket.send(Message::Binary(message))?;
                }
            }
            Ok(_) => {}
            Err(Failure::ConnectionClosed) => return Ok(count),
            Err(cause) => return Err(cause.into()),
        }
    }
}

fn call() -> Result<(), Box<dyn Error>> {
    let mut socket = connect()?;
    let mut count = 0;
    let begin = Instant::now();
    for number in 0..COUNT {
        let due = begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ);
        sleep(due.saturating_duration_since(Instant::now()));
        socket.send(Message::binary(vec![0; PAYLOAD_BYTES]))?;
        count += u32::from(socket.read()?.len() == PAYLOAD_BYTES);
    }
    socket.close(None)?;
    while socket.read().is_ok() {}
    println!("received {count} replies");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("send") => send()?,
        Some("call") => call()?,
        Some("serve") => println!("answered {} calls", run_server(true)?),
        _ => println!("received {} messages", run_server(false)?),
    }
    Ok(())
}
