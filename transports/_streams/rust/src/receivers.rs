//! The receivers of a publisher, and the bytes that each of them has not yet taken.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{SendFlags, send};

use crate::attendant::Peers;

/// How long a receiver may accept no bytes while a message to it is partly sent.
const PATIENCE: Duration = Duration::from_millis(100);

/// All connected receivers.
#[derive(Default)]
pub(crate) struct Receivers {
    connected: Vec<Receiver>,
    /// The number of receivers with a backlog.
    behind: usize,
    /// The reason why no more receivers can connect; the next send reports it.
    failure: Option<Error>,
}

pub(crate) struct Receiver {
    connection: Arc<OwnedFd>,
    /// The part of a message that this receiver has not yet taken.
    backlog: Vec<u8>,
}

impl Peers for Receivers {
    type Peer = Receiver;
    type Socket = Arc<OwnedFd>;

    fn behind(&self) -> Vec<Arc<OwnedFd>> {
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
    /// Whether every receiver has taken the previous message. If no more receivers can connect, fails once with the
    /// reason.
    pub(crate) fn are_ready(&mut self) -> Result<bool> {
        self.failure.take().map_or(Ok(!self.are_behind()), Err)
    }

    pub(crate) fn are_behind(&self) -> bool {
        self.behind > 0
    }

    /// Sends one message to all receivers. If the first receiver takes nothing, sends it to no receiver and returns
    /// busy. Drops receivers that have gone.
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
    pub(crate) fn new(connection: Arc<OwnedFd>) -> Result<Self> {
        sockopt::set_socket_timeout(&connection, Timeout::Send, Some(PATIENCE)).context("setting SO_SNDTIMEO")?;
        Ok(Self { connection, backlog: Vec::new() })
    }

    pub(crate) fn is_behind(&self) -> bool {
        !self.backlog.is_empty()
    }

    /// Sends the backlog without waiting.
    pub(crate) fn flush(&mut self) -> rustix::io::Result<()> {
        let sent = send_some(&self.connection, &self.backlog, SendFlags::DONTWAIT)?;
        self.backlog.drain(..sent);
        Ok(())
    }

    /// Returns false if nothing was sent. If another receiver already has the message, or this receiver has taken a
    /// part of it, sends the rest with waits, and queues what the receiver still refuses.
    pub(crate) fn send(&mut self, message: &[u8], begun: bool) -> rustix::io::Result<bool> {
        let mut sent = send_some(&self.connection, message, SendFlags::DONTWAIT)?;
        if sent == 0 && !begun {
            return Ok(false);
        }
        if sent < message.len() {
            sent += send_some(&self.connection, &message[sent..], SendFlags::empty())?;
            self.backlog.extend_from_slice(&message[sent..]);
        }
        Ok(true)
    }
}

/// Sends as many bytes as the socket accepts. With `DONTWAIT`, returns immediately; otherwise sends until the socket
/// has accepted nothing for `PATIENCE`.
fn send_some(connection: &OwnedFd, bytes: &[u8], flags: SendFlags) -> rustix::io::Result<usize> {
    loop {
        match send(connection, bytes, flags | SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(0),
            answer => return answer,
        }
    }
}
