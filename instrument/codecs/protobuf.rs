// Encodes and decodes a Protocol Buffers message with the code that prost generated.

use prost::Message as _;

use crate::Message;

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
        let message = Message::decode(bytes).ok()?;
        let bytes = message.encode_to_vec();
        Some(Self { message, bytes })
    }

    pub fn encode<'a>(&self, encoder: &'a mut Encoder) -> &'a [u8] {
        encoder.0.clear();
        // Encoding cannot fail, because a vector grows as needed.
        let _ = self.message.encode(&mut encoder.0);
        &encoder.0
    }

    /// Compares the decoded values first, because Protocol Buffers maps have no order, and then the encoded bytes,
    /// because NaN does not equal itself.
    pub fn equals(&self, decoded: &Decoded) -> bool {
        self.message == decoded.0 || self.bytes == decoded.0.encode_to_vec()
    }
}

impl Decoded {
    pub fn decode(payload: &[u8]) -> Option<Self> {
        Message::decode(payload).ok().map(Self)
    }
}
