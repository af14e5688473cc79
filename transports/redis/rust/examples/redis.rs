//! Sends messages through Redis: start `example receive`, then `example send` in a second terminal.

use std::thread::sleep;
use std::time::{Duration, Instant};

const PAYLOAD_BYTES: usize = 1000;
const RATE_HZ: f64 = 100.0;
const COUNT: u32 = 100;
const TOPIC: &str = "messages";
const ADDRESS: &str = "127.0.0.1:6379";
const PATIENCE: Duration = Duration::from_secs(10);

fn connect() -> redis::RedisResult<redis::Connection> {
    redis::Client::open(format!("redis://{ADDRESS}"))?.get_connection()
}

fn send() -> redis::RedisResult<()> {
    let mut connection = connect()?;
    let payload = vec![0_u8; PAYLOAD_BYTES];
    let begin = Instant::now();
    for number in 0..COUNT {
        let due = begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ);
        sleep(due.saturating_duration_since(Instant::now()));
        // Returns when the broker has received the message.
        redis::cmd("PUBLISH").arg(TOPIC).arg(&payload).exec(&mut connection)?;
    }
    println!("sent {COUNT} messages");
    Ok(())
}

fn receive() -> redis::RedisResult<()> {
    let mut connection = connect()?;
    let mut messages = connection.as_pubsub();
    messages.subscribe(TOPIC)?;
    messages.set_read_timeout(Some(PATIENCE))?;
    println!("ready");
    let mut count = 0;
    while count < COUNT {
        match messages.get_message() {
            Ok(message) => count += u32::from(message.get_payload_bytes().len() == PAYLOAD_BYTES),
            Err(cause) if cause.is_timeout() => break,
            Err(cause) => return Err(cause),
        }
    }
    println!("received {count} messages");
    Ok(())
}

fn main() -> redis::RedisResult<()> {
    if std::env::args().nth(1).as_deref() == Some("send") { send() } else { receive() }
}
