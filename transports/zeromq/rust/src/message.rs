//! ZeroMQ's messages, through the C functions. The `Message` of the crate zmq cannot share its bytes, zeroes its
//! memory, cannot use a pool, and is lost if a send would block.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::slice;

use hopmeter_instrument::prelude::*;
use zmq_sys::zmq_msg_t;

use crate::pool::{Frame, give_back};

/// A message with shared bytes, which ZeroMQ frees when the last message with these bytes is dropped. The crate zmq-sys
/// declares `zmq_msg_t` without the alignment that libzmq requires.
#[repr(C, align(8))]
pub struct Message(UnsafeCell<zmq_msg_t>);

impl Message {
    fn init(init: impl FnOnce(*mut zmq_msg_t) -> c_int) -> zmq::Result<Self> {
        let message = Self(UnsafeCell::new(zmq_msg_t::default()));
        check(init(message.0.get())).map(|_| message)
    }

    pub fn empty() -> zmq::Result<Self> {
        // SAFETY: here and below, `init` passes an uninitialised message.
        Self::init(|message| unsafe { zmq_sys::zmq_msg_init(message) })
    }

    /// Returns a message in memory that ZeroMQ allocates and leaves uninitialised.
    pub fn with_bytes(bytes: usize) -> zmq::Result<Self> {
        // SAFETY: as in `empty`.
        Self::init(|message| unsafe { zmq_sys::zmq_msg_init_size(message, bytes) })
    }

    /// Returns a message that uses the first bytes of a pool's frame. When ZeroMQ frees the message, it returns the
    /// frame to its pool.
    pub fn in_frame(mut frame: Box<Frame>, bytes: usize) -> zmq::Result<Self> {
        let data = frame.bytes_mut()[..bytes].as_mut_ptr().cast();
        let frame = Box::into_raw(frame).cast();
        // SAFETY: the message owns the frame until ZeroMQ calls `give_back`, which it does once.
        Self::init(|message| unsafe { zmq_sys::zmq_msg_init_data(message, data, bytes, Some(give_back), frame) })
    }

    /// Returns a second message with the same bytes, without a copy.
    pub fn share(&self) -> zmq::Result<Self> {
        let copy = Self::empty()?;
        // SAFETY: both messages are initialised, and a message is never used by two threads at once.
        check(unsafe { zmq_sys::zmq_msg_copy(copy.0.get(), self.0.get()) }).map(|_| copy)
    }

    /// Returns the bytes for writing. The message must not share its bytes with another message.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the message is initialised and borrowed, and ZeroMQ returns its memory and size.
        unsafe {
            let data = zmq_sys::zmq_msg_data(self.0.get()).cast();
            slice::from_raw_parts_mut(data, zmq_sys::zmq_msg_size(self.0.get()))
        }
    }

    pub fn is_followed(&self) -> bool {
        // SAFETY: the message is initialised.
        unsafe { zmq_sys::zmq_msg_more(self.0.get()) != 0 }
    }

    /// Sends the message without waiting. After a successful send, the message is empty.
    pub fn send(&mut self, socket: &mut zmq::Socket, more: bool) -> zmq::Result<()> {
        let flags = zmq::DONTWAIT | if more { zmq::SNDMORE } else { 0 };
        // SAFETY: message and socket are valid and borrowed.
        check(unsafe { zmq_sys::zmq_msg_send(self.0.get(), socket.as_mut_ptr(), flags) })
    }

    /// Replaces the message with the next message that arrives.
    pub fn receive(&mut self, socket: &mut zmq::Socket, flags: i32) -> zmq::Result<()> {
        // SAFETY: as in `send`.
        check(unsafe { zmq_sys::zmq_msg_recv(self.0.get(), socket.as_mut_ptr(), flags) })
    }

    /// Returns the message in the instrument's type.
    pub fn to_received(&self) -> Received<'_> {
        Received::split(self.as_ref()).with_native(self).with_keep(self)
    }
}

impl AsRef<[u8]> for Message {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: as in `bytes_mut`; ZeroMQ does not change the bytes.
        unsafe {
            let data = zmq_sys::zmq_msg_data(self.0.get()).cast_const().cast();
            slice::from_raw_parts(data, zmq_sys::zmq_msg_size(self.0.get()))
        }
    }
}

impl Keep for Message {
    fn keep(&self) -> Box<dyn AsRef<[u8]> + Send> {
        Box::new(self.share().expect("a received message is valid"))
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        // SAFETY: closing fails only for a message that was never initialised.
        unsafe { zmq_sys::zmq_msg_close(self.0.get()) };
    }
}

/// Converts the result of a C function.
pub fn check(code: c_int) -> zmq::Result<()> {
    // SAFETY: ZeroMQ returns the error of this thread.
    if code == -1 { Err(zmq::Error::from_raw(unsafe { zmq_sys::zmq_errno() })) } else { Ok(()) }
}
