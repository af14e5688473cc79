//! Socket options and buffers, with errors that name the remedy.

use std::os::fd::OwnedFd;

use hopmeter_instrument::prelude::*;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, accept_with, sockopt};

/// Creates a stream socket that no child process inherits.
pub fn socket(family: AddressFamily) -> Result<OwnedFd> {
    rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None).context("making a stream socket")
}

/// Creates a UDP socket that no child process inherits.
pub fn datagram_socket() -> Result<OwnedFd> {
    let (family, kind) = (AddressFamily::INET, SocketType::DGRAM);
    rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None).context("making a UDP socket")
}

/// Accepts the next connection of a non-blocking listening socket, or returns `None` if no peer waits.
pub fn accept_on(listener: &OwnedFd) -> Result<Option<OwnedFd>> {
    loop {
        match accept_with(listener, SocketFlags::CLOEXEC) {
            Err(Errno::INTR | Errno::CONNABORTED) => {}
            Err(Errno::AGAIN) => return Ok(None),
            answer => return answer.map(Some).context("accepting a connection"),
        }
    }
}

/// Sets `SO_SNDBUF`. The value 0 keeps the system's default.
pub fn set_send_buffer(socket: &OwnedFd, bytes: usize) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    sockopt::set_socket_send_buffer_size(socket, bytes).context("setting SO_SNDBUF")?;
    let granted = sockopt::socket_send_buffer_size(socket).context("reading SO_SNDBUF")?;
    refuse_less(bytes, granted, "send_buffer", "net.core.wmem_max")
}

/// Sets `SO_RCVBUF`. The value 0 keeps the system's default.
pub fn set_receive_buffer(socket: &OwnedFd, bytes: usize) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    sockopt::set_socket_recv_buffer_size(socket, bytes).context("setting SO_RCVBUF")?;
    let granted = sockopt::socket_recv_buffer_size(socket).context("reading SO_RCVBUF")?;
    refuse_less(bytes, granted, "receive_buffer", "net.core.rmem_max")
}

/// Fails if Linux silently granted a smaller buffer than requested. Linux reports twice the granted size, because the
/// reported size includes bookkeeping.
fn refuse_less(asked: usize, granted: usize, setting: &str, limit: &str) -> Result<()> {
    if granted >= 2 * asked {
        return Ok(());
    }
    Err(Error::new(format!("the system grants {} bytes for {setting} = {asked}", granted / 2))
        .remedy(format!("request a smaller size, or raise the limit: sysctl -w {limit}={asked}")))
}
