//! Frames as they are lent: to a sender, which fills one, and to a receiver, which looks at one.

use std::any::Any;
use std::cell::Cell;

use crate::clock;
use crate::frame::{HEADER_BYTES, Header};

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

/// What writes a frame, all but the time it is sent.
pub type Write<'a> = &'a mut (dyn FnMut(FrameMut<'_>) + 'a);

/// Writes one frame into memory that the transport lends, once per send and on the caller's thread.
///
/// The sent time is read last, and by code that the compiler puts into the adapter's own: nothing of the instrument runs
/// between the stamp and the transport. So an adapter writes the frame as late as it can.
pub struct Fill<'a> {
    write: Write<'a>,
    sent_ns: Option<&'a Cell<i64>>,
}

impl<'a> Fill<'a> {
    /// A message of this process: `write` writes all but the sent time, which `sent_ns` and the header get.
    pub fn new_message(write: Write<'a>, sent_ns: &'a Cell<i64>) -> Self {
        Self { write, sent_ns: Some(sent_ns) }
    }

    /// A message that carries its sent time already.
    pub fn copied_message(write: Write<'a>) -> Self {
        Self { write, sent_ns: None }
    }

    /// Writes the frame, and stamps it.
    #[inline(always)]
    pub fn write(self, frame: FrameMut<'_>) {
        let FrameMut { header, payload } = frame;
        (self.write)(FrameMut { header: &mut *header, payload });
        if let Some(place) = self.sent_ns {
            let sent_ns = clock::now_ns();
            Header::stamp_sent(header, sent_ns);
            place.set(sent_ns);
        }
    }

    /// Writes the frame into `buffer`, which gets the frame's length.
    #[inline(always)]
    pub fn write_into(self, buffer: &mut Vec<u8>, payload_bytes: usize) {
        buffer.resize(HEADER_BYTES + payload_bytes, 0);
        self.write(FrameMut::split(buffer));
    }

    /// The frame in a new buffer of its own.
    #[inline(always)]
    pub fn to_vec(self, payload_bytes: usize) -> Vec<u8> {
        let mut buffer = vec![0; HEADER_BYTES + payload_bytes];
        self.write(FrameMut::split(&mut buffer));
        buffer
    }

    /// What writes, and where the sent time goes: for a language that stamps by itself.
    pub fn into_parts(self) -> (Write<'a>, Option<&'a Cell<i64>>) {
        (self.write, self.sent_ns)
    }
}

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
    /// When it arrived; 0 leaves that to the instrument.
    pub arrived_ns: i64,
}

impl<'a> Received<'a> {
    /// A header and a payload, each in a place of its own.
    pub fn parts(header: &'a [u8], payload: &'a [u8]) -> Self {
        Self { header, payload, native: None, keep: None, arrived_ns: 0 }
    }

    /// Raw carriage: header and payload side by side.
    pub fn split(whole: &'a [u8]) -> Self {
        let (header, payload) = whole.split_at(whole.len().min(HEADER_BYTES));
        Self::parts(header, payload)
    }

    /// Stamps the arrival now, unless this frame has its stamp. [`OnFrame::call`] does this first. An adapter that takes a
    /// lock or looks at a queue before it calls does this before.
    #[inline(always)]
    pub fn stamp_arrival(self) -> Self {
        match self.arrived_ns {
            0 => Self { arrived_ns: clock::now_ns(), ..self },
            _ => self,
        }
    }

    /// The same frame with the transport's own message attached.
    pub fn with_native(self, native: &'a dyn Any) -> Self {
        Self { native: Some(native), ..self }
    }

    /// The transport's own message, if it is of this type.
    #[inline(always)]
    pub fn native_as<T: Any>(&self) -> Option<&'a T> {
        self.native.and_then(|native| native.downcast_ref())
    }

    /// The same frame with a way to keep it beyond the callback.
    pub fn with_keep(self, keep: &'a dyn Keep) -> Self {
        Self { keep: Some(keep), ..self }
    }
}

/// A callback that the transport enters on a thread of its own, or on the sender's. Never entered concurrently for one
/// subscription, never entered again once the [`Subscription`](crate::contract::Subscription) has been dropped, and
/// dropped with it.
pub struct OnFrame(Box<dyn FnMut(Received<'_>) + Send>);

impl OnFrame {
    pub fn new(take: impl FnMut(Received<'_>) + Send + 'static) -> Self {
        Self(Box::new(take))
    }

    /// Hands one frame over. The first thing that happens is the stamp of its arrival; not inlined, so that no other part
    /// of the role gets in front of it.
    #[inline(never)]
    pub fn call(&mut self, received: Received<'_>) {
        (self.0)(received.stamp_arrival());
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

    /// The sent time as a receiver reads it.
    fn sent_ns(frame: &[u8]) -> i64 {
        let header = frame[..HEADER_BYTES].try_into().expect("a header");
        Header::fields(header).sent_ns
    }

    #[test]
    fn the_sent_time_is_read_after_everything_else_was_written() {
        let (mut frame, stamped, written_ns) = ([7; HEADER_BYTES + 1], Cell::new(0), Cell::new(0));
        let mut write = |to: FrameMut<'_>| {
            to.payload.fill(9);
            written_ns.set(clock::now_ns());
        };
        Fill::new_message(&mut write, &stamped).write(FrameMut::split(&mut frame));
        assert_eq!(sent_ns(&frame), stamped.get());
        assert!(stamped.get() >= written_ns.get() && written_ns.get() > 0);
        assert_eq!(frame[HEADER_BYTES], 9);
    }

    #[test]
    fn a_frame_that_carries_its_sent_time_keeps_it() {
        let mut frame = [0; HEADER_BYTES];
        Fill::copied_message(&mut |to: FrameMut<'_>| to.header.fill(7)).write(FrameMut::split(&mut frame));
        assert_eq!(frame, [7; HEADER_BYTES]);
    }

    #[test]
    fn an_arrival_is_stamped_once_and_before_the_role_sees_it() {
        let bytes = [0; HEADER_BYTES];
        let entered_ns = clock::now_ns();
        let mut on_frame = OnFrame::new(move |received| {
            assert!(received.arrived_ns == 5 || (entered_ns..=clock::now_ns()).contains(&received.arrived_ns));
        });
        on_frame.call(Received::split(&bytes));
        on_frame.call(Received { arrived_ns: 5, ..Received::split(&bytes) });
        assert_eq!(Received { arrived_ns: 5, ..Received::split(&bytes) }.stamp_arrival().arrived_ns, 5);
    }
}
