//! Frames over streams: the code that the `unix`, `tcp` and `pipe` adapters share. `../README.md` describes the wire
//! format. Adapters of libraries that use sockets also need [`endpoint`] and [`waiting`].

pub mod attendant;
mod calls;
mod connection;
pub mod endpoint;
pub mod fifo;
mod line;
mod options;
mod publisher;
mod receivers;
mod subscriber;
pub mod waiting;

use std::os::fd::OwnedFd;
use std::sync::Arc;

use hopmeter_instrument::prelude::*;

use connection::Connection;
pub use endpoint::{Endpoint, Listener};
pub use options::{accept_on, datagram_socket, set_receive_buffer, set_send_buffer, socket};

/// The length of every frame's prefix: the frame's length as a little-endian u64, zero-padded to a cache line. Because
/// of the padding, header and payload begin at cache lines, from which the kernel copies fastest.
const PREFIX_BYTES: usize = 64;

/// The addressing of one kind of stream, which is the only difference between `unix` and `tcp`.
pub trait Family: Send + Sync + 'static {
    /// How the bytes travel, as reported in the result.
    fn path(&self) -> String;

    /// Creates the listening socket of a link. Returns the socket and the address that receivers connect to.
    fn listen(&self, link: &Link) -> Result<(OwnedFd, String)>;

    /// Accepts the next waiting receiver, or returns `None` if no receiver waits.
    fn accept(&self, listener: &OwnedFd) -> Result<Option<OwnedFd>> {
        let accepted = accept_on(listener)?;
        accepted.iter().try_for_each(|connection| self.configure_accepted(connection))?;
        Ok(accepted)
    }

    /// Sets the options that an accepted connection does not inherit from the listening socket.
    fn configure_accepted(&self, _connection: &OwnedFd) -> Result<()> {
        Ok(())
    }

    /// Whether connections are pipes, which carry frames in one direction only.
    fn is_pipe(&self) -> bool {
        false
    }

    /// Connects a receiver.
    fn connect(&self, address: &str) -> Result<OwnedFd>;

    /// Removes files that `listen` created.
    fn remove(&self, _address: &str) {}
}

/// A transport over stream sockets.
pub struct Streams<F> {
    family: Arc<F>,
}

impl<F: Family> Streams<F> {
    pub fn new(family: F) -> Self {
        Self { family: Arc::new(family) }
    }
}

impl<F: Family> Transport for Streams<F> {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        Ok(Box::new(publisher::StreamPublisher::open(self.family.clone(), link)?))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        let connection = Arc::new(Connection::new(self.family.connect(&link.address)?, self.family.is_pipe()));
        Ok(Box::new(subscriber::StreamSubscriber::new(connection, link.wait, link.frame_bytes)))
    }

    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        Ok(Box::new(calls::StreamServer::open(self.family.clone(), link)?))
    }

    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        let connection = self.family.connect(&link.address)?;
        Ok(Box::new(calls::StreamClient::new(connection, link)?))
    }

    fn facts(&self) -> Vec<(String, String)> {
        vec![("path".to_owned(), self.family.path())]
    }
}

/// Returns the kernel's version, which serves as the library version.
pub fn version() -> String {
    format!("Linux {}", rustix::system::uname().release().to_string_lossy())
}

/// Creates a zeroed buffer whose first message begins at a cache line. Returns the buffer and the message's offset. The
/// buffer has room for the prefix and one frame of `frame_bytes`, and for at least `at_least` bytes.
fn frame_buffer(frame_bytes: usize, at_least: usize) -> (Vec<u8>, usize) {
    const LINE: usize = 64;
    let buffer = vec![0; (PREFIX_BYTES + frame_bytes).max(at_least) + LINE];
    let offset = (LINE - buffer.as_ptr() as usize % LINE) % LINE;
    (buffer, offset)
}

#[cfg(test)]
mod tests;
