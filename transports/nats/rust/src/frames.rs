//! Frames in NATS messages: the payload of a message is the frame, header first.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use hopmeter_instrument::prelude::*;

/// The number of buffers that are retained while the connection may still use them.
const BUFFERS: usize = 64;

/// Buffers that are used again after the connection has written them.
#[derive(Default)]
pub struct Frames {
    lent: VecDeque<Bytes>,
}

impl Frames {
    /// A frame in a new buffer, ready to be sent.
    pub fn write(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Bytes {
        let mut buffer = self.buffer(HEADER_BYTES + payload_bytes);
        fill.write(FrameMut::split(&mut buffer));
        let frame = buffer.freeze();
        self.lent.push_back(frame.clone());
        frame
    }

    fn buffer(&mut self, bytes: usize) -> BytesMut {
        let mut buffer = match self.lent.pop_front().map(Bytes::try_into_mut) {
            Some(Ok(free)) => free,
            Some(Err(in_use)) if self.lent.len() < BUFFERS => {
                self.lent.push_front(in_use);
                BytesMut::new()
            }
            Some(Err(_)) | None => BytesMut::new(),
        };
        buffer.resize(bytes, 0);
        buffer
    }
}

/// A message in the form that the instrument takes; a relay forwards its bytes by reference.
pub fn as_received(payload: &Bytes) -> Received<'_> {
    Received::split(payload).with_native(payload)
}
