//! Publishers and subscribers of subjects.

use std::future::Future;
use std::time::Duration;

use async_nats::{Client as Connection, Message, PublishErrorKind, Subject};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use hopmeter_instrument::prelude::*;
use hopmeter_tokio::frames::{Frames, as_received};
use hopmeter_tokio::{Runtime, Task};

/// Passes a message to the connection's thread. Returns busy if the thread's queue is full.
///
/// # Errors
/// Fails if the broker would reject the message, or the connection is closed.
pub fn hand_over(sending: impl Future<Output = std::result::Result<(), async_nats::PublishError>>) -> Result<Sent> {
    match sending.now_or_never() {
        Some(Ok(())) => Ok(Sent::Accepted),
        Some(Err(cause)) if cause.kind() == PublishErrorKind::MaxPayloadExceeded => {
            Err(Error::new("the broker accepts no frame of this size").remedy("raise max_payload").because(cause))
        }
        Some(Err(cause)) => Err(Error::new("publishing to nats-server").because(cause)),
        None => Ok(Sent::Busy),
    }
}

/// The publisher of a topic, or the sender of a client's requests.
pub struct TopicPublisher {
    pub connection: Connection,
    pub subject: Subject,
    /// The inbox for the reply, if the message is a request.
    pub inbox: Option<Subject>,
    pub frames: Frames,
}

impl TopicPublisher {
    fn publish(&self, frame: Bytes) -> Result<Sent> {
        let (connection, subject) = (&self.connection, self.subject.clone());
        match &self.inbox {
            None => hand_over(connection.publish(subject, frame)),
            Some(inbox) => hand_over(connection.publish_with_reply(subject, inbox.clone(), frame)),
        }
    }
}

impl Publisher for TopicPublisher {
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

/// A polled subscription.
pub struct TopicSubscriber {
    runtime: Runtime,
    messages: async_nats::Subscriber,
    spins: bool,
}

impl TopicSubscriber {
    pub fn open(runtime: Runtime, connection: &Connection, subject: String, wait: Wait) -> Result<Self> {
        let messages = runtime.block_on(async {
            let messages = connection.subscribe(subject).await.context("subscribing at nats-server")?;
            connection.flush().await.context("telling nats-server of the subscription")?;
            Ok::<_, Error>(messages)
        })?;
        Ok(Self { runtime, messages, spins: wait == Wait::Spin })
    }

    /// Returns the next message, or `None` after the timeout. Skips the broker's own "no responders" messages.
    pub fn next(&mut self, timeout: Duration) -> Option<Message> {
        let next = self.messages.next();
        let message = if self.spins || timeout.is_zero() {
            next.now_or_never().flatten()
        } else {
            self.runtime.wait_for(timeout, next).flatten()
        };
        message.filter(|message| message.status.is_none())
    }

    /// Passes every message to `call`, in a task of the connection's runtime.
    pub fn call(self, mut call: impl FnMut(Message) + Send + 'static) -> Task {
        let Self { runtime, mut messages, .. } = self;
        runtime.call(async move {
            while let Some(message) = messages.next().await {
                call(message);
            }
        })
    }
}

impl Subscriber for TopicSubscriber {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let Some(message) = self.next(timeout) else { return Ok(0) };
        take(as_received(&message.payload));
        Ok(1)
    }
}
