//! Request and reply: REQ and REP.

use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};

use hopmeter_instrument::prelude::*;
use nng::{Message, Protocol, Socket};

use crate::inbox::Inbox;
use crate::sockets::{bind, connect, frame, limit_sending, open, send_outcome};

/// How long a reply may wait for the one before it to leave. REP forgets whom to answer when it is refused, so a reply
/// cannot be offered again.
const LONGEST_REPLY: Duration = Duration::from_millis(100);
/// How long a call that has no reply keeps a new one from being started.
const LONGEST_CALL: Duration = Duration::from_secs(1);

/// The asking end. REQ has one call under way. nng would drop it for a new one and with it a reply that is only late, so
/// a new one is busy until the reply has come, or will not come any more.
pub struct CallClient {
    socket: Socket,
    inbox: Inbox,
    /// When the call under way was started.
    started: Option<Instant>,
    late: VecDeque<Message>,
}

impl CallClient {
    pub fn open(setup: &Setup, link: &Link) -> Result<Self> {
        let socket = open(Protocol::Req0)?;
        connect(&socket, link)?;
        Ok(Self { inbox: Inbox::new(socket.clone(), setup.wait)?, socket, started: None, late: VecDeque::new() })
    }

    /// Whether a new call may be started: none is under way, or its reply has come and is put aside, or it has been
    /// waited for long enough.
    fn is_free(&mut self) -> Result<bool> {
        let Some(started) = self.started else { return Ok(true) };
        let reply = self.inbox.receive(Duration::ZERO)?;
        let has_come = reply.is_some();
        self.late.extend(reply);
        Ok(has_come || started.elapsed() >= LONGEST_CALL)
    }

    fn next(&mut self, timeout: Duration) -> Result<Option<Message>> {
        if let Some(reply) = self.late.pop_front() {
            return Ok(Some(reply));
        }
        if self.started.is_some() {
            let reply = self.inbox.receive(timeout)?;
            self.started = self.started.filter(|_| reply.is_none());
            return Ok(reply);
        }
        // nng takes it for a mistake to receive without a call.
        if !self.inbox.spins() {
            thread::sleep(timeout);
        }
        Ok(None)
    }
}

impl Client for CallClient {
    fn start(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        if !self.is_free()? {
            return Ok(Sent::Busy);
        }
        self.inbox.abandon();
        let sent = send_outcome(self.socket.try_send(frame(payload_bytes, fill)))?;
        self.started = (sent == Sent::Accepted).then(Instant::now);
        Ok(sent)
    }

    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let Some(message) = self.next(timeout)? else { return Ok(0) };
        take(Received::split(&message));
        Ok(1)
    }
}

/// The answering end.
pub struct CallServer {
    socket: Socket,
    inbox: Inbox,
    address: String,
}

impl CallServer {
    pub fn open(setup: &Setup, link: &Link) -> Result<Self> {
        let socket = open(Protocol::Rep0)?;
        limit_sending(&socket, LONGEST_REPLY)?;
        let address = bind(&socket, setup, link)?;
        Ok(Self { inbox: Inbox::new(socket.clone(), setup.wait)?, socket, address })
    }
}

impl Server for CallServer {
    fn address(&self) -> String {
        self.address.clone()
    }

    fn poll(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize> {
        let Some(message) = self.inbox.receive(timeout)? else { return Ok(0) };
        handle(Received::split(&message), &mut CallReplier(&self.socket));
        Ok(1)
    }

    /// nng's callbacks may not wait and a handler may, so they wake a thread of this link.
    fn serve(self: Box<Self>, on_request: OnRequest) -> Result<Box<dyn Subscription>> {
        serve_by_polling(self, on_request)
    }
}

struct CallReplier<'a>(&'a Socket);

impl Replier for CallReplier<'_> {
    /// A reply that cannot leave in time is lost, as one to a client that is gone is.
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        send_outcome(self.0.send(frame(payload_bytes, fill)))?;
        Ok(Sent::Accepted)
    }
}
