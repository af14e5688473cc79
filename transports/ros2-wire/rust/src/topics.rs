//! Publishers and subscribers of topics.

use std::time::Duration;

use hopmeter_instrument::Context as _;
use hopmeter_instrument::prelude::*;
use ros2_client::{Subscription, WriteError, WriteResult};
use serde::de::DeserializeOwned;

use crate::arrivals::Arrivals;
use crate::messages::{Carrier, FrameMessage, MessageBuffer};
use crate::session::{Place, Session};

/// Converts the result of a write.
pub fn write_outcome<T, D>(result: WriteResult<T, D>) -> Result<Sent> {
    match result {
        Ok(_) => Ok(Sent::Accepted),
        Err(WriteError::WouldBlock { .. }) => Ok(Sent::Busy),
        Err(told) => Err(Error::new(format!("RustDDS could not write a sample: {told}"))),
    }
}

fn place<M: Carrier>(session: &Session, link: &Link) -> Place {
    Place {
        topic: format!("rt/hopmeter_{}", link.name),
        type_name: format!("{}::msg::dds_::{}_", M::TYPE.0, M::TYPE.1),
        qos: session.quality.topics.clone(),
    }
}

/// The publisher of a pubsub link over RustDDS.
pub struct TopicPublisher<M: Carrier> {
    publisher: ros2_client::Publisher<FrameMessage<M>>,
    outgoing: MessageBuffer<M>,
}

impl<M: Carrier> TopicPublisher<M> {
    pub fn open(session: &Session, link: &Link) -> Result<Self> {
        let publisher = session.publisher(&place::<M>(session, link))?;
        Ok(Self { publisher, outgoing: MessageBuffer::new(link.payload) })
    }
}

impl<M: Carrier> Publisher for TopicPublisher<M> {
    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        write_outcome(self.publisher.publish(self.outgoing.fill(payload_bytes, fill)?))
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        match FrameMessage::of(received) {
            Some(message) => write_outcome(self.publisher.publish(message)),
            None => copy_on(received, |payload_bytes, fill| self.send(payload_bytes, fill)),
        }
    }
}

/// Takes a subscription's samples by polling.
pub struct Inbox<D> {
    subscription: Subscription<D>,
    arrivals: Arrivals,
}

impl<D: DeserializeOwned + 'static> Inbox<D> {
    pub fn open(session: &Session, place: &Place, wait: Wait) -> Result<Self> {
        let mut subscription = session.subscription(place)?;
        let arrivals = Arrivals::new(wait, &mut subscription)?;
        Ok(Self { subscription, arrivals })
    }

    /// Returns the next sample for which `is_ours` is true.
    pub fn next(&mut self, timeout: Duration, is_ours: impl Fn(&D) -> bool) -> Result<Option<D>> {
        self.arrivals.next(timeout, || {
            while let Some((sample, _)) = self.subscription.take().context("taking a sample")? {
                if is_ours(&sample) {
                    return Ok(Some(sample));
                }
            }
            Ok(None)
        })
    }
}

/// The polled subscriber of a pubsub link.
pub struct TopicSubscriber<M: Carrier>(Inbox<FrameMessage<M>>);

impl<M: Carrier> TopicSubscriber<M> {
    pub fn open(session: &Session, link: &Link) -> Result<Self> {
        Ok(Self(Inbox::open(session, &place::<M>(session, link), link.wait)?))
    }
}

impl<M: Carrier> Subscriber for TopicSubscriber<M> {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let message = self.0.next(timeout, |_| true)?;
        Ok(message.map(|message| message.with_frame(take)).iter().len())
    }
}
