//! Where publishers and servers listen: TCP on the loopback device, or Unix sockets in the trial's folder.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use hopmeter_instrument::{Context, Result};
use rustix::net::sockopt::set_tcp_nodelay;

/// A bound socket that never waits; its file, if it has one, goes with it.
pub struct Listener {
    pub socket: OwnedFd,
    pub address: String,
    file: Option<PathBuf>,
}

impl Listener {
    /// Accepted connections inherit TCP_NODELAY from it.
    pub fn tcp() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("binding a port of 127.0.0.1")?;
        let address = listener.local_addr().context("asking which port was bound")?.to_string();
        listener.set_nonblocking(true).context("making the listener nonblocking")?;
        set_tcp_nodelay(&listener, true).context("setting TCP_NODELAY")?;
        Ok(Self { socket: listener.into(), address, file: None })
    }

    pub fn unix(path: PathBuf) -> Result<Self> {
        let address = path.display().to_string();
        let listener = UnixListener::bind(&path).context(format!("binding {address}"))?;
        listener.set_nonblocking(true).context("making the listener nonblocking")?;
        Ok(Self { socket: listener.into(), address, file: Some(path) })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            let _ = std::fs::remove_file(file); // a trial's folder goes as a whole
        }
    }
}

pub fn connect(address: &str, unix: bool) -> Result<OwnedFd> {
    let connecting = format!("connecting to {address}");
    if unix {
        return Ok(UnixStream::connect(address).context(connecting)?.into());
    }
    let connection = TcpStream::connect(address).context(connecting)?;
    connection.set_nodelay(true).context("setting TCP_NODELAY")?;
    Ok(connection.into())
}
