//! Sends messages with zenoh: start `example receive`, then `example send` in a second terminal.

use std::thread::sleep;
use std::time::{Duration, Instant};

use zenoh::handlers::FifoChannel;
use zenoh::qos::CongestionControl;
use zenoh::{Config, Session, Wait};

const PAYLOAD_BYTES: usize = 1000;
const RATE_HZ: f64 = 100.0;
const COUNT: u32 = 100;
const TOPIC: &str = "messages";
const ADDRESS: &str = "tcp/127.0.0.1:7447";
/// What `put` does with a full queue: drop or block.
const CONGESTION: &str = "drop";
const EXPRESS: bool = false;
const CHANNEL: usize = 256;
const PATIENCE: Duration = Duration::from_secs(10);

/// Opens a session that listens or connects at `ADDRESS`, looks for no other peers and uses no shared memory.
fn open_peer(key: &str) -> zenoh::Result<Session> {
    let mut config = Config::default();
    config.insert_json5("scouting/multicast/enabled", "false")?;
    config.insert_json5("listen/endpoints", "[]")?;
    config.insert_json5("transport/shared_memory/enabled", "false")?;
    config.insert_json5(key, &format!("[\"{ADDRESS}\"]"))?;
    zenoh::open(config).wait()
}

fn send() -> zenoh::Result<()> {
    let session = open_peer("connect/endpoints")?;
    let control = if CONGESTION == "block" { CongestionControl::Block } else { CongestionControl::Drop };
    let publisher = session.declare_publisher(TOPIC).congestion_control(control).express(EXPRESS).wait()?;
    let until = Instant::now() + PATIENCE;
    // What is sent before a receiver is known is lost.
    while !publisher.matching_status().wait()?.matching() {
        if Instant::now() > until {
            return Err("no receiver has subscribed".into());
        }
        sleep(Duration::from_millis(10));
    }
    let begin = Instant::now();
    for number in 0..COUNT {
        let due = begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ);
        sleep(due.saturating_duration_since(Instant::now()));
        publisher.put(vec![0; PAYLOAD_BYTES]).wait()?;
    }
    session.close().wait()?;
    println!("sent {COUNT} messages");
    Ok(())
}

fn receive() -> zenoh::Result<()> {
    let session = open_peer("listen/endpoints")?;
    let subscriber = session.declare_subscriber(TOPIC).with(FifoChannel::new(CHANNEL)).wait()?;
    println!("ready");
    let mut count = 0;
    while count < COUNT {
        let Some(sample) = subscriber.recv_timeout(PATIENCE)? else { break };
        count += u32::from(sample.payload().len() == PAYLOAD_BYTES);
    }
    println!("received {count} messages");
    Ok(())
}

fn main() -> zenoh::Result<()> {
    if std::env::args().nth(1).as_deref() == Some("send") { send() } else { receive() }
}
