//! One WebSocket connection: tungstenite over a socket or TLS. Each call chooses whether the socket may block.

use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hopmeter_instrument::prelude::*;
use hopmeter_streams::waiting::ReceiveTimeout;
use rustix::event::{PollFd, PollFlags};
use tungstenite::error::{Error as Failure, ProtocolError};
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Message, WebSocket};

use crate::stream::Stream;

/// How long a peer may accept no bytes of a partly sent message.
const PATIENCE: Duration = Duration::from_millis(100);

/// The size and time limits of a connection, from the trial and its settings.
#[derive(Clone, Copy)]
pub struct Limits {
    pub frame_bytes: usize,
    pub read_buffer: usize,
}

impl Limits {
    fn config(self) -> WebSocketConfig {
        WebSocketConfig::default()
            .read_buffer_size(self.read_buffer)
            .max_message_size(Some(self.frame_bytes))
            .max_frame_size(Some(self.frame_bytes))
    }
}

/// A connection that has completed its handshake.
pub struct Connection {
    socket: WebSocket<Stream>,
    /// Whether the peer has not yet accepted all bytes that were sent to it.
    pub behind: bool,
    /// Whether the peer has disconnected.
    pub ended: bool,
    /// Whether the read buffer is empty or contains only the beginning of a message.
    drained: bool,
    timeout: ReceiveTimeout,
}

impl Connection {
    pub fn connect(stream: Stream, url: &str, limits: Limits) -> Result<Self> {
        let opened = tungstenite::client::client_with_config(url, stream, Some(limits.config()));
        Ok(Self::after_handshake(opened.context(format!("opening the WebSocket {url}"))?.0))
    }

    pub fn accept(stream: Stream, limits: Limits) -> Result<Self> {
        let opened = tungstenite::accept_with_config(stream, Some(limits.config()));
        Ok(Self::after_handshake(opened.context("accepting a WebSocket")?))
    }

    fn after_handshake(mut socket: WebSocket<Stream>) -> Self {
        socket.get_mut().socket.patience = Some(PATIENCE);
        Self { socket, behind: false, ended: false, drained: false, timeout: ReceiveTimeout::default() }
    }

    /// Sends a message, and keeps the bytes that a slow peer has not yet accepted. If the peer has disconnected,
    /// silently discards the message.
    pub fn send(&mut self, message: Bytes) -> Result<()> {
        // tungstenite keeps the unwritten bytes.
        let sent = match self.socket.write(Message::Binary(message)) {
            Ok(()) => self.socket.flush(),
            blocked => blocked,
        };
        self.note_outcome(sent)
    }

    /// Sends the unsent bytes of a message without waiting.
    pub fn flush(&mut self) -> Result<()> {
        let patience = self.socket.get_mut().socket.patience.take();
        let flushed = self.socket.flush();
        self.socket.get_mut().socket.patience = patience;
        self.note_outcome(flushed)
    }

    fn note_outcome(&mut self, sent: tungstenite::Result<()>) -> Result<()> {
        self.behind = sent.as_ref().is_err_and(is_waiting);
        match sent {
            Err(failure) if is_end(&failure) => self.ended = true,
            Err(failure) if !self.behind => return Err(Error::new("sending a message").because(failure)),
            _ => {}
        }
        Ok(())
    }

    /// Returns the next message, or `None` if no message has arrived. If `wait` is `Some(timeout)`, the function sleeps
    /// in the socket until a message arrives.
    pub fn receive(&mut self, timeout: Option<Duration>) -> Result<Option<Bytes>> {
        if let Some(timeout) = timeout {
            self.timeout.set(&self.socket.get_ref().socket.raw, timeout)?;
        }
        self.socket.get_mut().socket.waits = timeout.is_some();
        while !self.ended {
            match self.socket.read() {
                Ok(Message::Binary(bytes)) => {
                    self.drained = false;
                    return Ok(Some(bytes));
                }
                Ok(_) => {} // a ping, or a text from a foreign program
                Err(failure) if is_waiting(&failure) => {
                    self.drained = true;
                    return Ok(None);
                }
                Err(failure) if is_end(&failure) => self.ended = true,
                Err(failure) => return Err(Error::new("receiving a message").because(failure)),
            }
        }
        Ok(None)
    }

    /// Whether `receive` could return a message without sleeping. This check costs less than tungstenite's own check,
    /// which clears the whole read buffer each time.
    pub fn may_have_more(&self) -> bool {
        !self.drained || self.ended
    }

    /// Records that the kernel has received bytes for this connection, so that the next `receive` reads them.
    pub fn look_again(&mut self) {
        self.drained = false;
    }

    /// Returns the socket events for which the caller waits before it calls `receive` or `flush`.
    pub fn interest(&self) -> PollFd<'_> {
        let sends = if self.behind { PollFlags::OUT } else { PollFlags::empty() };
        PollFd::from_borrowed_fd(self.as_fd(), PollFlags::IN | sends)
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.get_ref().socket.raw.as_fd()
    }
}

fn is_waiting(failure: &Failure) -> bool {
    matches!(failure, Failure::Io(cause) if cause.kind() == ErrorKind::WouldBlock)
}

fn is_end(failure: &Failure) -> bool {
    use ProtocolError::{ReceivedAfterClosing, ResetWithoutClosingHandshake, SendAfterClosing};
    match failure {
        Failure::ConnectionClosed | Failure::AlreadyClosed => true,
        Failure::Protocol(ReceivedAfterClosing | ResetWithoutClosingHandshake | SendAfterClosing) => true,
        Failure::Io(cause) => matches!(cause.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe),
        _ => false,
    }
}

/// The buffer for outgoing frames, which is reused after tungstenite has copied the buffer's content.
#[derive(Default)]
pub struct Outgoing {
    spare: BytesMut,
}

impl Outgoing {
    /// Lets `fill` write a frame, and calls `send` to send it.
    pub fn fill(
        &mut self,
        payload_bytes: usize,
        fill: Fill<'_>,
        send: impl FnOnce(&Bytes) -> Result<()>,
    ) -> Result<()> {
        let mut frame = std::mem::take(&mut self.spare);
        frame.resize(HEADER_BYTES + payload_bytes, 0);
        fill.write(FrameMut::split(&mut frame));
        let frame = frame.freeze();
        let sent = send(&frame);
        self.spare = frame.try_into_mut().unwrap_or_default();
        sent
    }
}
