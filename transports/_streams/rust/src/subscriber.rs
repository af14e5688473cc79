//! The subscriber, which receives a small frame with one `recv`, and the rest of a large frame directly into its final
//! position.

use std::sync::Arc;
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use rustix::io::Errno;

use crate::connection::{Connection, Receive};
use crate::waiting::ReceiveTimeout;
use crate::{PREFIX_BYTES, frame_buffer};

/// The minimum size of the receive buffer, so that one call can receive several small frames.
const ROOM: usize = 65_536;

pub(crate) struct StreamSubscriber {
    connection: Arc<Connection>,
    /// Whether a poll may sleep.
    blocks: bool,
    frame_bytes: usize,
    buffer: Vec<u8>,
    /// Where the first frame in the buffer starts, which never changes; `end` is the end of the received bytes.
    offset: usize,
    end: usize,
    timeout: ReceiveTimeout,
    /// Whether any byte has arrived.
    has_begun: bool,
    gone: bool,
}

/// A received frame with its prefix, which a relay can forward. A `Message` is valid during one call of `take`.
pub(crate) struct Message(*const [u8]);

impl Message {
    /// Returns the bytes of the message, which are valid as long as the frame.
    pub(crate) fn of<'a>(&self, _frame: &'a Received<'_>) -> &'a [u8] {
        // SAFETY: only `deliver` creates this value, from bytes that live as long as the frame, and the value cannot be
        // stored.
        unsafe { &*self.0 }
    }
}

/// The result of one `recv`.
enum Arrived {
    Bytes,
    Nothing,
    End,
}

impl StreamSubscriber {
    pub(crate) fn new(connection: Arc<Connection>, wait: Wait, frame_bytes: usize) -> Self {
        let (buffer, offset) = frame_buffer(frame_bytes, ROOM);
        let blocks = wait == Wait::Block;
        Self {
            connection,
            blocks,
            frame_bytes,
            buffer,
            offset,
            end: offset,
            timeout: ReceiveTimeout::default(),
            has_begun: false,
            gone: false,
        }
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Whether the peer has closed the connection.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Receives frames like `poll`, but returns immediately after the peer has disconnected.
    pub(crate) fn receive_some(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let may_wait = self.blocks && !timeout.is_zero();
        if may_wait && !self.connection.is_pipe() {
            self.timeout.set(self.connection.socket(), timeout)?;
        }
        while !self.gone {
            match self.receive(may_wait.then_some(timeout))? {
                Arrived::Nothing => return Ok(0),
                Arrived::End => self.gone = true,
                Arrived::Bytes => match self.deliver(take)? {
                    0 => {}
                    frames => return Ok(frames),
                },
            }
        }
        Ok(0)
    }

    /// Returns the length of the frame at `start`, including its prefix, or `None` until the prefix has arrived.
    fn message_bytes(&self, start: usize) -> Result<Option<usize>> {
        let Some(prefix) = self.buffer[start..self.end].first_chunk::<PREFIX_BYTES>() else {
            return Ok(None);
        };
        let length = u64::from_le_bytes(std::array::from_fn(|at| prefix[at]));
        if length > self.frame_bytes as u64 {
            return Err(Error::new(format!(
                "a frame of {length} bytes was announced, but the limit is {}",
                self.frame_bytes
            ))
            .remedy("another program writes to this socket, or an adapter violates the wire format"));
        }
        Ok(Some(PREFIX_BYTES + length as usize))
    }

    /// Receives everything that is available or, if a frame is incomplete, only the missing bytes.
    fn receive(&mut self, timeout: Option<Duration>) -> Result<Arrived> {
        let (room, whole) = match self.message_bytes(self.offset)? {
            Some(bytes) if bytes > self.end - self.offset => (self.offset + bytes, true),
            _ => (self.buffer.len(), false),
        };
        let how = match timeout {
            None => Receive::Now,
            Some(timeout) if whole => Receive::All(timeout),
            Some(timeout) => Receive::Any(timeout),
        };
        match self.connection.receive(&mut self.buffer[self.end..room], how) {
            // A pipe that no writer has opened yet looks like a pipe whose writer has disconnected.
            Ok(0) if self.connection.is_pipe() && !self.has_begun && timeout.is_none() => Ok(Arrived::Nothing),
            Ok(0) | Err(Errno::CONNRESET) => Ok(Arrived::End),
            Ok(bytes) => {
                self.has_begun = true;
                self.end += bytes;
                Ok(Arrived::Bytes)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(Arrived::Nothing),
            Err(cause) => Err(Error::new("receiving bytes").because(cause)),
        }
    }

    /// Passes every complete frame to `take`, and moves an incomplete frame to the start of the buffer.
    fn deliver(&mut self, take: Take<'_>) -> Result<usize> {
        let (mut frames, mut start) = (0, self.offset);
        while let Some(bytes) = self.message_bytes(start)?.filter(|bytes| *bytes <= self.end - start) {
            let message = &self.buffer[start..start + bytes];
            take(Received::split(&message[PREFIX_BYTES..]).with_native(&Message(message)));
            start += bytes;
            frames += 1;
        }
        if start > self.offset {
            self.buffer.copy_within(start..self.end, self.offset);
            self.end -= start - self.offset;
        }
        Ok(frames)
    }
}

impl Subscriber for StreamSubscriber {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let frames = self.receive_some(timeout, take)?;
        if self.gone && self.blocks {
            // A disconnected publisher does not reconnect. Without the pause, the role would poll in a busy loop.
            std::thread::sleep(timeout);
        }
        Ok(frames)
    }
}
