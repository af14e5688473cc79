//! Sends messages with D-Bus through its broker: start `example receive`, then `example send` in a second terminal.
//! For calls, start `example serve`, then `example call`.

use std::error::Error;
use std::time::Duration;

use futures_util::StreamExt;
use serde_bytes::{ByteBuf, Bytes};
use tokio::runtime::Runtime;
use tokio::time::{Instant, sleep_until, timeout};
use zbus::connection::Builder;
use zbus::message::Type;
use zbus::{Connection, MatchRule, MessageStream};

const PAYLOAD_BYTES: usize = 1000;
const RATE_HZ: f64 = 100.0;
const COUNT: u32 = 100;
const TOPIC: &str = "messages";
const ADDRESS: &str = "unix:path=/run/user/1000/bus"; // see `echo $DBUS_SESSION_BUS_ADDRESS`
const INTERFACE: &str = "org.example.Link";
const SERVER: &str = "org.example.Server";
const PATIENCE: Duration = Duration::from_secs(10);

fn path() -> String {
    format!("/org/example/{TOPIC}")
}

async fn send() -> Result<(), Box<dyn Error>> {
    let connection = Builder::address(ADDRESS)?.build().await?;
    let begin = Instant::now();
    for number in 0..COUNT {
        sleep_until(begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ)).await;
        let payload = Bytes::new(&[0; PAYLOAD_BYTES]);
        connection.emit_signal(None::<&str>, path(), INTERFACE, "Frame", &payload).await?;
    }
    println!("sent {COUNT} messages");
    Ok(())
}

async fn receive() -> Result<(), Box<dyn Error>> {
    let connection = Builder::address(ADDRESS)?.build().await?;
    let rule = MatchRule::builder().msg_type(Type::Signal).path(path())?.interface(INTERFACE)?.build();
    let mut messages = MessageStream::for_match_rule(rule, &connection, None).await?;
    println!("ready");
    let mut count = 0;
    while count < COUNT {
        let Ok(Some(message)) = timeout(PATIENCE, messages.next()).await else { break };
        count += u32::from(message?.body().deserialize::<&[u8]>()?.len() == PAYLOAD_BYTES);
    }
    println!("received {count} messages");
    Ok(())
}

async fn call() -> Result<(), Box<dyn Error>> {
    let connection = Builder::address(ADDRESS)?.method_timeout(PATIENCE).build().await?;
    let mut count = 0;
    let begin = Instant::now();
    for number in 0..COUNT {
        sleep_until(begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ)).await;
        let payload = Bytes::new(&[0; PAYLOAD_BYTES]);
        let reply = connection.call_method(Some(SERVER), path(), Some(INTERFACE), "Call", &payload).await?;
        count += u32::from(reply.body().deserialize::<&[u8]>()?.len() == PAYLOAD_BYTES);
    }
    println!("received {count} replies");
    Ok(())
}

async fn serve() -> Result<(), Box<dyn Error>> {
    let connection: Connection = Builder::address(ADDRESS)?.name(SERVER)?.build().await?;
    let mut messages = MessageStream::from(&connection);
    println!("ready");
    let mut count = 0;
    while count < COUNT {
        let Ok(Some(request)) = timeout(PATIENCE, messages.next()).await else { break };
        let request = request?;
        if request.message_type() == Type::MethodCall {
            let payload: ByteBuf = request.body().deserialize()?;
            connection.reply(&request.header(), &payload).await?; // echoes the request as the reply
            count += 1;
        }
    }
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
