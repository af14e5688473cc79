//! Publishers and subscribers of zenoh keys.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use zenoh::bytes::ZBytes;
use zenoh::handlers::{FifoChannel, FifoChannelHandler};
use zenoh::sample::Sample;
use zenoh::{Session, Wait, pubsub};

use crate::frames::{Arrivals, Memory};
use crate::sessions::Listening;
use crate::{Zenoh, key};

/// The publisher of a pubsub link. The field `publisher` must be dropped before its session; this also applies to the
/// types below.
pub struct TopicPublisher {
    publisher: pubsub::Publisher<'static>,
    memory: Memory,
    listening: Listening,
}

impl TopicPublisher {
    pub fn open(zenoh: &Zenoh, link: &Link) -> Result<Self> {
        let listening = zenoh.sessions.listening_session()?;
        let publisher = listening
            .session
            .declare_publisher(key(link))
            .congestion_control(zenoh.quality.congestion)
            .express(zenoh.quality.express)
            .wait()
            .context("declaring a zenoh publisher")?;
        Ok(Self { publisher, memory: zenoh.memory(link)?, listening })
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

/// The polled subscriber, which sleeps on a channel.
pub struct TopicSubscriber {
    subscriber: pubsub::Subscriber<FifoChannelHandler<Sample>>,
    arrivals: Arc<Arrivals>,
    _session: Session,
}

impl TopicSubscriber {
    pub fn open(zenoh: &Zenoh, link: &Link) -> Result<Self> {
        let session = zenoh.sessions.connected_session(&link.address)?;
        let subscriber = session.declare_subscriber(key(link)).with(FifoChannel::new(zenoh.quality.channel)).wait();
        let subscriber = subscriber.context("declaring a zenoh subscriber")?;
        Ok(Self { subscriber, arrivals: zenoh.arrivals.clone(), _session: session })
    }
}

impl Subscriber for TopicSubscriber {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        drain(&self.subscriber, timeout, |sample| self.arrivals.count_and_lend(sample.payload(), &mut *take))
    }
}

/// Waits for a message in a channel, and passes on all messages in the channel. Returns the number of messages.
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

/// Opens a subscriber with a callback on zenoh's own thread.
pub fn subscribe(zenoh: &Zenoh, link: &Link, on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
    let session = zenoh.sessions.connected_session(&link.address)?;
    // Only one thread at a time runs a publisher's callback; the lock proves this to the compiler.
    let (arrivals, on_frame) = (zenoh.arrivals.clone(), Mutex::new(on_frame));
    let call = move |sample: Sample| {
        arrivals.count_and_lend(sample.payload(), |received| lock(&on_frame).call(received));
    };
    let subscriber = session.declare_subscriber(key(link)).callback(call).wait();
    let subscriber = subscriber.context("declaring a zenoh subscriber")?;
    Ok(until_dropped(session, move || subscriber.undeclare().wait_callbacks().wait()))
}

/// Returns a subscriber or queryable with a callback on zenoh's own thread. When the returned value is dropped,
/// `undeclare` waits for the last callback.
pub fn until_dropped(
    session: Session,
    undeclare: impl FnOnce() -> zenoh::Result<()> + Send + 'static,
) -> Box<dyn Subscription> {
    // An error means that the session is already closed, and a closed session makes no more calls.
    Box::new(CallbackSubscription { undeclare: Some(Box::new(move || drop(undeclare()))), _session: session })
}

struct CallbackSubscription {
    undeclare: Option<Box<dyn FnOnce() + Send>>,
    _session: Session,
}

impl Subscription for CallbackSubscription {}

impl Drop for CallbackSubscription {
    fn drop(&mut self) {
        if let Some(undeclare) = self.undeclare.take() {
            undeclare();
        }
    }
}
