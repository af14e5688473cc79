//! The adapter for Kafka with rdkafka: topics of one partition. `../README.md` describes the wire format.
//!
//! Every link end has its own producer or consumer, and each of these has its own librdkafka threads.

use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use hopmeter_instrument::prelude::*;
use rdkafka::client::{Client, ClientContext};
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::Message;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::{Offset, TopicPartitionList};

const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);
/// librdkafka waits whole milliseconds.
const SHORTEST: Duration = Duration::from_millis(1);
const PARTITION: i32 = 0;
const DEFAULT_MESSAGE_BYTES: usize = 1_000_000;
/// An upper limit for the number of bytes that Kafka adds to a message.
const BATCH_OVERHEAD_BYTES: usize = 65_536;
/// The settings of producers, with the Kafka property that each setting sets.
const PRODUCER: [(&str, &str); 5] = [
    ("acks", "acks"),
    ("linger_ms", "linger.ms"),
    ("batch_size", "batch.size"),
    ("compression", "compression.type"),
    ("idempotence", "enable.idempotence"),
];
/// The settings of consumers, with the Kafka property that each setting sets.
const CONSUMER: [(&str, &str); 2] = [("fetch_min_bytes", "fetch.min.bytes"), ("fetch_wait_ms", "fetch.wait.max.ms")];

struct Kafka {
    setup: Setup,
}

impl Kafka {
    fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
        Ok(Arc::new(Self { setup: setup.clone() }))
    }

    /// Returns the properties with which a client connects to the broker, and the properties that the settings set.
    fn config(&self, settings: &[(&str, &str)]) -> Result<ClientConfig> {
        let mut config = ClientConfig::new();
        let broker = self.setup.broker.as_str();
        let (credentials, place) = broker.rsplit_once('@').unwrap_or(("", broker));
        config.set("bootstrap.servers", place);
        if let Some((user, password)) = credentials.split_once(':') {
            config.set("security.protocol", "SASL_PLAINTEXT").set("sasl.mechanism", "PLAIN");
            config.set("sasl.username", user).set("sasl.password", password);
        }
        for (setting, property) in settings {
            let value: serde_json::Value = self.setup.setting(setting)?;
            config.set(*property, value.as_str().map_or_else(|| value.to_string(), str::to_string));
        }
        Ok(config)
    }
}

/// Repeats an attempt until it succeeds, because a new topic becomes usable only after some time.
fn retry<T>(doing: &str, attempt: impl Fn() -> KafkaResult<T>) -> Result<T> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match attempt() {
            Err(_) if Instant::now() < deadline => thread::sleep(LOOK),
            done => return done.context(doing),
        }
    }
}

/// Waits until the topic has a leader. The broker creates the topic when the first client asks for it.
fn await_topic<C: ClientContext>(client: &Client<C>, topic: &str) -> Result<()> {
    retry("opening a topic", || {
        let found = client.fetch_metadata(Some(topic), PATIENCE)?;
        let problem = found.topics().iter().find_map(|topic| topic.error());
        problem.map_or(Ok(()), |code| Err(KafkaError::MetadataFetch(code.into())))
    })
}

impl Transport for Kafka {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        let mut config = self.config(&PRODUCER)?;
        let message_bytes = DEFAULT_MESSAGE_BYTES.max(link.frame_bytes + BATCH_OVERHEAD_BYTES);
        let producer: BaseProducer =
            config.set("message.max.bytes", message_bytes.to_string()).create().context("creating a producer")?;
        await_topic(producer.client(), &link.name)?;
        Ok(Box::new(TopicPublisher { producer, topic: link.name.clone(), frame: Vec::new() }))
    }

    /// Assigns the topic's partition to a new consumer, from the current end of the topic.
    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        let mut config = self.config(&CONSUMER)?;
        config.set("group.id", &link.name).set("enable.auto.commit", "false").set("allow.auto.create.topics", "true");
        let consumer: BaseConsumer = config.create().context("creating a consumer")?;
        await_topic(consumer.client(), &link.name)?;
        let (_, end) =
            retry("asking for a topic's end", || consumer.fetch_watermarks(&link.name, PARTITION, PATIENCE))?;
        let mut places = TopicPartitionList::new();
        places.add_partition_offset(&link.name, PARTITION, Offset::Offset(end)).context("choosing an offset")?;
        consumer.assign(&places).context("assigning a partition")?;
        Ok(Box::new(TopicSubscriber { consumer, spins: link.wait == Wait::Spin }))
    }

    fn facts(&self) -> Vec<(String, String)> {
        vec![("path".into(), "TCP through Apache Kafka".into())]
    }
}

struct TopicPublisher {
    producer: BaseProducer,
    topic: String,
    frame: Vec<u8>,
}

/// Queues a frame, which librdkafka copies, and lets librdkafka report the deliveries that have completed.
fn produce(producer: &BaseProducer, topic: &str, frame: &[u8]) -> Result<Sent> {
    let queued = producer.send(BaseRecord::<(), [u8]>::to(topic).payload(frame));
    producer.poll(Duration::ZERO);
    match queued {
        Ok(()) => Ok(Sent::Accepted),
        Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), _)) => Ok(Sent::Busy),
        Err((cause, _)) => Err(Error::new("sending to Kafka").because(cause)),
    }
}

impl Publisher for TopicPublisher {
    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        fill.write_into(&mut self.frame, payload_bytes);
        produce(&self.producer, &self.topic, &self.frame)
    }

    /// Passes the received bytes to librdkafka, which copies them.
    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        match received.native_as::<Frame>() {
            Some(frame) => produce(&self.producer, &self.topic, frame.of(received)),
            None => copy_on(received, |payload_bytes, fill| self.send(payload_bytes, fill)),
        }
    }
}

impl Drop for TopicPublisher {
    /// Sends what is still queued. If the broker does not answer, the results do not change.
    fn drop(&mut self) {
        let _ = self.producer.flush(PATIENCE);
    }
}

/// The bytes of a received frame, which are valid during one call of `take`.
struct Frame(*const [u8]);

impl Frame {
    fn of<'a>(&self, _frame: &'a Received<'_>) -> &'a [u8] {
        // SAFETY: only `poll` creates this value, from bytes that live as long as the frame, and the value cannot be
        // stored.
        unsafe { &*self.0 }
    }
}

struct TopicSubscriber {
    consumer: BaseConsumer,
    spins: bool,
}

impl Subscriber for TopicSubscriber {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let limit = if self.spins { Duration::ZERO } else { timeout.max(SHORTEST) };
        let Some(message) = self.consumer.poll(limit) else { return Ok(0) };
        let message = message.context("receiving from Kafka")?;
        let bytes = message.payload().unwrap_or_default();
        take(Received::split(bytes).with_native(&Frame(bytes)));
        Ok(1)
    }
}

fn version() -> String {
    format!("rdkafka {}, librdkafka {}", library_version!("rdkafka"), rdkafka::util::get_rdkafka_version().1)
}

fn main() -> ExitCode {
    node::main("kafka", "rust", Kafka::open, version)
}
