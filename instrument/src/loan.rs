//! Loaned frames, which a sender fills or a receiver reads.

use std::any::Any;
use std::cell::Cell;

use crate::clock;
use crate::frame::{HEADER_BYTES, Header};

/// A frame for a sender to fill, split into header and payload.
///
/// With raw carriage, header and payload are contiguous in one buffer ([`FrameMut::split`]). With typed carriage, the
/// adapter provides a header on its stack and the payload field of its message. With typed carriage, the adapter then
/// copies the header's fields to the message's fields.
pub struct FrameMut<'a> {
    pub header: &'a mut [u8; HEADER_BYTES],
    pub payload: &'a mut [u8],
}

impl<'a> FrameMut<'a> {
    /// Splits a frame with raw carriage: the first 64 bytes are the header, and the rest is the payload.
    ///
    /// # Panics
    ///
    /// Panics if `whole` is shorter than a header, which means that the adapter loaned less memory than was requested.
    pub fn split(whole: &'a mut [u8]) -> Self {
        let (header, payload) = whole.split_at_mut(HEADER_BYTES);
        Self { header: header.try_into().expect("split at the header's length"), payload }
    }
}

/// Writes a frame, except for its sent time.
pub type Write<'a> = &'a mut (dyn FnMut(FrameMut<'_>) + 'a);

/// Writes one frame to memory that the transport loans. Each send uses one `Fill`, on the caller's thread.
///
/// The compiler inlines the code that reads the clock into the adapter. The clock is read last, so that no code of the
/// instrument runs between the clock reading and the transport. An adapter should write the frame as late as possible.
pub struct Fill<'a> {
    write: Write<'a>,
    sent_ns: Option<&'a Cell<i64>>,
}

impl<'a> Fill<'a> {
    /// Creates a `Fill` for a message that originates in this process. `write` writes everything except the sent time,
    /// which is then stored in the header and in `sent_ns`.
    pub fn new_message(write: Write<'a>, sent_ns: &'a Cell<i64>) -> Self {
        Self { write, sent_ns: Some(sent_ns) }
    }

    /// Creates a `Fill` for a message with the sent time already in its header.
    pub fn copied_message(write: Write<'a>) -> Self {
        Self { write, sent_ns: None }
    }

    /// Writes the frame and then its sent time.
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

    /// Writes the frame to `buffer`, and sets the buffer's length to that of the frame.
    #[inline(always)]
    pub fn write_into(self, buffer: &mut Vec<u8>, payload_bytes: usize) {
        buffer.resize(HEADER_BYTES + payload_bytes, 0);
        self.write(FrameMut::split(buffer));
    }

    /// Returns a new buffer that contains the frame.
    #[inline(always)]
    pub fn to_vec(self, payload_bytes: usize) -> Vec<u8> {
        let mut buffer = vec![0; HEADER_BYTES + payload_bytes];
        self.write(FrameMut::split(&mut buffer));
        buffer
    }

    /// Returns the writing function and the location of the sent time, for a language that itself writes the sent time.
    pub fn into_parts(self) -> (Write<'a>, Option<&'a Cell<i64>>) {
        (self.write, self.sent_ns)
    }
}

/// A received frame, loaned by the transport. The frame is valid until the callback returns.
#[derive(Clone, Copy)]
pub struct Received<'a> {
    /// The header's bytes. The header of a foreign frame may have a length other than 64 bytes; the instrument checks
    /// the length.
    pub header: &'a [u8],
    pub payload: &'a [u8],
    /// The transport's own message, which [`Publisher::forward`](crate::contract::Publisher::forward) of the same
    /// transport can move instead of copying.
    pub native: Option<&'a dyn Any>,
    /// Retains the bytes after the callback returns, if the transport supports retained frames.
    pub keep: Option<&'a dyn Keep>,
    /// The arrival time of the frame, or 0 to let the instrument read the clock.
    pub arrived_ns: i64,
}

impl<'a> Received<'a> {
    /// Returns a frame with header and payload in separate memory.
    pub fn parts(header: &'a [u8], payload: &'a [u8]) -> Self {
        Self { header, payload, native: None, keep: None, arrived_ns: 0 }
    }

    /// Returns a frame from contiguous header and payload bytes (raw carriage).
    pub fn split(whole: &'a [u8]) -> Self {
        let (header, payload) = whole.split_at(whole.len().min(HEADER_BYTES));
        Self::parts(header, payload)
    }

    /// Sets the arrival time to the current time, unless the frame already has an arrival time. [`OnFrame::call`] calls
    /// this method before anything else. An adapter that takes a lock or searches a queue before it calls
    /// [`OnFrame::call`] should set the arrival time earlier.
    #[inline(always)]
    pub fn stamp_arrival(self) -> Self {
        match self.arrived_ns {
            0 => Self { arrived_ns: clock::now_ns(), ..self },
            _ => self,
        }
    }

    /// Returns the same frame with the transport's own message attached.
    pub fn with_native(self, native: &'a dyn Any) -> Self {
        Self { native: Some(native), ..self }
    }

    /// Returns the transport's own message, if it has the type `T`.
    #[inline(always)]
    pub fn native_as<T: Any>(&self) -> Option<&'a T> {
        self.native.and_then(|native| native.downcast_ref())
    }

    /// Returns the same frame with a handle that can retain the frame after the callback.
    pub fn with_keep(self, keep: &'a dyn Keep) -> Self {
        Self { keep: Some(keep), ..self }
    }
}

/// A callback that runs on a thread of the transport or on the sender's thread. The calls of one subscription never
/// overlap. Dropping the [`Subscription`](crate::contract::Subscription) drops the callback, and no call starts
/// afterwards.
pub struct OnFrame(Box<dyn FnMut(Received<'_>) + Send>);

impl OnFrame {
    pub fn new(take: impl FnMut(Received<'_>) + Send + 'static) -> Self {
        Self(Box::new(take))
    }

    /// Sets a frame's arrival time, and then passes the frame to the role. The function is not inlined, so that the
    /// compiler cannot move the role's code before the clock reading.
    #[inline(never)]
    pub fn call(&mut self, received: Received<'_>) {
        (self.0)(received.stamp_arrival());
    }
}

/// Retains received bytes after the callback without a copy.
pub trait Keep {
    /// Returns a handle to the bytes of the whole frame, header first. Dropping the handle releases the memory. Any
    /// thread may drop the handle, even after the subscriber has been dropped.
    fn keep(&self) -> Box<dyn AsRef<[u8]> + Send>;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the sent time as a receiver does.
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
