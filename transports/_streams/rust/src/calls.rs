//! Calls: requests and replies on one connection per client, as in a program without a middleware.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use rustix::event::{PollFd, PollFlags};

use crate::Family;
use crate::connection::Connection;
use crate::line::Line;
use crate::subscriber::StreamSubscriber;
use crate::waiting::wait_ready;

/// While a server handles requests, it accepts new clients only once in this many polls.
const POLLS_PER_LOOK: u64 = 256;
/// The longest time that a link end with unsent bytes waits before it tries to send them again.
const SOON: Duration = Duration::from_millis(1);

fn shorten_while_behind(caught_up: bool, timeout: Duration) -> Duration {
    if caught_up { timeout } else { timeout.min(SOON) }
}

/// The client of an rpc link.
pub(crate) struct StreamClient {
    requests: Line,
    replies: StreamSubscriber,
}

impl StreamClient {
    pub(crate) fn new(connection: OwnedFd, link: &Link) -> Result<Self> {
        let connection = Arc::new(Connection::new(connection, false));
        let requests = Line::new(connection.clone(), link.frame_bytes)?;
        Ok(Self { requests, replies: StreamSubscriber::new(connection, link.wait, link.frame_bytes) })
    }
}

impl Client for StreamClient {
    fn start(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        self.requests.send(payload_bytes, fill)
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        self.requests.forward(received)
    }

    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        self.replies.poll(shorten_while_behind(self.requests.catch_up(), timeout), take)
    }
}

/// The server's connection to one client. `line` sends the replies to the client's requests.
struct Caller {
    requests: StreamSubscriber,
    replies: Line,
}

impl Replier for Line {
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        self.send(payload_bytes, fill)
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        Self::forward(self, received)
    }
}

impl Caller {
    /// Handles the requests that a single `recv` returns.
    fn answer(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize> {
        let replies = &mut self.replies;
        self.requests.receive_some(timeout, &mut |request| handle(request, &mut *replies))
    }
}

/// The server of an rpc link. A server with one client waits in `recv`; a server with several clients waits in `poll`.
pub(crate) struct StreamServer<F: Family> {
    family: Arc<F>,
    listener: OwnedFd,
    address: String,
    callers: Vec<Caller>,
    wait: Wait,
    frame_bytes: usize,
    polls: u64,
}

impl<F: Family> StreamServer<F> {
    pub(crate) fn open(family: Arc<F>, link: &Link) -> Result<Self> {
        let (listener, address) = family.listen(link)?;
        rustix::io::ioctl_fionbio(&listener, true).context("making the listening socket nonblocking")?;
        let Link { wait, frame_bytes, .. } = *link;
        Ok(Self { family, listener, address, callers: Vec::new(), wait, frame_bytes, polls: 0 })
    }

    fn admit_all(&mut self) -> Result<()> {
        while let Some(connection) = self.family.accept(&self.listener)? {
            let connection = Arc::new(Connection::new(connection, false));
            let replies = Line::new(connection.clone(), self.frame_bytes)?;
            let requests = StreamSubscriber::new(connection, self.wait, self.frame_bytes);
            self.callers.push(Caller { requests, replies });
        }
        Ok(())
    }

    /// Sleeps until a client sends a request, a new client connects, or the timeout passes.
    fn sleep(&self, timeout: Duration) -> Result<()> {
        let mut places = vec![PollFd::new(&self.listener, PollFlags::IN)];
        places.extend(self.callers.iter().map(|caller| PollFd::new(caller.requests.connection(), PollFlags::IN)));
        wait_ready(&mut places, timeout).map(drop)
    }

    fn answer_all(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize> {
        let mut requests = 0;
        for caller in &mut self.callers {
            requests += caller.answer(timeout, &mut *handle)?;
        }
        self.callers.retain(|caller| !caller.requests.is_gone());
        Ok(requests)
    }
}

impl<F: Family> Server for StreamServer<F> {
    fn address(&self) -> String {
        self.address.clone()
    }

    fn poll(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize> {
        let kept_up = self.callers.iter_mut().all(|caller| caller.replies.catch_up());
        let timeout = shorten_while_behind(kept_up, timeout);
        let in_recv = if self.callers.len() == 1 { timeout } else { Duration::ZERO };
        if self.wait == Wait::Block && in_recv != timeout {
            self.sleep(timeout)?;
        }
        let requests = self.answer_all(in_recv, handle)?;
        self.polls += 1;
        // A server that waits in `recv` accepts new clients only here: after each empty poll, and at intervals.
        let idle = requests == 0 && self.wait == Wait::Block;
        if idle || self.callers.is_empty() || self.polls % POLLS_PER_LOOK == 0 {
            self.admit_all()?;
        }
        Ok(requests)
    }
}

impl<F: Family> Drop for StreamServer<F> {
    fn drop(&mut self) {
        self.family.remove(&self.address);
    }
}
