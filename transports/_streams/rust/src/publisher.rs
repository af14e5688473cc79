//! The sending end: one frame, one `send` for each receiver.

use std::sync::{Arc, Mutex};

use hopmeter_instrument::{Fill, Link, Publisher, Received, Result, Sent, copy_on};

use crate::Family;
use crate::attendant::Attendant;
use crate::line::Draft;
use crate::receivers::{Receivers, lock};
use crate::subscriber::Message;

pub(crate) struct StreamPublisher<F: Family> {
    family: Arc<F>,
    address: String,
    receivers: Arc<Mutex<Receivers>>,
    attendant: Attendant,
    draft: Draft,
}

impl<F: Family> StreamPublisher<F> {
    pub(crate) fn open(family: Arc<F>, link: &Link, frame_bytes: usize) -> Result<Self> {
        let (listener, address) = family.listen(link)?;
        let receivers = Arc::new(Mutex::new(Receivers::default()));
        let attendant = Attendant::start(family.clone(), listener, receivers.clone())?;
        Ok(Self { family, address, receivers, attendant, draft: Draft::new(frame_bytes) })
    }
}

impl<F: Family> Publisher for StreamPublisher<F> {
    fn address(&self) -> String {
        self.address.clone()
    }

    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let mut receivers = lock(&self.receivers);
        if !receivers.are_ready()? {
            return Ok(Sent::Busy);
        }
        let message = self.draft.message(payload_bytes, fill)?;
        self.attendant.send(&mut receivers, message)
    }

    /// Sends the bytes from where they were received, with the prefix that stands before them already.
    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        let Some(message) = received.native.and_then(|native| native.downcast_ref::<Message>()) else {
            return copy_on(received, |payload_bytes, fill| self.send(payload_bytes, fill));
        };
        let mut receivers = lock(&self.receivers);
        if !receivers.are_ready()? {
            return Ok(Sent::Busy);
        }
        self.attendant.send(&mut receivers, message.of(received))
    }
}

impl<F: Family> Drop for StreamPublisher<F> {
    fn drop(&mut self) {
        self.attendant.stop();
        self.family.removed(&self.address);
    }
}
