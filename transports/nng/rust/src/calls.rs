//! The client and the server of an rpc link, with nng's protocols REQ and REP.

use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};

use hopmeter_instrument::prelude::*;
use nng::options::{Options, SendTimeout};
use nng::{Message, Protocol, Socket};

use crate::inbox::Inbox;
use crate::sockets::{bind, connect, frame, open, send_outcome};

/// How long the server waits to send a reply while the previous reply is still being sent. If a REP socket refuses a
/// reply, it also forgets the client, so the server cannot send the reply later.
const LONGEST_REPLY: Duration = Duration::from_millis(100);
/// How long an unanswered call prevents a new call.
const LONGEST_CALL: Duration = Duration::from_secs(1);

/// The client of an rpc link. A REQ socket supports only one call at a time, because a new call makes nng drop the
/// current call. A new call is busy until the reply to the current call has arrived or the current call has timed out.
pub struct CallClient {
    socket: Socket,
    inbox: Inbox,
    /// When the current call started, or `None` if no call is in progress.
    started: Option<Instant>,
    late: VecDeque<Message>,
}

impl CallClient {
    pub fn open(link: &Link) -> Result<Self> {
        let socket = open(Protocol::Req0, link)?;
        connect(&socket, link)?;
        Ok(Self { inbox: Inbox::new(socket.clone(), link.wait)?, socket, started: None, late: VecDeque::new() })
    }

    /// Whether a new call may start. This is the case if there is no current call, if its reply is already stored, or
    /// if it has timed out.
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
        // nng reports an error if a receive starts without a current call.
        if !self.inbox.spins {
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

/// The server of an rpc link.
pub struct CallServer {
    socket: Socket,
    inbox: Inbox,
    address: String,
}

impl CallServer {
    pub fn open(setup: &Setup, link: &Link) -> Result<Self> {
        let socket = open(Protocol::Rep0, link)?;
        socket.set_opt::<SendTimeout>(Some(LONGEST_REPLY)).context("limiting replies")?;
        let address = bind(&socket, setup, link)?;
        Ok(Self { inbox: Inbox::new(socket.clone(), link.wait)?, socket, address })
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

    /// A separate thread per link polls and calls the handler, because a handler may wait, but nng's callbacks must
    /// not.
    fn serve(self: Box<Self>, on_request: OnRequest) -> Result<Box<dyn Subscription>> {
        serve_by_polling(self, on_request)
    }
}

struct CallReplier<'a>(&'a Socket);

impl Replier for CallReplier<'_> {
    /// A reply that cannot be sent before the timeout is lost, like a reply to a disconnected client.
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        send_outcome(self.0.send(frame(payload_bytes, fill)))?;
        Ok(Sent::Accepted)
    }
}
