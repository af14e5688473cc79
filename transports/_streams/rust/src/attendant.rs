//! The thread of a binding end, which accepts peers and sends the unsent bytes of slow peers. The binding end itself
//! sends all bytes that its peers accept at once.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use hopmeter_instrument::prelude::*;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;

use crate::options::accept_on;

/// The peers that are connected to a binding end.
pub trait Peers: Send + 'static {
    type Peer;
    type Socket: AsFd;

    /// Returns the sockets of the peers that have a backlog of unsent bytes. A returned socket stays open even after
    /// the caller has unlocked the peers.
    fn behind(&self) -> Vec<Self::Socket>;

    /// Sends the peers' backlogs without waiting.
    fn flush(&mut self);

    fn admit(&mut self, peer: Self::Peer);

    /// Records that the thread has stopped, so no more peers can connect.
    fn fail(&mut self, failure: Error);
}

pub struct Attendant<P: Peers> {
    peers: Arc<Mutex<P>>,
    signal: Arc<Signal>,
    thread: Option<JoinHandle<()>>,
}

/// The event with which the binding end wakes its attendant thread.
struct Signal {
    event: OwnedFd,
    stops: AtomicBool,
}

impl Signal {
    fn raise(&self) -> Result<()> {
        rustix::io::write(&self.event, &1_u64.to_ne_bytes()).context("waking the thread that accepts peers")?;
        Ok(())
    }
}

impl<P: Peers> Attendant<P> {
    /// Starts the thread. `greet` creates a peer from an accepted connection, or returns `None` to close the
    /// connection.
    pub fn start(
        listener: OwnedFd,
        peers: P,
        greet: impl Fn(OwnedFd) -> Result<Option<P::Peer>> + Send + 'static,
    ) -> Result<Self> {
        Self::start_with(listener, peers, move |listener| accept_on(listener)?.map(&greet).transpose())
    }

    /// Starts the thread. `accept` returns the next peer, or `None` if no peer waits. If `accept` returns `Some(None)`,
    /// the peer was refused.
    pub(crate) fn start_with(
        listener: OwnedFd,
        peers: P,
        accept: impl Fn(&OwnedFd) -> Result<Option<Option<P::Peer>>> + Send + 'static,
    ) -> Result<Self> {
        let event = event()?;
        rustix::io::ioctl_fionbio(&listener, true).context("making the listening socket nonblocking")?;
        let (peers, signal) = (Arc::new(Mutex::new(peers)), Arc::new(Signal { event, stops: AtomicBool::new(false) }));
        let duty = Duty { listener, peers: peers.clone(), signal: signal.clone(), accept };
        let thread = std::thread::Builder::new().name("attendant".into()).spawn(move || duty.attend());
        Ok(Self { peers, signal, thread: Some(thread.context("starting a thread to accept peers")?) })
    }

    #[inline]
    pub fn peers(&self) -> MutexGuard<'_, P> {
        lock(&self.peers)
    }

    /// Makes the thread send the backlog of slow peers.
    pub fn wake(&self) -> Result<()> {
        self.signal.raise()
    }
}

impl<P: Peers> Drop for Attendant<P> {
    fn drop(&mut self) {
        self.signal.stops.store(true, Ordering::Release);
        if self.signal.raise().is_ok() {
            // The thread stops only on request, so its result carries no information.
            let _ = self.thread.take().map(JoinHandle::join);
        }
    }
}

struct Duty<P, A> {
    listener: OwnedFd,
    peers: Arc<Mutex<P>>,
    signal: Arc<Signal>,
    accept: A,
}

impl<P: Peers, A: Fn(&OwnedFd) -> Result<Option<Option<P::Peer>>>> Duty<P, A> {
    fn attend(&self) {
        while !self.signal.stops.load(Ordering::Acquire) {
            if let Err(failure) = self.sleep().and_then(|()| self.admit_all()) {
                lock(&self.peers).fail(failure);
                return;
            }
            lock(&self.peers).flush();
        }
    }

    /// Waits until a peer connects, a slow peer can accept more, or the binding end wakes the thread.
    fn sleep(&self) -> Result<()> {
        let behind = lock(&self.peers).behind();
        let mut places =
            vec![PollFd::new(&self.signal.event, PollFlags::IN), PollFd::new(&self.listener, PollFlags::IN)];
        places.extend(behind.iter().map(|socket| PollFd::new(socket, PollFlags::OUT)));
        match poll(&mut places, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(cause) => return Err(cause).context("waiting for peers"),
        }
        silence(&self.signal.event);
        Ok(())
    }

    fn admit_all(&self) -> Result<()> {
        while let Some(peer) = (self.accept)(&self.listener)? {
            peer.into_iter().for_each(|peer| lock(&self.peers).admit(peer));
        }
        Ok(())
    }
}

/// Creates a non-blocking eventfd.
pub fn event() -> Result<OwnedFd> {
    eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).context("making an eventfd")
}

/// Resets an event, if it is set.
pub fn silence(event: &OwnedFd) {
    let _ = rustix::io::read(event, &mut [0; 8]);
}
