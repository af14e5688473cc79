//! The publisher, which calls `send` once per frame and receiver.

use std::sync::Arc;

use hopmeter_instrument::prelude::*;

use crate::Family;
use crate::attendant::Attendant;
use crate::connection::Connection;
use crate::line::Draft;
use crate::receivers::{Receiver, Receivers};
use crate::subscriber::Message;

pub(crate) struct StreamPublisher<F: Family> {
    family: Arc<F>,
    address: String,
    attendant: Attendant<Receivers>,
    draft: Draft,
}

impl<F: Family> StreamPublisher<F> {
    pub(crate) fn open(family: Arc<F>, link: &Link) -> Result<Self> {
        let (listener, address) = family.listen(link)?;
        let own = family.clone();
        let attendant = Attendant::start_with(listener, Receivers::default(), move |listener| {
            let Some(connection) = own.accept(listener)? else { return Ok(None) };
            Receiver::new(Arc::new(Connection::new(connection, own.is_pipe()))).map(|receiver| Some(Some(receiver)))
        })?;
        Ok(Self { family, address, attendant, draft: Draft::new(link.frame_bytes) })
    }
}

/// Sends a message to all receivers. Receivers that are slow get the unsent bytes from the attendant thread.
fn deliver(attendant: &Attendant<Receivers>, receivers: &mut Receivers, message: &[u8]) -> Result<Sent> {
    let sent = receivers.send(message);
    if receivers.are_behind() {
        attendant.wake()?;
    }
    Ok(sent)
}

impl<F: Family> Publisher for StreamPublisher<F> {
    fn address(&self) -> String {
        self.address.clone()
    }

    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let mut receivers = self.attendant.peers();
        if !receivers.are_ready()? {
            return Ok(Sent::Busy);
        }
        let message = self.draft.message(payload_bytes, fill)?;
        deliver(&self.attendant, &mut receivers, message)
    }

    /// Sends the received bytes and the prefix in front of them, without a copy.
    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        let Some(message) = received.native_as::<Message>() else {
            return copy_on(received, |payload_bytes, fill| self.send(payload_bytes, fill));
        };
        let mut receivers = self.attendant.peers();
        if !receivers.are_ready()? {
            return Ok(Sent::Busy);
        }
        deliver(&self.attendant, &mut receivers, message.of(received))
    }
}

impl<F: Family> Drop for StreamPublisher<F> {
    fn drop(&mut self) {
        self.family.remove(&self.address);
    }
}
