//! The listening addresses of adapters whose library moves the bytes: TCP addresses, or Unix sockets in the trial's
//! folder.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use hopmeter_instrument::{Context, Link, Result, Setup};
use rustix::net::sockopt::set_tcp_nodelay;

/// The setting `endpoint`, which selects the kind of address.
#[derive(Clone)]
pub enum Endpoint {
    /// TCP: the listening address, the address that peers connect to, and the name of the network device.
    Tcp(Ipv4Addr, Ipv4Addr, String),
    /// Unix sockets: the trial's folder and the suffix of the socket file names.
    Unix(PathBuf, &'static str),
}

impl Endpoint {
    pub fn read(setup: &Setup, suffix: &'static str) -> Result<Self> {
        let is_unix = setup.setting::<String>("endpoint")? == "unix";
        Ok(if is_unix {
            Self::Unix(setup.directory.clone(), suffix)
        } else {
            Self::Tcp(setup.bind, setup.advertised, setup.network_device())
        })
    }

    pub fn is_unix(&self) -> bool {
        matches!(self, Self::Unix(..))
    }

    /// Returns how the bytes travel, which the result reports as the fact `path`.
    pub fn path(&self) -> String {
        match self {
            Self::Tcp(_, _, device) => format!("TCP on {device}"),
            Self::Unix(..) => "Unix sockets".into(),
        }
    }

    /// # Errors
    /// Fails if the address cannot be bound: the file exists, or its path is too long for a socket address.
    pub fn listen(&self, link: &Link) -> Result<Listener> {
        match self {
            Self::Tcp(bind, advertised, _) => Listener::tcp(*bind, *advertised),
            Self::Unix(folder, suffix) => Listener::unix(folder.join(format!("{}.{suffix}", link.name))),
        }
    }

    /// # Errors
    /// Fails if no socket listens at the address.
    pub fn connect(&self, link: &Link) -> Result<OwnedFd> {
        let connecting = format!("connecting to {}", link.address);
        if self.is_unix() {
            return Ok(UnixStream::connect(&link.address).context(connecting)?.into());
        }
        let connection = TcpStream::connect(&link.address).context(connecting)?;
        connection.set_nodelay(true).context("setting TCP_NODELAY")?;
        Ok(connection.into())
    }
}

/// A bound, non-blocking socket.
pub struct Listener {
    pub socket: OwnedFd,
    pub address: String,
    pub file: Option<SocketFile>,
}

impl Listener {
    /// Accepted connections inherit TCP_NODELAY from the listening socket.
    fn tcp(bind: Ipv4Addr, advertised: Ipv4Addr) -> Result<Self> {
        let listener = TcpListener::bind((bind, 0)).context(format!("binding a port of {bind}"))?;
        let port = listener.local_addr().context("asking which port was bound")?.port();
        let address = format!("{advertised}:{port}");
        listener.set_nonblocking(true).context("making the listener nonblocking")?;
        set_tcp_nodelay(&listener, true).context("setting TCP_NODELAY")?;
        Ok(Self { socket: listener.into(), address, file: None })
    }

    fn unix(path: PathBuf) -> Result<Self> {
        let address = path.display().to_string();
        let listener = UnixListener::bind(&path).context(format!("binding {address}"))?;
        listener.set_nonblocking(true).context("making the listener nonblocking")?;
        Ok(Self { socket: listener.into(), address, file: Some(SocketFile(path)) })
    }
}

/// The file of a Unix socket. Dropping a `SocketFile` removes the socket's file.
pub struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0); // ignore errors, because the launcher removes the trial's folder anyway
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use hopmeter_instrument::prelude::{HEADER_BYTES, PayloadKind, Wait};

    use super::*;

    fn link(address: String) -> Link {
        let (payload, wait) = (PayloadKind::Bytes, Wait::Block);
        Link { name: "l0".into(), address, receivers: 1, payload, frame_bytes: HEADER_BYTES, wait, message: None }
    }

    #[test]
    fn both_kinds_of_endpoint_connect_and_leave_no_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let here = Ipv4Addr::LOCALHOST;
        let tcp = Endpoint::Tcp(Ipv4Addr::UNSPECIFIED, here, String::new());
        for endpoint in [tcp, Endpoint::Unix(folder.path().into(), "test")] {
            let listener = endpoint.listen(&link(String::new())).expect("bound");
            let client = endpoint.connect(&link(listener.address.clone())).expect("connected");
            let server = crate::accept_on(&listener.socket).expect("accepted").expect("one waits");
            assert!(crate::accept_on(&listener.socket).expect("no failure").is_none(), "it never waits");
            std::fs::File::from(client).write_all(b"x").expect("sent");
            let mut got = Vec::new();
            std::fs::File::from(server).read_to_end(&mut got).expect("received");
            assert_eq!(got, b"x");
        }
        assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 0);
    }
}
