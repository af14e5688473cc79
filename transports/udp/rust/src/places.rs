//! Addresses, sockets and their options.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use hopmeter_instrument::prelude::*;
use hopmeter_streams::{datagram_socket, set_receive_buffer, set_send_buffer};
use rustix::io::Errno;
use rustix::net::{bind, connect, getsockname, sockopt};

use crate::drops::Drops;

pub struct Places {
    bind: Ipv4Addr,
    advertised: Ipv4Addr,
    device: String,
    /// The password that a receiver must send to join a publisher of this process.
    token: String,
    port: u16,
    send_buffer: usize,
    receive_buffer: usize,
    pub multicast: bool,
    pub drops: Drops,
}

/// The address of a publisher: its socket with the token for receivers, or a multicast group without a token.
pub struct Address {
    pub place: SocketAddrV4,
    pub token: String,
}

impl Address {
    pub fn parse(address: &str) -> Result<Self> {
        let (place, token) = address.split_once('/').unwrap_or((address, ""));
        let place = place.parse().context(format!("parsing the address {address}"))?;
        Ok(Self { place, token: token.to_owned() })
    }
}

impl Places {
    pub fn read(setup: &Setup) -> Result<Self> {
        Ok(Self {
            bind: setup.bind,
            advertised: setup.advertised,
            device: setup.network_device(),
            token: setup.run.clone(),
            port: setup.setting("port")?,
            send_buffer: setup.setting("send_buffer")?,
            receive_buffer: setup.setting("receive_buffer")?,
            multicast: setup.setting("multicast")?,
            drops: Drops::default(),
        })
    }

    pub fn path(&self) -> String {
        format!("UDP{} on {}", if self.multicast { " multicast" } else { "" }, self.device)
    }

    fn socket(&self) -> Result<OwnedFd> {
        let socket = datagram_socket()?;
        set_send_buffer(&socket, self.send_buffer)?;
        set_receive_buffer(&socket, self.receive_buffer)?;
        Ok(socket)
    }

    /// Opens the socket of a publisher or server. Returns the socket and its port.
    fn bind_socket(&self) -> Result<(OwnedFd, u16)> {
        let socket = self.socket()?;
        if self.multicast {
            sockopt::set_ip_multicast_if(&socket, &self.advertised).context("setting IP_MULTICAST_IF")?;
            sockopt::set_socket_reuseaddr(&socket, true).context("setting SO_REUSEADDR")?;
        }
        bind_to(&socket, SocketAddrV4::new(self.bind, self.port))?;
        let bound = getsockname(&socket).context("asking which port was bound")?;
        let bound = SocketAddrV4::try_from(bound).context("asking which port was bound")?;
        Ok((socket, bound.port()))
    }

    /// Opens a publisher's socket. Returns the socket of a publisher, its address and its multicast group, if any.
    pub fn publisher(&self) -> Result<(OwnedFd, String, Option<SocketAddrV4>)> {
        let (socket, port) = self.bind_socket()?;
        if !self.multicast {
            return Ok((socket, format!("{}:{port}/{}", self.advertised, self.token), None));
        }
        let group = SocketAddrV4::new(group_of(&self.token), port);
        Ok((socket, group.to_string(), Some(group)))
    }

    pub fn server(&self) -> Result<(Arc<OwnedFd>, String)> {
        let (socket, port) = self.bind_socket()?;
        Ok((self.watch_socket(socket), format!("{}:{port}", self.advertised)))
    }

    /// Opens the socket of a receiver or client, which accepts only datagrams from the address `place`, or to the
    /// multicast group `place`.
    pub fn connect_socket(&self, place: SocketAddrV4) -> Result<Arc<OwnedFd>> {
        let socket = self.socket()?;
        if place.ip().is_multicast() {
            sockopt::set_socket_reuseaddr(&socket, true).context("setting SO_REUSEADDR")?;
            bind_to(&socket, place)?;
            sockopt::set_ip_add_membership(&socket, place.ip(), &self.advertised).context(format!(
                "joining the group {} on {}",
                place.ip(),
                self.device
            ))?;
        } else {
            connect(&socket, &place).context(format!("connecting to {place}"))?;
        }
        Ok(self.watch_socket(socket))
    }

    fn watch_socket(&self, socket: OwnedFd) -> Arc<OwnedFd> {
        let socket = Arc::new(socket);
        self.drops.watch(&socket);
        socket
    }
}

/// Returns the multicast group of a run, in the local scope of RFC 2365.
fn group_of(run: &str) -> Ipv4Addr {
    let byte = |at: usize| run.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(0);
    Ipv4Addr::new(239, 255, byte(0), byte(2))
}

fn bind_to(socket: &OwnedFd, place: SocketAddrV4) -> Result<()> {
    bind(socket, &place).map_err(|cause: Errno| {
        Error::new(format!("binding port {} of {}", place.port(), place.ip()))
            .remedy("use port = 0, which selects a free port")
            .because(cause)
    })
}
