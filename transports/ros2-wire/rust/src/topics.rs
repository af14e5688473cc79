//! Publish-subscribe.

use std::time::Duration;

use hopmeter_instrument::Context as _;
use hopmeter_instrument::prelude::*;
use ros2_client::{Subscription, WriteError, WriteResult};
use serde::de::DeserializeOwned;

use crate::arrivals::Arrivals;
use crate::house::{House, Place};
use crate::messages::{Carried, Carrier, Outgoing};

/// What became of a message.
pub fn sent<T, D>(result: WriteResult<T, D>) -> Result<Sent> {
    match result {
        Ok(_) => Ok(Sent::Accepted),
        Err(WriteError::WouldBlock { .. }) => Ok(Sent::Busy),
        Err(told) => Err(Error::new(format!("RustDDS could not write a sample: {told}"))),
    }
}

fn place<M: Carrier>(house: &House, link: &Link) -> Place {
    Place {
        topic: format!("rt/hopmeter_{}", link.name),
        type_name: format!("{}::msg::dds_::{}_", M::TYPE.0, M::TYPE.1),
        qos: house.quality.topics.clone(),
    }
}

/// The sending end.
pub struct Sending<M: Carrier> {
    publisher: ros2_client::Publisher<Carried<M>>,
    outgoing: Outgoing<M>,
}

impl<M: Carrier> Sending<M> {
    pub fn open(house: &House, setup: &Setup, link: &Link) -> Result<Self> {
        Ok(Self { publisher: house.publisher(&place::<M>(house, link))?, outgoing: Outgoing::new(setup.payload) })
    }
}

impl<M: Carrier> Publisher for Sending<M> {
    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        sent(self.publisher.publish(self.outgoing.filled(payload_bytes, fill)?))
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        match Carried::of(received) {
            Some(message) => sent(self.publisher.publish(message)),
            None => copy_on(received, |payload_bytes, fill| self.send(payload_bytes, fill)),
        }
    }
}

/// Takes the samples of a subscription, with which a polled end waits.
pub struct Inbox<D> {
    subscription: Subscription<D>,
    arrivals: Arrivals,
}

impl<D: DeserializeOwned + 'static> Inbox<D> {
    pub fn open(house: &House, place: &Place, wait: Wait) -> Result<Self> {
        let mut subscription = house.subscription(place)?;
        let arrivals = Arrivals::new(wait, &mut subscription)?;
        Ok(Self { subscription, arrivals })
    }

    /// The next sample that is meant for this end.
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

/// The receiving end.
pub struct Receiving<M: Carrier>(Inbox<Carried<M>>);

impl<M: Carrier> Receiving<M> {
    pub fn open(house: &House, wait: Wait, link: &Link) -> Result<Self> {
        Ok(Self(Inbox::open(house, &place::<M>(house, link), wait)?))
    }
}

impl<M: Carrier> Subscriber for Receiving<M> {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let message = self.0.next(timeout, |_| true)?;
        Ok(message.map(|message| message.hand(take)).iter().len())
    }
}
