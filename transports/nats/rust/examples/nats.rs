//! Sends messages with NATS through its broker: start `example receive`, then `example send` in a second terminal.
//! For calls, start `example serve`, then `example call`.

use std::error::Error;
use std::time::Duration;

use futures_util::StreamExt;
use tokio::runtime::Runtime;
use tokio::time::{Instant, sleep_until, timeout};

const PAYLOAD_BYTES: usize = 1000;
const RATE_HZ: f64 = 100.0;
const COUNT: u32 = 100;
const TOPIC: &str = "messages";
const ADDRESS: &str = "127.0.0.1:4222";
const PATIENCE: Duration = Duration::from_secs(10);

async fn send() -> Result<(), Box<dyn Error>> {
    let connection = async_nats::connect(ADDRESS).await?;
    let begin = Instant::now();
    for number in 0..COUNT {
        sleep_until(begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ)).await;
        connection.publish(TOPIC, vec![0; PAYLOAD_BYTES].into()).await?;
    }
    connection.flush().await?; // sends the queued messages
    println!("sent {COUNT} messages");
    Ok(())
}

async fn receive() -> Result<(), Box<dyn Error>> {
    let connection = async_nats::connect(ADDRESS).await?;
    let mut messages = connection.subscribe(TOPIC).await?;
    connection.flush().await?; // the broker has confirmed the subscription
    println!("ready");
    let mut count = 0;
    while count < COUNT {
        let Ok(Some(message)) = timeout(PATIENCE, messages.next()).await else { break };
        count += u32::from(message.payload.len() == PAYLOAD_BYTES);
    }
    println!("received {count} messages");
    Ok(())
}

async fn call() -> Result<(), Box<dyn Error>> {
    let connection = async_nats::connect(ADDRESS).await?;
    let mut count = 0;
    let begin = Instant::now();
    for number in 0..COUNT {
        sleep_until(begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ)).await;
        let reply = timeout(PATIENCE, connection.request(TOPIC, vec![0; PAYLOAD_BYTES].into())).await??;
        count += u32::from(reply.payload.len() == PAYLOAD_BYTES);
    }
    println!("received {count} replies");
    Ok(())
}

async fn serve() -> Result<(), Box<dyn Error>> {
    let connection = async_nats::connect(ADDRESS).await?;
    let mut requests = connection.subscribe(TOPIC).await?;
    connection.flush().await?; // the broker has confirmed the subscription
    println!("ready");
    let mut count = 0;
    while count < COUNT {
        let Ok(Some(request)) = timeout(PATIENCE, requests.next()).await else { break };
        let Some(client) = request.reply else { continue };
        connection.publish(client, request.payload).await?; // echoes the request as the reply
        count += 1;
    }
    connection.flush().await?; // sends the queued messages
    println!("answered {count} calls");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = Runtime::new()?;
    match std::env::args().nth(1).as_deref() {
        Some("send") => runtime.block_on(send()),
        Some("call") => runtime.block_on(call()),
        Some("serve") => runtime.block_on(serve()),
        _ => runtime.block_on(receive()),
    }
}
