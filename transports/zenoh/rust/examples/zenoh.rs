//! Sends messages with zenoh: start `example receive`, then `example send` in a second terminal.
//! For calls, start `example serve`, then `example call`.

use std::thread::sleep;
use std::time::{Duration, Instant};

use zenoh::handlers::FifoChannel;
use zenoh::qos::CongestionControl;
use zenoh::sample::Sample;
use zenoh::{Config, Session, Wait};

const PAYLOAD_BYTES: usize = 1000;
const RATE_HZ: f64 = 100.0;
const COUNT: u32 = 100;
const TOPIC: &str = "messages";
const ADDRESS: &str = "tcp/127.0.0.1:7447";
/// What `put` does if the queue is full: drop or block.
const CONGESTION: &str = "drop";
const EXPRESS: bool = false;
const CHANNEL: usize = 256;
const PATIENCE: Duration = Duration::from_secs(10);

/// Opens a session that listens or connects at `ADDRESS`, searches for no other peers and uses no shared memory.
fn open_peer(key: &str) -> zenoh::Result<Session> {
    let mut config = Config::default();
    config.insert_json5("scouting/multicast/enabled", "false")?;
    config.insert_json5("listen/endpoints", "[]")?;
    config.insert_json5("transport/shared_memory/enabled", "false")?;
    config.insert_json5(key, &format!("[\"{ADDRESS}\"]"))?;
    zenoh::open(config).wait()
}

fn control() -> CongestionControl {
    if CONGESTION == "block" { CongestionControl::Block } else { CongestionControl::Drop }
}

/// Waits until `is_known` returns true, which means that the other side has connected.
fn wait_until(is_known: impl Fn() -> zenoh::Result<bool>) -> zenoh::Result<()> {
    let until = Instant::now() + PATIENCE;
    while !is_known()? {
        if Instant::now() > until {
            return Err("the other side does not answer".into());
        }
        sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn send() -> zenoh::Result<()> {
    let session = open_peer("connect/endpoints")?;
    let publisher = session.declare_publisher(TOPIC).congestion_control(control()).express(EXPRESS).wait()?;
    wait_until(|| Ok(publisher.matching_status().wait()?.matching()))?; // earlier messages are lost
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

fn call() -> zenoh::Result<()> {
    let session = open_peer("connect/endpoints")?;
    let querier =
        session.declare_querier(TOPIC).congestion_control(control()).express(EXPRESS).timeout(PATIENCE).wait()?;
    wait_until(|| Ok(querier.matching_status().wait()?.matching()))?;
    let mut count = 0;
    let begin = Instant::now();
    for number in 0..COUNT {
        let due = begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ);
        sleep(due.saturating_duration_since(Instant::now()));
        let replies = querier.get().payload(vec![0; PAYLOAD_BYTES]).wait()?;
        let is_whole = |sample: Sample| sample.payload().len() == PAYLOAD_BYTES;
        count += u32::from(replies.recv()?.into_result().is_ok_and(is_whole));
    }
    session.close().wait()?;
    println!("received {count} replies");
    Ok(())
}

fn serve() -> zenoh::Result<()> {
    let session = open_peer("listen/endpoints")?;
    let queries = session.declare_queryable(TOPIC).with(FifoChannel::new(CHANNEL)).wait()?;
    println!("ready");
    let mut count = 0;
    while count < COUNT {
        let Some(query) = queries.recv_timeout(PATIENCE)? else { break };
        query.reply(TOPIC, query.payload().cloned().unwrap_or_default()).wait()?; // echoes the request as the reply
        count += 1;
    }
    session.close().wait()?;
    println!("answered {count} calls");
    Ok(())
}

fn main() -> zenoh::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("send") => send(),
        Some("call") => call(),
        Some("serve") => serve(),
        _ => receive(),
    }
}
