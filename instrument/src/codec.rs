//! Converts objects to payloads and back, in nodes whose language has such objects. If a flow has a codec, the source
//! encodes an object for every message, and the receiver decodes the object. The roles record when encoding and
//! decoding end.

use crate::error::Result;

/// Converts the object that the messages of a flow carry. The threads of all endpoints of this flow in the node use the
/// same codec.
pub trait Codec: Send + Sync {
    /// Encodes the object; called once per message.
    fn encode(&self) -> Result<Box<dyn Encoded>>;

    /// Decodes a payload. The decoded object may point into the payload. A payload that cannot be decoded yields an
    /// object whose check fails.
    fn decode<'a>(&self, payload: &'a [u8]) -> Box<dyn Decoded + 'a>;
}

/// An encoded object that is ready to be sent.
pub trait Encoded {
    /// The length of the encoded object in bytes.
    fn bytes(&self) -> Result<usize>;

    /// Writes the encoded object into a payload of that length. The instrument calls this again if the transport was
    /// busy.
    fn write(&self, payload: &mut [u8]) -> Result<()>;
}

/// A decoded object.
pub trait Decoded {
    /// Whether the decoded object equals the object that was sent: compares every element if `thoroughly`, otherwise
    /// only type and shape.
    fn is_right(&self, thoroughly: bool) -> bool;
}
