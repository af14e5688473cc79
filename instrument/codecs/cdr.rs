// Encodes and decodes a ROS 2 message in CDR, with serde and the generated structs.

use byteorder::LittleEndian;
use cdr_encoding::{from_bytes, to_writer};

use crate::Message;

/// The encapsulation header: little-endian CDR, then two bytes of options.
const ENCAPSULATION: [u8; 4] = [0, 1, 0, 0];
/// The maximum number of padding bytes after a message. Some middlewares round the message size up to a multiple of 4.
const MOST_PADDING: usize = 3;

/// The object to send, with its encoded bytes for comparisons.
pub struct Object {
    message: Message,
    bytes: Vec<u8>,
}

#[derive(Default)]
pub struct Encoder(Vec<u8>);

pub struct Decoded(Message);

impl Object {
    pub fn open(bytes: &[u8]) -> Option<Self> {
        let message = Decoded::decode(bytes)?.0;
        let mut encoder = Encoder::default();
        let bytes = write(&message, &mut encoder.0).to_vec();
        Some(Self { message, bytes })
    }

    pub fn encode<'a>(&self, encoder: &'a mut Encoder) -> &'a [u8] {
        write(&self.message, &mut encoder.0)
    }

    pub fn equals(&self, decoded: &Decoded) -> bool {
        let mut encoder = Encoder::default();
        write(&decoded.0, &mut encoder.0) == self.bytes
    }
}

fn write<'a>(message: &Message, buffer: &'a mut Vec<u8>) -> &'a [u8] {
    buffer.clear();
    buffer.extend_from_slice(&ENCAPSULATION);
    // Encoding cannot fail, because a vector grows as needed.
    let _ = to_writer::<_, LittleEndian, _>(&mut *buffer, message);
    buffer
}

impl Decoded {
    pub fn decode(payload: &[u8]) -> Option<Self> {
        let fields = payload.strip_prefix(&ENCAPSULATION[..2])?.get(2..)?;
        let (message, read) = from_bytes::<Message, LittleEndian>(fields).ok()?;
        let is_whole = read + MOST_PADDING >= fields.len();
        (is_whole && message.fits()).then_some(Self(message))
    }
}
