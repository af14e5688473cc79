//! Converts objects to payloads and back, in nodes whose language has such objects. If a cell has a codec, the source
//! encodes an object for every message and the receiver decodes it. The roles stamp both.

use crate::error::Result;

/// Converts the one object of a cell. Used from the threads of all endpoints of the node.
pub trait Codec: Send + Sync {
    /// Encodes the object again.
    fn encode(&self) -> Result<Box<dyn Encoded>>;

    /// Decodes a payload. The result may keep pointing into the payload. A payload that cannot be decoded yields an
    /// object that is not right.
    fn decode<'a>(&self, payload: &'a [u8]) -> Box<dyn Decoded + 'a>;
}

/// An encoded object, ready to be sent.
pub trait Encoded {
    /// The length of its payload.
    fn bytes(&self) -> Result<usize>;

    /// Writes it into a payload of that length. Called again if the transport was busy.
    fn write(&self, payload: &mut [u8]) -> Result<()>;
}

/// A decoded object.
pub trait Decoded {
    /// Whether it equals the object that was sent: every element if `thoroughly`, otherwise only type and shape.
    fn is_right(&self, thoroughly: bool) -> bool;
}
