//! Parcel, an example adapter: one packet of a Unix socket is one frame. ../../README.md describes the wire format.
//!
//! `instrument/src/contract.rs` defines the contract of every adapter.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen,
    recv, send, socket_with,
};

/// The time after which a receiver that accepts nothing counts as hung. Without this limit, a hung receiver blocks the
/// sender forever.
const PATIENCE: Duration = Duration::from_secs(5);

/// There is one transport per process. Store the objects that all link ends share in this struct: a session, a context
/// or a broker connection.
struct ParcelTransport {
    setup: Setup,
    backlog: i32,
}

impl Transport for ParcelTransport {
    // Opening a link end may be slow, because hopmeter does not measure it. Prepare here everything that a send needs.
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        let path = self.setup.directory.join(format!("{}.sock", link.name));
        let listener = socket(SocketFlags::NONBLOCK)?;
        bind(&listener, &place(&path)?).context(format!("binding {}", path.display()))?;
        listen(&listener, self.backlog).context(format!("listening at {}", path.display()))?;
        Ok(Box::new(Sender { path, listener, receivers: Vec::new(), buffer: vec![0; link.frame_bytes] }))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        let connection = socket(SocketFlags::empty())?;
        connect(&connection, &place(link.address.as_ref())?).context(format!("connecting to {}", link.address))?;
        let (blocks, buffer) = (link.wait == Wait::Block, vec![0; link.frame_bytes]);
        Ok(Box::new(Receiver { connection, blocks, timeout: Duration::ZERO, buffer }))
    }

    // Reports how the bytes travelled. If several mechanisms are possible, ask the library which mechanism was used,
    // because the settings do not prove this.
    fn facts(&self) -> Vec<(String, String)> {
        vec![("path".to_owned(), "packets of Unix sockets".to_owned())]
    }
}

struct Sender {
    path: PathBuf,
    listener: OwnedFd,
    receivers: Vec<OwnedFd>,
    buffer: Vec<u8>,
}

impl Publisher for Sender {
    // Receivers connect to this address, because this transport has no discovery.
    fn address(&self) -> String {
        self.path.display().to_string()
    }

    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        self.accept()?;
        let frame = &mut self.buffer[..HEADER_BYTES + payload_bytes];
        // The last step of `fill` reads the sent time, so call `fill` as late as you can. If your library loans memory,
        // let `fill` write into that memory instead.
        fill.write(FrameMut::split(frame));
        let mut flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let mut gone = Vec::new();
        for (index, receiver) in self.receivers.iter().enumerate() {
            match send(receiver, frame, flags) {
                // Once one receiver has the frame, send the frame to all receivers, because after `Busy` the role would
                // send the frame again.
                Ok(_) => flags = SendFlags::NOSIGNAL,
                Err(Errno::AGAIN) if flags.contains(SendFlags::DONTWAIT) => return Ok(Sent::Busy),
                Err(Errno::PIPE | Errno::CONNRESET) => gone.push(index),
                Err(cause) => return Err(Error::new("sending a packet").because(cause)),
            }
        }
        // A receiver may die at any time. The instrument counts messages to a dead receiver as lost, so the sender
        // reports no failure.
        for index in gone.into_iter().rev() {
            self.receivers.swap_remove(index);
        }
        Ok(Sent::Accepted)
    }
}

impl Sender {
    /// Accepts the receivers that have connected since the last call. A receiver may connect at any time.
    fn accept(&mut self) -> Result<()> {
        loop {
            match accept_with(&self.listener, SocketFlags::CLOEXEC) {
                Ok(receiver) => {
                    set_socket_timeout(&receiver, Timeout::Send, Some(PATIENCE)).context("setting SO_SNDTIMEO")?;
                    self.receivers.push(receiver);
                }
                Err(Errno::AGAIN) => return Ok(()),
                Err(cause) => return Err(Error::new("accepting a receiver").because(cause)),
            }
        }
    }
}

impl Drop for Sender {
    // Remove everything that this end created, except for sockets, which close themselves.
    fn drop(&mut self) {
        let _ = rustix::fs::unlink(&self.path);
    }
}

struct Receiver {
    connection: OwnedFd,
    blocks: bool,
    /// The current SO_RCVTIMEO, which is set only if the value changes, because each change takes a system call.
    timeout: Duration,
    buffer: Vec<u8>,
}

impl Subscriber for Receiver {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let waits = self.blocks && !timeout.is_zero();
        if waits && timeout != self.timeout {
            set_socket_timeout(&self.connection, Timeout::Recv, Some(timeout)).context("setting SO_RCVTIMEO")?;
            self.timeout = timeout;
        }
        // With `spin`, checks once without sleeping. With `block`, sleeps in the transport itself, not in a polling
        // loop.
        let flags = if waits { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
        match recv(&self.connection, &mut self.buffer[..], flags) {
            Ok((_, 0)) | Err(Errno::CONNRESET) => {
                // The sender does not reconnect. Without this pause, the role would poll in a busy loop.
                std::thread::sleep(if waits { timeout } else { Duration::ZERO });
                Ok(0)
            }
            Ok((_, bytes)) => {
                take(Received::split(&self.buffer[..bytes]));
                Ok(1)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(cause) => Err(Error::new("receiving a packet").because(cause)),
        }
    }
}

fn socket(flags: SocketFlags) -> Result<OwnedFd> {
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags | SocketFlags::CLOEXEC, None)
        .context("making a socket")
}

fn place(path: &std::path::Path) -> Result<SocketAddrUnix> {
    SocketAddrUnix::new(path)
        .context(format!(
            "{} is too long for the address of a Unix socket, which has at most 107 bytes",
            path.display()
        ))
        .map_err(|error| error.remedy("set TMPDIR to a folder with a shorter path"))
}

/// Returns the version that the library reports, not the version that Cargo.toml pins.
fn version() -> String {
    format!("Linux {}", rustix::system::uname().release().to_string_lossy())
}

fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
    Ok(Arc::new(ParcelTransport { setup: setup.clone(), backlog: setup.setting("backlog")? }))
}

fn main() -> ExitCode {
    node::main("parcel", "rust", open, version)
}
