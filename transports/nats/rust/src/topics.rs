//! Publishing and subscribing.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client as Connection, Message, PublishErrorKind, Subject};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use hopmeter_instrument::spec::Wait;
use hopmeter_instrument::{
    Context, Error, Fill, Publisher, Received, Result, Sent, Subscriber, Subscription, Take, copy_on,
};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::frames::{Frames, passed_on, received};

/// Hands a message to the connection's thread; busy where its queue is full.
///
/// # Errors
/// When the broker would refuse it or the connection is gone.
pub fn handed_over(sending: impl Future<Output = std::result::Result<(), async_nats::PublishError>>) -> Result<Sent> {
    match sending.now_or_never() {
        Some(Ok(())) => Ok(Sent::Accepted),
        Some(Err(cause)) if cause.kind() == PublishErrorKind::MaxPayloadExceeded => {
            Err(Error::new("the broker takes no frame of this size").remedy("raise max_payload").because(cause))
        }
        Some(Err(cause)) => Err(Error::new("publishing to nats-server").because(cause)),
        None => Ok(Sent::Busy),
    }
}

pub struct Sending {
    connection: Connection,
    subject: Subject,
    frames: Frames,
}

impl Sending {
    pub fn new(connection: Connection, subject: Subject) -> Self {
        Self { connection, subject, frames: Frames::default() }
    }

    fn publish(&self, frame: Bytes) -> Result<Sent> {
        handed_over(self.connection.publish(self.subject.clone(), frame))
    }
}

impl Publisher for Sending {
    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let frame = self.frames.written(payload_bytes, fill);
        self.publish(frame)
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        match passed_on(received) {
            Some(frame) => self.publish(frame),
            None => copy_on(received, |payload_bytes, fill| self.send(payload_bytes, fill)),
        }
    }
}

/// A subscription that is polled.
pub struct Receiving {
    runtime: Arc<Runtime>,
    messages: async_nats::Subscriber,
    spins: bool,
}

impl Receiving {
    pub fn open(runtime: Arc<Runtime>, connection: &Connection, subject: String, wait: Wait) -> Result<Self> {
        let messages = runtime.block_on(async {
            let messages = connection.subscribe(subject).await.context("subscribing at nats-server")?;
            connection.flush().await.context("telling nats-server of the subscription")?;
            Ok::<_, Error>(messages)
        })?;
        Ok(Self { runtime, messages, spins: wait == Wait::Spin })
    }

    /// The next message; what the broker itself says (that nobody listens) is none.
    pub fn next(&mut self, timeout: Duration) -> Option<Message> {
        let message = if self.spins || timeout.is_zero() {
            self.messages.next().now_or_never().flatten()
        } else {
            let next = self.messages.next();
            self.runtime.block_on(async { tokio::time::timeout(timeout, next).await }).ok().flatten()
        };
        message.filter(|message| message.status.is_none())
    }
}

impl Subscriber for Receiving {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let Some(message) = self.next(timeout) else { return Ok(0) };
        take(received(&message.payload));
        Ok(1)
    }
}

/// A subscription whose messages are handed over by a task on the connection's runtime.
pub struct Called {
    runtime: Arc<Runtime>,
    task: Option<JoinHandle<()>>,
}

impl Called {
    pub fn by(receiving: Receiving, mut call: impl FnMut(Message) + Send + 'static) -> Self {
        let Receiving { runtime, mut messages, .. } = receiving;
        let task = runtime.spawn(async move {
            while let Some(message) = messages.next().await {
                call(message);
            }
        });
        Self { runtime, task: Some(task) }
    }
}

impl Subscription for Called {}

impl Drop for Called {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
            // That it was aborted is what it answers; what matters is that it has ended.
            let _ = self.runtime.block_on(task);
        }
    }
}
