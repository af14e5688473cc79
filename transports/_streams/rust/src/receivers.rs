//! The receivers of a publisher, each with its unsent bytes.

use std::sync::Arc;

use hopmeter_instrument::prelude::*;

use crate::attendant::Peers;
use crate::connection::Connection;

/// All connected receivers.
#[derive(Default)]
pub(crate) struct Receivers {
    connected: Vec<Receiver>,
    /// The number of receivers with a backlog.
    behind: usize,
    /// The reason why no more receivers can connect, which the next send reports.
    failure: Option<Error>,
}

pub(crate) struct Receiver {
    connection: Arc<Connection>,
    /// The unsent part of a message to this receiver.
    backlog: Vec<u8>,
}

impl Peers for Receivers {
    type Peer = Receiver;
    type Socket = Arc<Connection>;

    fn behind(&self) -> Vec<Arc<Connection>> {
        let behind = self.connected.iter().filter(|receiver| receiver.is_behind());
        behind.map(|receiver| receiver.connection.clone()).collect()
    }

    fn flush(&mut self) {
        self.connected.retain_mut(|receiver| !receiver.is_behind() || receiver.flush().is_ok());
        self.count();
    }

    fn admit(&mut self, receiver: Receiver) {
        self.connected.push(receiver);
    }

    fn fail(&mut self, failure: Error) {
        self.failure = Some(failure);
    }
}

impl Receivers {
    /// Whether every receiver has accepted the previous message. Fails once if no more receivers can connect.
    pub(crate) fn are_ready(&mut self) -> Result<bool> {
        self.failure.take().map_or(Ok(!self.are_behind()), Err)
    }

    pub(crate) fn are_behind(&self) -> bool {
        self.behind > 0
    }

    /// Sends one message to all receivers, or returns busy if the first receiver accepts no bytes. Drops disconnected
    /// receivers.
    pub(crate) fn send(&mut self, message: &[u8]) -> Sent {
        let (mut begun, mut busy) = (false, false);
        self.connected.retain_mut(|receiver| {
            if busy {
                return true;
            }
            let answer = receiver.send(message, begun);
            busy = answer == Ok(false);
            begun |= answer == Ok(true);
            answer.is_ok()
        });
        self.count();
        if busy {
            return Sent::Busy;
        }
        Sent::Accepted
    }

    fn count(&mut self) {
        self.behind = self.connected.iter().filter(|receiver| receiver.is_behind()).count();
    }
}

impl Receiver {
    pub(crate) fn new(connection: Arc<Connection>) -> Result<Self> {
        connection.set_patience()?;
        Ok(Self { connection, backlog: Vec::new() })
    }

    pub(crate) fn is_behind(&self) -> bool {
        !self.backlog.is_empty()
    }

    /// Sends the backlog without waiting.
    pub(crate) fn flush(&mut self) -> rustix::io::Result<()> {
        let sent = self.connection.send(&self.backlog, false)?;
        self.backlog.drain(..sent);
        Ok(())
    }

    /// Sends a message, and returns false if the receiver accepted nothing. If a receiver has accepted only a part of
    /// the message, waits to send the rest, and queues the bytes that the receiver still refuses.
    pub(crate) fn send(&mut self, message: &[u8], begun: bool) -> rustix::io::Result<bool> {
        let mut sent = self.connection.send(message, false)?;
        if sent == 0 && !begun {
            return Ok(false);
        }
        if sent < message.len() {
            sent += self.connection.send(&message[sent..], true)?;
            self.backlog.extend_from_slice(&message[sent..]);
        }
        Ok(true)
    }
}
