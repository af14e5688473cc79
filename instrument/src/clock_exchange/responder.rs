//! The responding side of the clock exchange: a thread that sleeps until a request of its run arrives.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};

use super::limit::Limit;
use super::packet::{Kind, NO_STAMP, Packet, Token};
use super::stamped_socket::{Datagram, Stamp, StampedSocket};
use super::{Clock, host_clock};
use crate::clock;
use crate::error::{Context, Result};

/// A responder's counts since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    pub answered: u64,
    /// Datagrams that are not requests of this run.
    pub ignored: u64,
    /// The number of times that the thread woke up. An idle responder sleeps.
    pub wakes: u64,
}

#[derive(Default)]
struct Counters {
    answered: AtomicU64,
    ignored: AtomicU64,
    wakes: AtomicU64,
}

/// Answers the requests of one run until this value is dropped.
pub struct Responder {
    address: SocketAddr,
    counters: Arc<Counters>,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Responder {
    /// Starts the thread. If the port is 0, the operating system chooses a free port.
    ///
    /// # Errors
    ///
    /// Fails if the address cannot be bound, or if the thread cannot be started.
    pub fn start(address: SocketAddr, token: Token) -> Result<Self> {
        Self::with_clock(address, token, host_clock)
    }

    /// Like [`Self::start`], but with a different clock from the host's, for tests.
    ///
    /// # Errors
    ///
    /// Fails like [`Self::start`].
    pub fn with_clock(address: SocketAddr, token: Token, clock: Clock) -> Result<Self> {
        let socket = StampedSocket::bind(address, clock)?;
        let address = socket.socket.local_addr().context("reading the address of the clock exchange")?;
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).context("creating an event")?);
        let counters = Arc::<Counters>::default();
        let mut desk = Desk { socket, token, limit: Limit::new(), last: None, counters: counters.clone() };
        let stopped = stop.clone();
        let thread = std::thread::Builder::new()
            .name("clock-responder".into())
            .spawn(move || desk.serve(&stopped))
            .context("starting the thread of the clock exchange")?;
        Ok(Self { address, counters, stop, thread: Some(thread) })
    }

    /// Returns the address that the responder listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn counts(&self) -> Counts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            answered: of(&self.counters.answered),
            ignored: of(&self.counters.ignored),
            wakes: of(&self.counters.wakes),
        }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        // Writing to an eventfd fails only if its counter is full, and the thread is then already awake.
        let _ = rustix::io::write(&*self.stop, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has also ended, so the result of `join` does not matter here.
            let _ = thread.join();
        }
    }
}

/// The last reply: its receiver, the number of its request, its number among the socket's datagrams, and its timestamp.
struct Last {
    asker: SocketAddr,
    request: u64,
    sent: u32,
    stamp: Option<Stamp>,
}

struct Desk {
    socket: StampedSocket,
    token: Token,
    limit: Limit,
    last: Option<Last>,
    counters: Arc<Counters>,
}

impl Desk {
    fn serve(&mut self, stop: &OwnedFd) {
        while self.wait(stop) {
            count(&self.counters.wakes);
            match self.socket.receive() {
                Ok((datagram, asker)) => self.handle(&datagram, asker),
                Err(failure) if failure.kind() == io::ErrorKind::WouldBlock => (),
                Err(_) => self.rest(), // a reply could not be delivered
            }
        }
    }

    /// Waits for a datagram, and collects the kernel timestamp of the last reply. Returns false when the responder is
    /// stopped.
    fn wait(&mut self, stop: &OwnedFd) -> bool {
        let mut ends = [PollFd::new(&self.socket.socket, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
        let seen = poll(&mut ends, None).map(|_| (ends[0].revents(), ends[1].revents()));
        match seen {
            Ok((socket, stop)) => {
                if socket.contains(PollFlags::ERR) {
                    self.take_stamp();
                }
                stop.is_empty()
            }
            Err(failure) => failure == rustix::io::Errno::INTR,
        }
    }

    fn take_stamp(&mut self) {
        let number = self.last.as_ref().map_or(0, |last| last.sent);
        let stamp = self.socket.sent_stamp(number);
        if let Some(last) = &mut self.last {
            last.stamp = last.stamp.or(stamp);
        }
    }

    fn handle(&mut self, datagram: &Datagram, asker: Option<SocketAddr>) {
        match (Packet::decode(datagram.content(), Kind::Request, &self.token), asker) {
            (Some(request), Some(asker)) => self.answer(request, datagram.stamp, asker),
            _ => count(&self.counters.ignored),
        }
        self.rest();
    }

    /// Sleeps as long as the rate limit requires. During the sleep, the kernel drops datagrams that do not fit into the
    /// socket's queue.
    fn rest(&mut self) {
        let now_ns = clock::now_ns();
        let free_ns = self.limit.count(now_ns);
        if free_ns > now_ns {
            clock::sleep_until(free_ns);
        }
    }

    fn answer(&mut self, request: Packet, arrival: Stamp, asker: SocketAddr) {
        let follows = |last: &&Last| last.asker == asker && last.request.wrapping_add(1) == request.number;
        let previous = self.last.as_ref().filter(follows).and_then(|last| last.stamp);
        let reply = Packet {
            kind: Kind::Reply,
            received_ns: arrival.ns,
            previous_sent_ns: previous.map_or(NO_STAMP, |stamp| stamp.ns),
            error_ns: arrival.error_ns.max(previous.map_or(0, |stamp| stamp.error_ns)),
            is_kernel_stamp: arrival.is_kernel,
            sent_ns: self.socket.now_ns(),
            ..request
        };
        if self.socket.socket.send_to(&reply.encode(), asker).is_ok() {
            self.last = Some(Last { asker, request: request.number, sent: self.socket.count_sent(), stamp: None });
            count(&self.counters.answered);
            self.take_stamp();
        }
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
