//! Converts objects to payloads and back, in nodes whose language supports objects. If a flow has a codec, the source
//! encodes an object for every message, and the receiver decodes the object. The roles record when encoding and
//! decoding end.

use crate::error::Result;

/// Converts the object that a flow's messages carry. The threads of all endpoints of the flow in this node share the
/// codec.
pub trait Codec: Send + Sync {
    /// Encodes the object. Called once per message.
    fn encode(&self) -> Result<Box<dyn Encoded>>;

    /// Decodes a payload. The decoded object may point into the payload. If the payload cannot be decoded, the check of
    /// the returned object fails.
    fn decode<'a>(&self, payload: &'a [u8]) -> Box<dyn Decoded + 'a>;
}

/// An encoded object that is ready to be sent.
pub trait Encoded {
    /// Returns the length of the encoded object in bytes.
    fn bytes(&self) -> Result<usize>;

    /// Writes the encoded object to a payload of exactly the encoded length. The instrument calls `write` again if the
    /// transport was busy.
    fn write(&self, payload: &mut [u8]) -> Result<()>;
}

/// A decoded object.
pub trait Decoded {
    /// Returns whether the decoded object equals the sent object. If `thoroughly` is true, every element is compared;
    /// otherwise, only the type and the shape are compared.
    fn is_right(&self, thoroughly: bool) -> bool;
}
