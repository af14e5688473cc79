//! A connection of one link end: a stream socket, or one side of a pipe. A pipe's descriptor is non-blocking, so a pipe
//! waits in `poll` before each call for which a socket blocks in the call itself.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read, write};
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{RecvFlags, SendFlags, recv, send};

/// How long a receiver may accept no bytes of a message that is partly sent.
const PATIENCE: Duration = Duration::from_millis(100);

pub struct Connection {
    fd: OwnedFd,
    is_pipe: bool,
}

/// How a receive call waits.
#[derive(Clone, Copy)]
pub(crate) enum Receive {
    /// The call does not wait.
    Now,
    /// The receive call waits until any byte arrives or the timeout passes.
    Any(Duration),
    /// The receive call waits until the buffer is full or the timeout passes. A pipe may return earlier.
    All(Duration),
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Connection {
    pub fn new(fd: OwnedFd, is_pipe: bool) -> Self {
        Self { fd, is_pipe }
    }

    pub(crate) fn socket(&self) -> &OwnedFd {
        &self.fd
    }

    pub(crate) fn is_pipe(&self) -> bool {
        self.is_pipe
    }

    /// Limits the time that `send` may wait.
    pub(crate) fn set_patience(&self) -> Result<()> {
        if self.is_pipe {
            return Ok(());
        }
        sockopt::set_socket_timeout(&self.fd, Timeout::Send, Some(PATIENCE)).context("setting SO_SNDTIMEO")
    }

    /// Receives bytes and returns the number of bytes, which is 0 at the end of the stream. For a socket, the caller
    /// must have set the timeout with SO_RCVTIMEO.
    pub(crate) fn receive(&self, buffer: &mut [u8], how: Receive) -> rustix::io::Result<usize> {
        if self.is_pipe {
            return self.read(buffer, how);
        }
        let flags = match how {
            Receive::Now => RecvFlags::DONTWAIT,
            Receive::Any(_) => RecvFlags::empty(),
            Receive::All(_) => RecvFlags::WAITALL,
        };
        recv(&self.fd, buffer, flags).map(|(_, bytes)| bytes)
    }

    /// The rest of a frame has often arrived already, so this function reads first and waits only if bytes are missing.
    fn read(&self, buffer: &mut [u8], how: Receive) -> rustix::io::Result<usize> {
        match how {
            Receive::Now => {}
            Receive::Any(timeout) if !self.waits_for(PollFlags::IN, timeout)? => return Err(Errno::AGAIN),
            Receive::Any(_) => {}
            Receive::All(timeout) => match read(&self.fd, &mut *buffer) {
                Err(Errno::AGAIN) if !self.waits_for(PollFlags::IN, timeout)? => return Err(Errno::AGAIN),
                Err(Errno::AGAIN) => {}
                answer => return answer,
            },
        }
        read(&self.fd, buffer)
    }

    /// Sends as many bytes as the other side accepts. If `waits` is true, the function gives up only after the other
    /// side has accepted nothing for `PATIENCE`.
    pub(crate) fn send(&self, bytes: &[u8], waits: bool) -> rustix::io::Result<usize> {
        if self.is_pipe {
            return self.write(bytes, waits);
        }
        let flags = if waits { SendFlags::NOSIGNAL } else { SendFlags::NOSIGNAL | SendFlags::DONTWAIT };
        loop {
            match send(&self.fd, bytes, flags) {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(0),
                answer => return answer,
            }
        }
    }

    fn write(&self, bytes: &[u8], waits: bool) -> rustix::io::Result<usize> {
        let mut sent = 0;
        loop {
            match write(&self.fd, &bytes[sent..]) {
                Ok(more) => sent += more,
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(cause) => return Err(cause),
            }
            if sent == bytes.len() || !waits || !self.waits_for(PollFlags::OUT, PATIENCE)? {
                return Ok(sent);
            }
        }
    }

    fn waits_for(&self, events: PollFlags, timeout: Duration) -> rustix::io::Result<bool> {
        let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&self.fd, events)], Some(&timeout)) {
            Err(Errno::INTR) => Ok(false),
            answer => answer.map(|ready| ready > 0),
        }
    }
}
