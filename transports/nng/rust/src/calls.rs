//! Request and reply: REQ and REP.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hopmeter_instrument::error::Context;
use hopmeter_instrument::{
    Client, Fill, Handle, Link, OnRequest, Received, Replier, Result, Sent, Server, Setup, Subscription, Take,
};
use nng::{Message, Protocol, Socket};

use crate::inbox::Inbox;
use crate::sockets::{bind, connect, frame, limit_sending, open, sent};

/// How long a reply may wait for the one before it to leave. REP forgets whom to answer when it is refused, so a reply
/// cannot be offered again.
const LONGEST_REPLY: Duration = Duration::from_millis(100);
/// How long a call that has no reply keeps a new one from being started.
const LONGEST_CALL: Duration = Duration::from_secs(1);
/// How often a served link's thread looks whether it is over.
const NAP: Duration = Duration::from_millis(50);

/// The asking end. REQ has one call under way. nng would drop it for a new one and with it a reply that is only late, so
/// a new one is busy until the reply has come, or will not come any more.
pub struct Asking {
    socket: Socket,
    inbox: Inbox,
    /// When the call under way was started.
    started: Option<Instant>,
    late: VecDeque<Message>,
}

impl Asking {
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

impl Client for Asking {
    fn start(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        if !self.is_free()? {
            return Ok(Sent::Busy);
        }
        self.inbox.abandon();
        let sent = sent(self.socket.try_send(frame(payload_bytes, fill)))?;
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
pub struct Answering {
    socket: Socket,
    inbox: Inbox,
    address: String,
}

impl Answering {
    pub fn open(setup: &Setup, link: &Link) -> Result<Self> {
        let socket = open(Protocol::Rep0)?;
        limit_sending(&socket, LONGEST_REPLY)?;
        let address = bind(&socket, setup, link)?;
        Ok(Self { inbox: Inbox::new(socket.clone(), setup.wait)?, socket, address })
    }
}

impl Server for Answering {
    fn address(&self) -> String {
        self.address.clone()
    }

    fn poll(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize> {
        let Some(message) = self.inbox.receive(timeout)? else { return Ok(0) };
        handle(Received::split(&message), &mut Replying(&self.socket));
        Ok(1)
    }

    /// nng's callbacks may not wait and a handler may, so they wake a thread of this link.
    fn serve(mut self: Box<Self>, mut on_request: OnRequest) -> Result<Box<dyn Subscription>> {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let serve = move || {
            // A socket that fails serves no more; its calls are missed then.
            while !over.load(Ordering::Relaxed) && self.poll(NAP, &mut *on_request).is_ok() {}
        };
        let thread = thread::Builder::new().name("nng serving".into()).spawn(serve).context("starting a thread")?;
        Ok(Box::new(Serving { is_over, thread: Some(thread) }))
    }
}

struct Replying<'a>(&'a Socket);

impl Replier for Replying<'_> {
    /// A reply that cannot leave in time is lost, as one to a client that is gone is.
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        sent(self.0.send(frame(payload_bytes, fill)))?;
        Ok(Sent::Accepted)
    }
}

/// A server that is called.
struct Serving {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Subscription for Serving {}

impl Drop for Serving {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Fails only where the handler panicked, which has been told by then.
            let _ = thread.join();
        }
    }
}
