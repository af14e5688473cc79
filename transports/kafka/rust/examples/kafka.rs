//! Sends messages through Kafka: start `example receive`, then `example send` in a second terminal.
//! The version of rdkafka_sys is the last one that accepts librdkafka 2.0.

use std::error::Error;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::{Offset, TopicPartitionList};

const PAYLOAD_BYTES: usize = 1000;
const RATE_HZ: f64 = 100.0;
const COUNT: u32 = 100;
const TOPIC: &str = "messages";
const ADDRESS: &str = "127.0.0.1:9092";
const ACKS: &str = "all";
const LINGER_MS: u32 = 5;
const BATCH_SIZE: u32 = 1000000;
const COMPRESSION: &str = "none";
const IDEMPOTENCE: bool = false;
const FETCH_MIN_BYTES: u32 = 1;
const FETCH_WAIT_MS: u32 = 500;
const PATIENCE: Duration = Duration::from_secs(10);

type Outcome = Result<(), Box<dyn Error>>;

fn send() -> Outcome {
    let producer: BaseProducer = ClientConfig::new()
        .set("bootstrap.servers", ADDRESS)
        .set("acks", ACKS)
        .set("linger.ms", LINGER_MS.to_string())
        .set("batch.size", BATCH_SIZE.to_string())
        .set("compression.type", COMPRESSION)
        .set("enable.idempotence", IDEMPOTENCE.to_string())
        .create()?;
    let (payload, begin) = (vec![0u8; PAYLOAD_BYTES], Instant::now());
    for number in 0..COUNT {
        let due = begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ);
        sleep(due.saturating_duration_since(Instant::now()));
        let record = BaseRecord::<(), _>::to(TOPIC).payload(&payload);
        producer.send(record).map_err(|(cause, _)| cause)?;
        producer.poll(Duration::ZERO);
    }
    producer.flush(PATIENCE)?;
    println!("sent {COUNT} messages");
    Ok(())
}

/// Returns the end of the topic. The broker creates the topic when the first client asks for it.
fn find_end(consumer: &BaseConsumer) -> Result<i64, Box<dyn Error>> {
    loop {
        consumer.fetch_metadata(Some(TOPIC), PATIENCE)?;
        match consumer.fetch_watermarks(TOPIC, 0, PATIENCE) {
            Ok((_, end)) => return Ok(end),
            Err(_) => sleep(Duration::from_millis(50)),
        }
    }
}

fn receive() -> Outcome {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", ADDRESS)
        .set("group.id", "example")
        .set("enable.auto.commit", "false")
        .set("allow.auto.create.topics", "true")
        .set("fetch.min.bytes", FETCH_MIN_BYTES.to_string())
        .set("fetch.wait.max.ms", FETCH_WAIT_MS.to_string())
        .create()?;
    let mut places = TopicPartitionList::new();
    places.add_partition_offset(TOPIC, 0, Offset::Offset(find_end(&consumer)?))?;
    consumer.assign(&places)?;
    println!("ready");
    let mut count = 0;
    while count < COUNT {
        let Some(message) = consumer.poll(PATIENCE) else { break };
        count += u32::from(message?.payload_len() == PAYLOAD_BYTES);
    }
    println!("received {count} messages");
    Ok(())
}

fn main() -> Outcome {
    if std::env::args().nth(1).as_deref() == Some("send") { send() } else { receive() }
}
