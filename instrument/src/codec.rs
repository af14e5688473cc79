//! Objects to payloads and back, in nodes whose language has such objects. Where a cell has a codec, the source encodes
//! an object for every message and the receiver decodes it; both are stamped by the roles, as everything else is.

use crate::error::Result;

/// Turns the one object of a cell into payloads and back. Used from the threads of all participants of the node.
pub trait Codec: Send + Sync {
    /// Encodes the object anew.
    ///
    /// # Errors
    /// What the codec says.
    fn encode(&self) -> Result<Box<dyn Encoded>>;

    /// Decodes a payload, which what is answered may go on pointing into. What cannot be decoded is answered too: it
    /// is not right.
    fn decode<'a>(&self, payload: &'a [u8]) -> Box<dyn Decoded + 'a>;
}

/// An object that is ready to be sent.
pub trait Encoded {
    /// How long its payload is.
    ///
    /// # Errors
    /// What the codec says.
    fn bytes(&self) -> Result<usize>;

    /// Writes it into a payload of that length; called again where the transport was busy.
    ///
    /// # Errors
    /// What the codec says.
    fn write(&self, payload: &mut [u8]) -> Result<()>;
}

/// An object that has arrived.
pub trait Decoded {
    /// Whether it is what was sent: every element where `thoroughly`, else its type and shape alone.
    fn is_right(&self, thoroughly: bool) -> bool;
}
