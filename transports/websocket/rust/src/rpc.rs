//! Calls: a request and a reply are one WebSocket message each; both use the client's connection.

use std::time::Duration;

use bytes::Bytes;
use hopmeter_instrument::prelude::*;
use hopmeter_streams::waiting::wait_ready;
use rustix::event::PollFd;

use crate::acceptor::Acceptor;
use crate::connection::{Connection, Outgoing};
use crate::topics::receive;

pub struct CallClient {
    pub connection: Connection,
    pub outgoing: Outgoing,
    pub spins: bool,
}

impl Client for CallClient {
    fn start(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        send(&mut self.connection, &mut self.outgoing, payload_bytes, fill)
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        let Some(request) = received.native_as::<Bytes>() else {
            return copy_on(received, |payload_bytes, fill| self.start(payload_bytes, fill));
        };
        if is_behind(&mut self.connection)? {
            return Ok(Sent::Busy);
        }
        self.connection.send(request.clone())?;
        Ok(Sent::Accepted)
    }

    /// First sends the remaining bytes of a partly sent request. The role waits for the reply in `poll`, so no other
    /// method can send these bytes.
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let mut left = timeout;
        if self.connection.behind {
            let patience = if self.spins { Duration::ZERO } else { timeout };
            wait_ready(&mut [self.connection.interest()], patience)?;
            self.connection.flush()?;
            left = Duration::ZERO;
        }
        receive(&mut self.connection, self.spins, left, take)
    }
}

pub struct CallServer {
    pub acceptor: Acceptor,
    pub clients: Vec<Connection>,
    pub outgoing: Outgoing,
    pub spins: bool,
}

impl CallServer {
    /// Sleeps until a client connects, sends a request or accepts more of its reply.
    fn wait(&mut self, timeout: Duration) -> Result<()> {
        let mut places: Vec<PollFd<'_>> = self.clients.iter().map(Connection::interest).collect();
        places.push(self.acceptor.arrival());
        wait_ready(&mut places, timeout)?;
        let came = !places[self.clients.len()].revents().is_empty();
        let ready: Vec<bool> = places.iter().map(|place| !place.revents().is_empty()).collect();
        for (client, _) in self.clients.iter_mut().zip(ready).filter(|(_, ready)| *ready) {
            client.look_again();
        }
        if came {
            self.clients.append(&mut self.acceptor.take());
        }
        Ok(())
    }
}

impl Server for CallServer {
    fn address(&self) -> String {
        self.acceptor.address.clone()
    }

    fn poll(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize> {
        if !self.clients.iter().any(Connection::may_have_more) {
            self.wait(if self.spins { Duration::ZERO } else { timeout })?;
        }
        let (clients, outgoing) = (&mut self.clients, &mut self.outgoing);
        let mut requests = 0;
        for client in clients.iter_mut() {
            if client.behind {
                client.flush()?;
            }
            if !client.may_have_more() {
                continue;
            }
            if let Some(request) = client.receive(None)? {
                handle(Received::split(&request).with_native(&request), &mut CallReplier { client, outgoing });
                requests += 1;
            }
        }
        clients.retain(|client| !client.ended);
        Ok(requests)
    }
}

struct CallReplier<'a> {
    client: &'a mut Connection,
    outgoing: &'a mut Outgoing,
}

impl Replier for CallReplier<'_> {
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        send(self.client, self.outgoing, payload_bytes, fill)
    }
}

fn send(connection: &mut Connection, outgoing: &mut Outgoing, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
    if is_behind(connection)? {
        return Ok(Sent::Busy);
    }
    outgoing.fill(payload_bytes, fill, |message| connection.send(message.clone()))?;
    Ok(Sent::Accepted)
}

/// Whether an earlier message is still incomplete after another attempt to send its remaining bytes.
fn is_behind(connection: &mut Connection) -> Result<bool> {
    if connection.behind {
        connection.flush()?;
    }
    Ok(connection.behind)
}
