//! JetStream: publishers whose messages the broker stores in a stream, and receivers that consume the stream.

use std::collections::VecDeque;
use std::future::IntoFuture;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, PullConsumer, PushConsumer, pull, push};
use async_nats::jetstream::context::{Context as JetStreamContext, ContextBuilder, PublishAckFuture};
use async_nats::jetstream::stream::{Config, StorageType, Stream};
use async_nats::jetstream::{ErrorCode, Message};
use async_nats::{Client as Connection, Subject};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use hopmeter_instrument::prelude::*;
use hopmeter_tokio::frames::{Frames, as_received};
use hopmeter_tokio::{Runtime, Task};

/// The size of a stream beyond which the broker deletes the oldest messages.
const MAX_BYTES: i64 = 1 << 30;
/// How long the broker keeps the consumer of a receiver that requests no messages.
const IDLE: Duration = Duration::from_secs(3600);
/// How long a request for messages stays open.
const REQUEST: Duration = Duration::from_secs(30);
/// How long a sender waits for a confirmation. The broker may write to a slow disk.
const CONFIRMATION: Duration = Duration::from_secs(60);

/// How messages reach a receiver.
#[derive(Clone, Copy)]
enum Kind {
    Push { acknowledges: bool },
    Pull { batch: usize },
    Ordered,
}

impl Kind {
    fn new(setup: &Setup) -> Result<Self> {
        Ok(match setup.setting::<String>("consumer")?.as_str() {
            "pull" => Self::Pull { batch: setup.setting("batch")? },
            "ordered" => Self::Ordered,
            _ => Self::Push { acknowledges: setup.setting("acknowledge")? },
        })
    }

    const fn acknowledges(self) -> bool {
        matches!(self, Self::Push { acknowledges: true } | Self::Pull { .. })
    }

    const fn policy(self) -> AckPolicy {
        if self.acknowledges() { AckPolicy::Explicit } else { AckPolicy::None }
    }
}

/// The JetStream streams of a node's links. A link's name is the name and the only subject of its stream.
#[derive(Clone)]
pub struct Streams {
    runtime: Runtime,
    context: JetStreamContext,
    storage: StorageType,
    max_length: i64,
    max_pending: usize,
    kind: Kind,
}

impl Streams {
    pub fn open(runtime: &Runtime, connection: &Connection, setup: &Setup) -> Result<Self> {
        let _threads = runtime.enter();
        let max_length: i64 = setup.setting("max_length")?;
        let is_memory = setup.setting::<String>("storage")? == "memory";
        Ok(Self {
            runtime: runtime.clone(),
            context: ContextBuilder::new().timeout(CONFIRMATION).build(connection.clone()),
            storage: if is_memory { StorageType::Memory } else { StorageType::File },
            max_length: if max_length > 0 { max_length } else { -1 },
            max_pending: setup.setting("max_pending")?,
            kind: Kind::new(setup)?,
        })
    }

    /// Creates a link's stream, unless the link's other end has created it.
    async fn create(&self, name: &str) -> Result<Stream> {
        let config = Config {
            name: name.into(),
            subjects: vec![name.into()],
            storage: self.storage,
            max_bytes: MAX_BYTES,
            max_messages: self.max_length,
            ..Config::default()
        };
        match self.context.create_stream(config).await {
            Err(cause) if is_taken(&cause) => self.context.get_stream(name).await.context("finding a stream"),
            created => created.context("creating a stream"),
        }
    }

    pub fn publisher(&self, link: &Link) -> Result<StreamPublisher> {
        self.runtime.block_on(self.create(&link.name))?;
        let subject = link.name.as_str().into();
        Ok(StreamPublisher { streams: self.clone(), subject, frames: Frames::default(), unconfirmed: VecDeque::new() })
    }

    pub fn subscriber(&self, link: &Link) -> Result<Consumer> {
        let messages = self.runtime.block_on(async {
            let stream = self.create(&link.name).await?;
            self.consume(&stream).await.context("creating a consumer")
        })?;
        let acknowledges = self.kind.acknowledges();
        Ok(Consumer { runtime: self.runtime.clone(), messages, acknowledges, spins: link.wait == Wait::Spin })
    }

    /// Creates a consumer, which receives the messages that are published from now on.
    async fn consume(&self, stream: &Stream) -> std::result::Result<Messages, async_nats::Error> {
        let (deliver_policy, ack_policy) = (DeliverPolicy::New, self.kind.policy());
        let deliver_subject = self.context.client().new_inbox();
        Ok(match self.kind {
            Kind::Push { .. } => {
                let config = push::Config { deliver_subject, deliver_policy, ack_policy, ..Default::default() };
                let consumer: PushConsumer = stream.create_consumer(config).await?;
                Messages::Push(Box::new(consumer.messages().await?))
            }
            Kind::Ordered => {
                let config = push::OrderedConfig { deliver_subject, deliver_policy, ..Default::default() };
                Messages::Ordered(Box::new(stream.create_consumer(config).await?.messages().await?))
            }
            Kind::Pull { batch } => {
                let config =
                    pull::Config { deliver_policy, ack_policy, inactive_threshold: IDLE, ..Default::default() };
                Messages::Pull { consumer: Box::new(stream.create_consumer(config).await?), batch, fetched: None }
            }
        })
    }
}

