//! Writes messages into memory, and sends them on a connection with a single reader.

use std::sync::Arc;

use hopmeter_instrument::prelude::*;

use crate::connection::Connection;
use crate::receivers::Receiver;
use crate::subscriber::Message;
use crate::{PREFIX_BYTES, frame_buffer};

/// The memory in which messages are written before they are sent.
pub(crate) struct Draft {
    buffer: Vec<u8>,
    offset: usize,
    frame_bytes: usize,
}

impl Draft {
    pub(crate) fn new(frame_bytes: usize) -> Self {
        let (buffer, offset) = frame_buffer(frame_bytes, 0);
        Self { buffer, offset, frame_bytes }
    }

    /// Lets `fill` write a frame after its prefix. Returns the prefix and the frame.
    pub(crate) fn message(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<&[u8]> {
        let length = HEADER_BYTES + payload_bytes;
        if length > self.frame_bytes {
            return Err(Error::new(format!("a frame of {length} bytes, but the limit is {}", self.frame_bytes))
                .remedy("send no frame larger than the largest frame that the trial announced"));
        }
        let message = &mut self.buffer[self.offset..][..PREFIX_BYTES + length];
        let (prefix, frame) = message.split_at_mut(PREFIX_BYTES);
        prefix[..8].copy_from_slice(&(length as u64).to_le_bytes());
        fill.write(FrameMut::split(frame));
        Ok(message)
    }
}

/// The sending half of a bidirectional connection: a client's requests, or a server's replies to one client. A line has
/// no attendant, so every send or poll first sends the reader's backlog.
pub(crate) struct Line {
    /// The connection, or `None` after the reader has disconnected.
    reader: Option<Receiver>,
    draft: Draft,
}

impl Line {
    pub(crate) fn new(connection: Arc<Connection>, frame_bytes: usize) -> Result<Self> {
        Ok(Self { reader: Some(Receiver::new(connection)?), draft: Draft::new(frame_bytes) })
    }

    /// Sends the reader's backlog without waiting. Returns whether the backlog is now empty.
    pub(crate) fn catch_up(&mut self) -> bool {
        let Some(reader) = self.reader.as_mut().filter(|reader| reader.is_behind()) else { return true };
        match reader.flush() {
            Ok(()) => !reader.is_behind(),
            Err(_) => self.drop_reader(),
        }
    }

    pub(crate) fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        if !self.catch_up() {
            return Ok(Sent::Busy);
        }
        let message = self.draft.message(payload_bytes, fill)?;
        Ok(dispatch(&mut self.reader, message))
    }

    /// Sends the received bytes and the prefix in front of them, without a copy.
    pub(crate) fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        let Some(message) = received.native_as::<Message>() else {
            return copy_on(received, |payload_bytes, fill| self.send(payload_bytes, fill));
        };
        Ok(if self.catch_up() { dispatch(&mut self.reader, message.of(received)) } else { Sent::Busy })
    }

    /// Drops a disconnected reader, after which every message counts as sent.
    fn drop_reader(&mut self) -> bool {
        self.reader = None;
        true
    }
}

fn dispatch(reader: &mut Option<Receiver>, message: &[u8]) -> Sent {
    let answer = reader.as_mut().map(|reader| reader.send(message, false));
    if let Some(Err(_)) = answer {
        *reader = None;
    }
    if answer == Some(Ok(false)) { Sent::Busy } else { Sent::Accepted }
}
