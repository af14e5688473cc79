//! Publish-subscribe: a publisher is a WebSocket server that never reads, and a subscriber is a client that never
//! writes.

use std::time::Duration;

use bytes::Bytes;
use hopmeter_instrument::prelude::*;
use hopmeter_streams::waiting::wait_ready;

use crate::acceptor::Acceptor;
use crate::connection::{Connection, Outgoing};

pub struct TopicPublisher {
    pub acceptor: Acceptor,
    pub outgoing: Outgoing,
}

impl TopicPublisher {
    fn is_ready(&self) -> bool {
        !self.acceptor.guests().connections.iter().any(|receiver| receiver.behind)
    }
}

impl Publisher for TopicPublisher {
    fn address(&self) -> String {
        self.acceptor.address.clone()
    }

    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        if !self.is_ready() {
            return Ok(Sent::Busy);
        }
        self.outgoing.fill(payload_bytes, fill, |message| deliver(&self.acceptor, message))?;
        Ok(Sent::Accepted)
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        let Some(message) = received.native_as::<Bytes>() else {
            return copy_on(received, |payload_bytes, fill| self.send(payload_bytes, fill));
        };
        if !self.is_ready() {
            return Ok(Sent::Busy);
        }
        deliver(&self.acceptor, message)?;
        Ok(Sent::Accepted)
    }
}

/// Sends one message to all receivers, and drops receivers that have disconnected.
fn deliver(acceptor: &Acceptor, message: &Bytes) -> Result<()> {
    let mut guests = acceptor.guests();
    let receivers = &mut guests.connections;
    for receiver in receivers.iter_mut() {
        receiver.send(message.clone())?;
    }
    receivers.retain(|receiver| !receiver.ended);
    let behind = receivers.iter().any(|receiver| receiver.behind);
    drop(guests);
    if behind { acceptor.wake() } else { Ok(()) }
}

pub struct TopicSubscriber {
    pub connection: Connection,
    pub spins: bool,
}

impl Subscriber for TopicSubscriber {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        receive(&mut self.connection, self.spins, timeout, take)
    }
}

/// Passes on the next message of a connection. Call this function only if the link end waits for no connection other
/// than this one.
pub fn receive(connection: &mut Connection, spins: bool, timeout: Duration, take: Take<'_>) -> Result<usize> {
    let looks = spins || timeout.is_zero();
    if looks && !connection.may_have_more() && !wait_ready(&mut [connection.interest()], Duration::ZERO)? {
        return Ok(0);
    }
    if let Some(message) = connection.receive((!looks).then_some(timeout))? {
        take(Received::split(&message).with_native(&message));
        return Ok(1);
    }
    if connection.ended && !looks {
        std::thread::sleep(timeout); // without this pause, the role would poll in a busy loop
    }
    Ok(0)
}
