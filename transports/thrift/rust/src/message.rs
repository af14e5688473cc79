//! Frames as messages of `hopmeter.thrift`: which field takes what of the header stands in ../../README.md.

use hopmeter_instrument::frame::HEADER_BYTES;
use hopmeter_instrument::spec::PayloadKind;
use hopmeter_instrument::typed::{header_of, label, sent_of, seq_of};
use hopmeter_instrument::{Fill, FrameMut, Received};

use crate::idl::{Halves, Image, Stamp, Timing};

type Header = [u8; HEADER_BYTES];

const SECOND_NS: i64 = 1_000_000_000;

/// How many pixels an image is said to have.
#[derive(Clone, Copy, Default)]
pub struct Shape {
    width: i32,
    height: i32,
}

impl Shape {
    pub fn of(payload: PayloadKind) -> Self {
        match payload {
            PayloadKind::Image { width, height } => Self { width: width as i32, height: height as i32 },
            PayloadKind::Timing | PayloadKind::Bytes => Self::default(),
        }
    }
}

/// A message that carries a frame.
pub trait Message: Halves + Default + Send + 'static {
    fn payload(&mut self) -> &mut Vec<u8>;
    fn put(&mut self, header: &Header, shape: Shape);
    /// The header again, and the payload beside it.
    fn frame(&self) -> (Header, &[u8]);

    /// Has a frame written: the payload into the message's own field, the header into its other fields.
    fn write(&mut self, payload_bytes: usize, fill: Fill<'_>, shape: Shape) {
        let mut header = [0; HEADER_BYTES];
        let payload = self.payload();
        payload.resize(payload_bytes, 0);
        fill.write(FrameMut { header: &mut header, payload });
        self.put(&header, shape);
    }

    /// Hands the frame over; the bytes are the message's.
    fn read(&self, take: impl FnOnce(Received<'_>)) {
        let (header, payload) = self.frame();
        take(Received::parts(&header, payload));
    }
}

impl Message for Timing {
    fn payload(&mut self) -> &mut Vec<u8> {
        self.padding.get_or_insert_default()
    }

    fn put(&mut self, header: &Header, _: Shape) {
        self.id = Some(seq_of(header) as i64);
        self.nanosec = Some(sent_of(header));
        put_label(&mut self.source, header);
    }

    fn frame(&self) -> (Header, &[u8]) {
        let payload = self.padding.as_deref().unwrap_or_default();
        let label = self.source.as_deref().unwrap_or_default();
        (header_of(label.as_bytes(), self.nanosec.unwrap_or_default(), payload.len()), payload)
    }
}

impl Message for Image {
    fn payload(&mut self) -> &mut Vec<u8> {
        self.data.get_or_insert_default()
    }

    fn put(&mut self, header: &Header, shape: Shape) {
        let sent_ns = sent_of(header);
        self.stamp = Some(Stamp::new(sent_ns / SECOND_NS, (sent_ns % SECOND_NS) as i32));
        put_label(&mut self.frame_id, header);
        self.height = Some(shape.height);
        self.width = Some(shape.width);
        self.encoding = Some("rgb8".to_owned());
        self.step = Some(3 * shape.width);
    }

    fn frame(&self) -> (Header, &[u8]) {
        let payload = self.data.as_deref().unwrap_or_default();
        let label = self.frame_id.as_deref().unwrap_or_default();
        let stamp = self.stamp.clone().unwrap_or_default();
        let sent_ns = stamp.sec.unwrap_or_default() * SECOND_NS + i64::from(stamp.nanosec.unwrap_or_default());
        (header_of(label.as_bytes(), sent_ns, payload.len()), payload)
    }
}

/// Labels are ASCII.
fn put_label(text: &mut Option<String>, header: &Header) {
    let text = text.get_or_insert_default();
    text.clear();
    text.extend(label(header).map(char::from));
}
