//! Buffers for libraries that send `Bytes`. A buffer contains one frame, header first.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use hopmeter_instrument::prelude::*;

/// The maximum number of cached buffers, which includes buffers that the library still uses.
const BUFFERS: usize = 64;

/// The buffers of a link end, which are reused after the library has released them.
#[derive(Default)]
pub struct Frames {
    lent: VecDeque<Bytes>,
}

impl Frames {
    /// Lets `fill` write a frame into a buffer that is ready to be sent.
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

/// Converts a message to the instrument's type, whose bytes a relay forwards by reference.
pub fn as_received(payload: &Bytes) -> Received<'_> {
    Received::split(payload).with_native(payload)
}
