//! Publish-subscribe.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use zenoh::bytes::ZBytes;
use zenoh::handlers::{FifoChannel, FifoChannelHandler};
use zenoh::sample::Sample;
use zenoh::{Session, Wait, pubsub};

use crate::Quality;
use crate::frames::{Arrivals, Memory};
use crate::sessions::Listening;

/// The sending end. The publisher goes before the session that carries it, here and below.
pub struct TopicPublisher {
    publisher: pubsub::Publisher<'static>,
    memory: Memory,
    listening: Listening,
}

impl TopicPublisher {
    pub fn open(listening: Listening, key: String, quality: Quality, memory: Memory) -> Result<Self> {
        let publisher = listening
            .session
            .declare_publisher(key)
            .congestion_control(quality.congestion)
            .express(quality.express)
            .wait()
            .context("declaring a zenoh publisher")?;
        Ok(Self { publisher, memory, listening })
    }

    #[inline]
    fn put(&self, frame: ZBytes) -> Result<Sent> {
        self.publisher.put(frame).wait().context("publishing with zenoh")?;
        Ok(Sent::Accepted)
    }
}

impl Publisher for TopicPublisher {
    fn address(&self) -> String {
        self.listening.address.clone()
    }

    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        match self.memory.frame(payload_bytes, fill)? {
            Some(frame) => self.put(frame),
            None => Ok(Sent::Busy),
        }
    }

    /// Passes a reference on.
    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        match received.native_as::<ZBytes>() {
            Some(message) => self.put(message.clone()),
            None => copy_on(received, |payload_bytes, fill| self.send(payload_bytes, fill)),
        }
    }
}

/// The receiving end that sleeps on a channel.
pub struct TopicSubscriber {
    subscriber: pubsub::Subscriber<FifoChannelHandler<Sample>>,
    arrivals: Arc<Arrivals>,
    _session: Session,
}

impl TopicSubscriber {
    pub fn open(session: Session, key: String, quality: Quality, arrivals: Arc<Arrivals>) -> Result<Self> {
        let subscriber = session.declare_subscriber(key).with(FifoChannel::new(quality.channel)).wait();
        let subscriber = subscriber.context("declaring a zenoh subscriber")?;
        Ok(Self { subscriber, arrivals, _session: session })
    }
}

impl Subscriber for TopicSubscriber {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let mut next = self.subscriber.recv_timeout(timeout).context("receiving from zenoh")?;
        let mut frames = 0;
        while let Some(sample) = next {
            self.arrivals.count_and_lend(sample.payload(), &mut *take);
            frames += 1;
            next = self.subscriber.try_recv().context("receiving from zenoh")?;
        }
        Ok(frames)
    }
}

/// The receiving end that zenoh's own thread calls.
pub struct CallbackSubscription {
    subscriber: Option<pubsub::Subscriber<()>>,
    _session: Session,
}

impl CallbackSubscription {
    pub fn open(session: Session, key: String, arrivals: Arc<Arrivals>, on_frame: OnFrame) -> Result<Self> {
        // zenoh calls from one thread at a time for one publisher; the lock is what lets the compiler see it.
        let on_frame = Mutex::new(on_frame);
        let call = move |sample: Sample| {
            let mut on_frame = on_frame.lock().unwrap_or_else(PoisonError::into_inner);
            arrivals.count_and_lend(sample.payload(), |received| on_frame.call(received));
        };
        let subscriber = session.declare_subscriber(key).callback(call).wait();
        let subscriber = subscriber.context("declaring a zenoh subscriber")?;
        Ok(Self { subscriber: Some(subscriber), _session: session })
    }
}

impl Subscription for CallbackSubscription {}

impl Drop for CallbackSubscription {
    fn drop(&mut self) {
        if let Some(subscriber) = self.subscriber.take() {
            // A session that is closed already calls no more either.
            let _ = subscriber.undeclare().wait_callbacks().wait();
        }
    }
}
