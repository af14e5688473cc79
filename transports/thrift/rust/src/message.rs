//! Converts frames to messages of `hopmeter.thrift`; ../../README.md lists the fields.

use hopmeter_instrument::prelude::*;
use hopmeter_instrument::typed::{header_of, label_into, of_stamp, sent_of, seq_of, to_stamp};

use crate::idl::{Call, Image, Stamp, Timing};

type Header = [u8; HEADER_BYTES];

/// The width and height in pixels that an image message reports.
#[derive(Clone, Copy, Default)]
pub struct Shape {
    width: i32,
    height: i32,
}

impl Shape {
    pub fn of(payload: PayloadKind) -> Self {
        let (width, height) = payload.image_size();
        Self { width: width as i32, height: height as i32 }
    }
}

/// A message that carries a frame.
pub trait Message: Call + Default + Send + 'static {
    fn payload(&mut self) -> &mut Vec<u8>;
    fn put(&mut self, header: &Header, shape: Shape);
    /// Returns the frame's header, restored from the fields, and the payload.
    fn frame(&self) -> (Header, &[u8]);

    /// Lets `fill` write a frame: the payload into the payload field of the message, and the header into the other
    /// fields.
    fn write(&mut self, payload_bytes: usize, fill: Fill<'_>, shape: Shape) {
        let mut header = [0; HEADER_BYTES];
        let payload = self.payload();
        payload.resize(payload_bytes, 0);
        fill.write(FrameMut { header: &mut header, payload });
        self.put(&header, shape);
    }

    /// Passes the message's frame to `take`. The bytes of this frame are borrowed from the message.
    fn read(&self, take: impl FnOnce(Received<'_>)) {
        let (header, payload) = self.frame();
        take(Received::parts(&header, payload));
    }
}

impl Message for Timing {
    fn payload(&mut self) -> &mut Vec<u8> {
        &mut self.padding
    }

    fn put(&mut self, header: &Header, _: Shape) {
        self.id = seq_of(header) as i64;
        self.nanosec = sent_of(header);
        label_into(&mut self.source, header);
    }

    fn frame(&self) -> (Header, &[u8]) {
        (header_of(self.source.as_bytes(), self.nanosec, self.padding.len()), &self.padding)
    }
}

impl Message for Image {
    fn payload(&mut self) -> &mut Vec<u8> {
        &mut self.data
    }

    fn put(&mut self, header: &Header, shape: Shape) {
        let (seconds, nanoseconds) = to_stamp(sent_of(header));
        self.stamp = Stamp { sec: seconds, nanosec: nanoseconds as i32 };
        label_into(&mut self.frame_id, header);
        self.height = shape.height;
        self.width = shape.width;
        self.encoding = "rgb8".to_owned();
        self.step = 3 * shape.width;
    }

    fn frame(&self) -> (Header, &[u8]) {
        let sent_ns = of_stamp(self.stamp.sec, self.stamp.nanosec.into());
        (header_of(self.frame_id.as_bytes(), sent_ns, self.data.len()), &self.data)
    }
}
