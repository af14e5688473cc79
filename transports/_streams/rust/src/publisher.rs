//! The sending end: one frame, one `send` for each receiver.

use std::sync::{Arc, Mutex};

use hopmeter_instrument::frame::HEADER_BYTES;
use hopmeter_instrument::{Error, Fill, FrameMut, Link, Publisher, Received, Result, Sent, copy_on};

use crate::attendant::Attendant;
use crate::receivers::{Receivers, lock};
use crate::subscriber::Message;
use crate::{Family, PREFIX_BYTES, frame_buffer};

pub(crate) struct StreamPublisher<F: Family> {
    family: Arc<F>,
    address: String,
    receivers: Arc<Mutex<Receivers>>,
    attendant: Attendant,
    buffer: Vec<u8>,
    offset: usize,
    frame_bytes: usize,
}

impl<F: Family> StreamPublisher<F> {
    pub(crate) fn open(family: Arc<F>, link: &Link, frame_bytes: usize) -> Result<Self> {
        let (listener, address) = family.listen(link)?;
        let receivers = Arc::new(Mutex::new(Receivers::default()));
        let attendant = Attendant::start(family.clone(), listener, receivers.clone())?;
        let (buffer, offset) = frame_buffer(frame_bytes, 0);
        Ok(Self { family, address, receivers, attendant, buffer, offset, frame_bytes })
    }
}

impl<F: Family> Publisher for StreamPublisher<F> {
    fn address(&self) -> String {
        self.address.clone()
    }

    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let length = HEADER_BYTES + payload_bytes;
        if length > self.frame_bytes {
            return Err(Error::new(format!("a frame of {length} bytes, the limit is {}", self.frame_bytes))
                .remedy("frames are limited to the largest that the trial announced"));
        }
        let mut receivers = lock(&self.receivers);
        if !receivers.are_ready()? {
            return Ok(Sent::Busy);
        }
        let message = &mut self.buffer[self.offset..][..PREFIX_BYTES + length];
        let (prefix, frame) = message.split_at_mut(PREFIX_BYTES);
        prefix[..8].copy_from_slice(&(length as u64).to_le_bytes());
        fill(FrameMut::split(frame));
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
