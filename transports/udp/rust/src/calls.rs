//! Calls: a request and its reply are one datagram each. The server replies to the sender of the request.

use std::net::SocketAddrV4;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use hopmeter_instrument::prelude::*;

use crate::datagrams::{Draft, Inbox, send_datagram};
use crate::places::{Address, Places};

/// Sends datagrams to one peer.
struct Line<'a> {
    socket: &'a OwnedFd,
    peer: Option<SocketAddrV4>,
    draft: &'a mut Draft,
}

impl Replier for Line<'_> {
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        send_datagram(self.socket, self.draft.write(payload_bytes, fill)?, self.peer.as_ref())
    }

    /// Sends the received bytes without a copy.
    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        send_datagram(self.socket, [received.header, received.payload], self.peer.as_ref())
    }
}

pub struct UdpClient {
    inbox: Inbox,
    draft: Draft,
}

impl UdpClient {
    pub fn open(places: &Arc<Places>, link: &Link) -> Result<Self> {
        let socket = places.connect_socket(Address::parse(&link.address)?.place)?;
        Ok(Self { inbox: Inbox::new(places, socket, link), draft: Draft::new(link) })
    }

    fn line(&mut self) -> Line<'_> {
        Line { socket: &self.inbox.socket, peer: None, draft: &mut self.draft }
    }
}

impl Client for UdpClient {
    fn start(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        self.line().reply(payload_bytes, fill)
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        Replier::forward(&mut self.line(), received)
    }

    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let Some((frame, _)) = self.inbox.receive(timeout)? else { return Ok(0) };
        take(Received::split(frame));
        Ok(1)
    }
}

pub struct UdpServer {
    inbox: Inbox,
    address: String,
    draft: Draft,
}

impl UdpServer {
    pub fn open(places: &Arc<Places>, link: &Link) -> Result<Self> {
        let (socket, address) = places.server()?;
        Ok(Self { inbox: Inbox::new(places, socket, link), address, draft: Draft::new(link) })
    }
}

impl Server for UdpServer {
    fn address(&self) -> String {
        self.address.clone()
    }

    fn poll(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize> {
        let socket = self.inbox.socket.clone();
        let Some((request, sender)) = self.inbox.receive(timeout)? else { return Ok(0) };
        let Some(Ok(peer)) = sender.map(SocketAddrV4::try_from) else { return Ok(0) };
        let mut line = Line { socket: &socket, peer: Some(peer), draft: &mut self.draft };
        handle(Received::split(request), &mut line);
        Ok(1)
    }
}
