//! Accepts connections for a publisher or a server, on a thread that also sends the unsent bytes of slow peers.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::MutexGuard;

use hopmeter_instrument::prelude::*;
use hopmeter_streams::Listener;
use hopmeter_streams::attendant::{Attendant, Peers, event, silence};
use hopmeter_streams::endpoint::SocketFile;
use rustix::event::{PollFd, PollFlags};

use crate::connection::{Connection, Limits};
use crate::stream::Encryption;

/// The accepted connections that the link end has not yet taken.
pub struct Guests {
    pub connections: Vec<Connection>,
    /// An event that becomes readable when the thread has accepted a connection.
    arrival: OwnedFd,
}

impl Peers for Guests {
    type Peer = Connection;
    type Socket = OwnedFd;

    fn behind(&self) -> Vec<OwnedFd> {
        let behind = self.connections.iter().filter(|connection| connection.behind);
        behind.filter_map(|connection| rustix::io::dup(connection.as_fd()).ok()).collect()
    }

    fn flush(&mut self) {
        self.connections.retain_mut(|connection| !connection.behind || connection.flush().is_ok() && !connection.ended);
    }

    fn admit(&mut self, connection: Connection) {
        self.connections.push(connection);
        let _ = rustix::io::write(&self.arrival, &1_u64.to_ne_bytes()); // fails only if the event is already readable
    }

    fn fail(&mut self, failure: Error) {
        eprintln!("no more connections are accepted: {failure}");
    }
}

pub struct Acceptor {
    pub address: String,
    /// The event that the list of guests also contains.
    arrival: OwnedFd,
    attendant: Attendant<Guests>,
    _file: Option<SocketFile>,
}

impl Acceptor {
    pub fn open(listener: Listener, limits: Limits, encryption: Encryption) -> Result<Self> {
        let Listener { socket, address, file } = listener;
        let arrival = event()?;
        let own = rustix::io::dup(&arrival).context("duplicating an eventfd")?;
        let guests = Guests { connections: Vec::new(), arrival: own };
        // Disconnects a peer that fails the handshake.
        let greet = move |socket| {
            let stream = encryption.server_stream(socket);
            Ok(stream.and_then(|stream| Connection::accept(stream, limits)).ok())
        };
        Ok(Self { address, arrival, attendant: Attendant::start(socket, guests, greet)?, _file: file })
    }

    pub fn guests(&self) -> MutexGuard<'_, Guests> {
        self.attendant.peers()
    }

    /// Returns the event that becomes readable when a connection has been accepted.
    pub fn arrival(&self) -> PollFd<'_> {
        PollFd::new(&self.arrival, PollFlags::IN)
    }

    /// Removes and returns the accepted connections, including their unsent bytes.
    pub fn take(&self) -> Vec<Connection> {
        silence(&self.arrival);
        std::mem::take(&mut self.guests().connections)
    }

    /// Makes the thread send the backlog of slow peers.
    pub fn wake(&self) -> Result<()> {
        self.attendant.wake()
    }
}
