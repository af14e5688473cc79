//! Converts frames to messages and back.

use bytes::Bytes;
use hopmeter_instrument::prelude::*;
use hopmeter_instrument::typed::{header_of, label, sent_of, seq_of};

use crate::wire::{Image, Timing};

/// A frame of a sent or received message. The frame refers to the message's payload.
#[derive(Clone)]
pub struct Frame {
    header: [u8; HEADER_BYTES],
    payload: Bytes,
}

impl Frame {
    pub fn write(payload_bytes: usize, fill: Fill<'_>) -> Self {
        let (mut header, mut payload) = ([0; HEADER_BYTES], vec![0; payload_bytes]);
        fill.write(FrameMut { header: &mut header, payload: &mut payload });
        Self { header, payload: payload.into() }
    }

    pub fn as_received(&self) -> Received<'_> {
        Received::parts(&self.header, &self.payload)
    }

    fn label(&self) -> String {
        String::from_utf8_lossy(&label(&self.header)).into_owned()
    }

    fn of(label: &str, sent_ns: i64, payload: Bytes) -> Self {
        Self { header: header_of(label.as_bytes(), sent_ns, payload.len()), payload }
    }

    pub fn timing(self) -> Timing {
        let (id, nanosec, source) = (seq_of(&self.header), sent_of(&self.header), self.label());
        Timing { id, nanosec, source, padding: self.payload }
    }

    /// Creates an image message with the image size of the cell.
    pub fn image(self, kind: PayloadKind) -> Image {
        let (width, height) = kind.image_size();
        let (nanosec, frame_id) = (sent_of(&self.header), self.label());
        Image { nanosec, frame_id, height, width, encoding: "rgb8".into(), step: 3 * width, data: self.payload }
    }
}

impl From<Timing> for Frame {
    fn from(message: Timing) -> Self {
        Self::of(&message.source, message.nanosec, message.padding)
    }
}

impl From<Image> for Frame {
    fn from(message: Image) -> Self {
        Self::of(&message.frame_id, message.nanosec, message.data)
    }
}
