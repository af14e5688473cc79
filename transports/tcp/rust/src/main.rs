//! The adapter for TCP, with Nagle's algorithm switched off.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::sync::Arc;

use hopmeter_instrument::prelude::*;
use hopmeter_streams::{Family, Streams, set_receive_buffer, set_send_buffer, socket};
use rustix::io::Errno;
use rustix::net::{AddressFamily, bind, connect, getsockname, listen, sockopt};

/// The maximum number of receivers in the accept queue.
const WAITING_RECEIVERS: i32 = 128;

struct Tcp {
    bind: Ipv4Addr,
    advertised: Ipv4Addr,
    device: String,
    port: u16,
    send_buffer: usize,
    receive_buffer: usize,
}

impl Tcp {
    /// The buffer sizes are set before the socket connects, because TCP fixes its window scale when it connects.
    /// Accepted connections inherit all options from the listening socket.
    fn socket(&self) -> Result<OwnedFd> {
        let socket = socket(AddressFamily::INET)?;
        sockopt::set_tcp_nodelay(&socket, true).context("setting TCP_NODELAY")?;
        set_send_buffer(&socket, self.send_buffer)?;
        set_receive_buffer(&socket, self.receive_buffer)?;
        Ok(socket)
    }
}

impl Family for Tcp {
    fn path(&self) -> String {
        format!("TCP on {}", self.device)
    }

    fn listen(&self, _link: &Link) -> Result<(OwnedFd, String)> {
        let listener = self.socket()?;
        // Allows rebinding a fixed port although connections of an earlier trial still exist.
        sockopt::set_socket_reuseaddr(&listener, true).context("setting SO_REUSEADDR")?;
        let place = SocketAddr::from((self.bind, self.port));
        bind(&listener, &place).map_err(|cause| port_error(place, cause))?;
        listen(&listener, WAITING_RECEIVERS).map_err(|cause| port_error(place, cause))?;
        let bound = getsockname(&listener).context("asking which port was bound")?;
        let bound = SocketAddr::try_from(bound).context("asking which port was bound")?;
        Ok((listener, format!("{}:{}", self.advertised, bound.port())))
    }

    fn connect(&self, address: &str) -> Result<OwnedFd> {
        let place: SocketAddr = address.parse().context(format!("parsing the address {address}"))?;
        let connection = self.socket()?;
        connect(&connection, &place).context(format!("connecting to {address}"))?;
        Ok(connection)
    }
}

fn port_error(place: SocketAddr, cause: Errno) -> Error {
    Error::new(format!("binding port {} of {}", place.port(), place.ip()))
        .remedy("use port = 0, which selects a free port")
        .because(cause)
}

fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
    let tcp = Tcp {
        bind: setup.bind,
        advertised: setup.advertised,
        device: setup.network_device(),
        port: setup.setting("port")?,
        send_buffer: setup.setting("send_buffer")?,
        receive_buffer: setup.setting("receive_buffer")?,
    };
    Ok(Arc::new(Streams::new(tcp)))
}

fn main() -> ExitCode {
    node::main("tcp", "rust", open, hopmeter_streams::version)
}