fn is_taken(cause: &async_nats::jetstream::context::CreateStreamError) -> bool {
    use async_nats::jetstream::context::CreateStreamErrorKind::JetStream;
    matches!(cause.kind(), JetStream(broker) if broker.error_code() == ErrorCode::STREAM_NAME_EXIST)
}

/// Publishes to a stream. If `max_pending` is 1, each send waits until the broker has confirmed the message. Otherwise,
/// a send waits only while `max_pending` messages are unconfirmed.
pub struct StreamPublisher {
    streams: Streams,
    subject: Subject,
    frames: Frames,
    unconfirmed: VecDeque<PublishAckFuture>,
}

impl StreamPublisher {
    fn publish(&mut self, frame: Bytes) -> Result<Sent> {
        let Self { streams, subject, unconfirmed, .. } = self;
        let max_pending = streams.max_pending;
        streams.runtime.finish(async {
            await_confirmations(unconfirmed, max_pending - 1).await?;
            let publishing = streams.context.publish(subject.clone(), frame);
            unconfirmed.push_back(publishing.await.context("publishing to a stream of nats-server")?);
            if max_pending == 1 { await_confirmations(unconfirmed, 0).await } else { Ok(()) }
        })?;
        Ok(Sent::Accepted)
    }
}

/// Waits until at most `limit` messages are unconfirmed.
async fn await_confirmations(unconfirmed: &mut VecDeque<PublishAckFuture>, limit: usize) -> Result<()> {
    while unconfirmed.len() > limit {
        let Some(oldest) = unconfirmed.pop_front() else { break };
        oldest.into_future().await.context("nats-server did not store a message")?;
    }
    Ok(())
}

impl Publisher for StreamPublisher {
    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let frame = self.frames.write(payload_bytes, fill);
        self.publish(frame)
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        match received.native_as::<Bytes>() {
            Some(frame) => self.publish(frame.clone()),
            None => copy_on(received, |payload_bytes, fill| self.send(payload_bytes, fill)),
        }
    }
}

impl Drop for StreamPublisher {
    /// Waits for the outstanding confirmations, but at most 5 s, because the broker may have ended.
    fn drop(&mut self) {
        let closing = Duration::from_secs(5);
        let confirming = await_confirmations(&mut self.unconfirmed, 0);
        drop(self.streams.runtime.finish(async { tokio::time::timeout(closing, confirming).await }));
    }
}

enum Messages {
    Push(Box<push::Messages>),
    Ordered(Box<push::Ordered>),
    Pull {
        consumer: Box<PullConsumer>,
        batch: usize,
        /// The messages of the last request, or `None` if no more of them will arrive.
        fetched: Option<Box<pull::Batch>>,
    },
}

impl Messages {
    /// Requests messages, unless the broker sends them without a request or an earlier request is open.
    async fn request(&mut self) -> Result<()> {
        let Self::Pull { consumer, batch, fetched: fetched @ None } = self else { return Ok(()) };
        let requesting = consumer.batch().max_messages(*batch).expires(REQUEST).messages();
        *fetched = Some(Box::new(requesting.await.context("requesting messages of a stream")?));
        Ok(())
    }

    /// Returns the next message. Returns `None` if the connection has ended or, for `Pull`, if the request has ended.
    async fn next(&mut self) -> Option<Result<Message>> {
        const DOING: &str = "receiving from a stream";
        match self {
            Self::Push(messages) => messages.next().await.map(|next| next.context(DOING)),
            Self::Ordered(messages) => messages.next().await.map(|next| next.context(DOING)),
            Self::Pull { fetched, .. } => {
                let next = fetched.as_mut()?.next().await;
                if next.is_none() {
                    *fetched = None;
                }
                next.map(|next| next.map_err(|cause| Error::new(DOING).because(cause)))
            }
        }
    }
}

/// A consumer of a stream.
pub struct Consumer {
    runtime: Runtime,
    messages: Messages,
    acknowledges: bool,
    spins: bool,
}

impl Consumer {
    /// Passes every message to `on_frame`, in a task of the connection's runtime, and then acknowledges the message.
    pub fn call(self, mut on_frame: OnFrame) -> Task {
        let Self { runtime, mut messages, acknowledges, .. } = self;
        runtime.call(async move {
            while messages.request().await.is_ok() {
                match messages.next().await {
                    Some(Ok(message)) => {
                        on_frame.call(as_received(&message.payload));
                        if acknowledges && message.ack().await.is_err() {
                            break;
                        }
                    }
                    None if matches!(messages, Messages::Pull { .. }) => {}
                    _ => break,
                }
            }
        })
    }
}

impl Subscriber for Consumer {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        self.runtime.block_on(self.messages.request())?;
        let next = self.messages.next();
        let next =
            if self.spins || timeout.is_zero() { next.now_or_never() } else { self.runtime.wait_for(timeout, next) };
        let Some(message) = next.flatten().transpose()? else { return Ok(0) };
        take(as_received(&message.payload));
        if self.acknowledges {
            let acknowledging = self.runtime.block_on(message.ack());
            acknowledging.map_err(|cause| Error::new("acknowledging a message").because(cause))?;
        }
        Ok(1)
    }
}
