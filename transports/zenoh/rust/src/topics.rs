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

/// The publisher. It is dropped before its session, like the types below.
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
    fn put(&self, frame: ZBytes) -> Result<()> {
        self.publisher.put(frame).wait().context("publishing with zenoh")
    }
}

impl Publisher for TopicPublisher {
    fn address(&self) -> String {
        self.listening.address.clone()
    }

    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        self.memory.send(payload_bytes, fill, |frame| self.put(frame))
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        self.memory.forward(received, |frame| self.put(frame))
    }
}

/// The subscriber that sleeps on a channel.
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
        drain(&self.subscriber, timeout, |sample| self.arrivals.count_and_lend(sample.payload(), &mut *take))
    }
}

/// Hands over all messages in a channel, after waiting for the first; returns how many.
pub fn drain<T>(channel: &FifoChannelHandler<T>, timeout: Duration, mut hand_over: impl FnMut(T)) -> Result<usize> {
    let mut next = channel.recv_timeout(timeout).context("receiving from zenoh")?;
    let mut count = 0;
    while let Some(message) = next {
        hand_over(message);
        count += 1;
        next = channel.try_recv().context("receiving from zenoh")?;
    }
    Ok(count)
}

/// The subscriber that zenoh's own thread calls.
pub struct CallbackSubscription {
    subscriber: Option<pubsub::Subscriber<()>>,
    _session: Session,
}

impl CallbackSubscription {
    pub fn open(session: Session, key: String, arrivals: Arc<Arrivals>, on_frame: OnFrame) -> Result<Self> {
        // zenoh calls from one thread at a time per publisher; the lock proves that to the compiler.
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
            // A session that is already closed makes no more calls either.
            let _ = subscriber.undeclare().wait_callbacks().wait();
        }
    }
}
