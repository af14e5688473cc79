//! Frames as they are lent: to a sender, which fills one, and to a receiver, which looks at one.

use std::any::Any;

use crate::frame::HEADER_BYTES;

/// The frame as the sender fills it: two parts, each a place of its own.
///
/// Raw carriage lays them side by side in one buffer ([`FrameMut::split`]); typed carriage hands over a header on
/// its stack and the payload field of its message, and maps the header to the message's fields afterwards.
pub struct FrameMut<'a> {
    pub header: &'a mut [u8; HEADER_BYTES],
    pub payload: &'a mut [u8],
}

impl<'a> FrameMut<'a> {
    /// Raw carriage: the first 64 bytes are the header, the rest is the payload.
    ///
    /// # Panics
    /// When `whole` is shorter than a header: the adapter lent less than it was asked for.
    pub fn split(whole: &'a mut [u8]) -> Self {
        let (header, payload) = whole.split_at_mut(HEADER_BYTES);
        Self { header: header.try_into().expect("split at the header's length"), payload }
    }
}

/// Writes one frame into memory that the transport lends. Called once per send, on the caller's thread; stamps the
/// sent time last, so an adapter calls it as late as it can. Called again for the same memory it only stamps anew, as
/// an adapter needs that rehearses (see [`Received::rehearsal`]).
pub type Fill<'a> = &'a mut dyn FnMut(FrameMut<'_>);

/// A received frame, borrowed: valid until the callback it was given to returns.
#[derive(Clone, Copy)]
pub struct Received<'a> {
    /// The header's bytes; of any length, since what arrives may be foreign. The instrument checks it.
    pub header: &'a [u8],
    pub payload: &'a [u8],
    /// The transport's own message, for a [`Publisher::forward`](crate::contract::Publisher::forward) of the same transport that moves instead of copying.
    pub native: Option<&'a dyn Any>,
    /// How to keep the bytes beyond the callback, where the transport can.
    pub keep: Option<&'a dyn Keep>,
}

impl<'a> Received<'a> {
    /// Raw carriage: header and payload side by side.
    pub fn split(whole: &'a [u8]) -> Self {
        let (header, payload) = whole.split_at(whole.len().min(HEADER_BYTES));
        Self { header, payload, native: None, keep: None }
    }

    /// The same frame with the transport's own message attached.
    pub fn with_native(self, native: &'a dyn Any) -> Self {
        Self { native: Some(native), ..self }
    }

    /// The same frame with a way to keep it beyond the callback.
    pub fn with_keep(self, keep: &'a dyn Keep) -> Self {
        Self { keep: Some(keep), ..self }
    }
}

/// Bytes that only a rehearsal shows, known by where they lie. Not zeros: a compiler may lay equal constants together.
static NO_FRAME: [u8; HEADER_BYTES] = [0x5a; HEADER_BYTES];

impl Received<'static> {
    /// Nothing was received. An adapter that calls receivers on the sender's own thread may show it to them after a
    /// first `fill`, before it fills again and shows the frame, by the very same code: caches and branch predictors know
    /// the way then, as in a program that calls all the time, and what is measured is the call. Counted nowhere.
    pub fn rehearsal() -> Self {
        Self { header: &NO_FRAME, payload: &[], native: None, keep: None }
    }
}

impl Received<'_> {
    /// This frame, or a rehearsal of it. No branch, which would be foretold wrongly just when it counts.
    pub fn or_rehearsal(self, rehearsing: bool) -> Self {
        let headers = [self.header, &NO_FRAME];
        Self { header: headers[usize::from(rehearsing)], ..self }
    }

    /// Whether it is a rehearsal, which no bytes of a sender can be.
    pub fn is_rehearsal(&self) -> bool {
        std::ptr::eq(self.header.as_ptr(), NO_FRAME.as_ptr())
    }
}

/// Extends the life of received bytes without copying them.
pub trait Keep {
    /// A handle whose bytes are the whole frame, header first; dropping it gives the memory back. It may be dropped
    /// on any thread, also after the subscriber is gone.
    fn keep(&self) -> Box<dyn AsRef<[u8]> + Send>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Header, Refused};

    #[test]
    fn a_rehearsal_is_no_frame_and_nothing_that_was_sent_is_a_rehearsal() {
        let rehearsal = Received::rehearsal();
        assert!(rehearsal.is_rehearsal());
        assert_eq!(Header::read(rehearsal.header, 0), Err(Refused::Malformed));
        let sent = NO_FRAME.to_vec();
        assert!(!Received::split(&sent).is_rehearsal(), "the same bytes from a sender");
        assert!(Received::split(&sent).or_rehearsal(true).is_rehearsal());
        assert!(!Received::split(&sent).or_rehearsal(false).is_rehearsal());
    }
}
