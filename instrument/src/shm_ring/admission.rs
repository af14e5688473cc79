//! Runs on an otherwise idle thread of the producer's process, admits consumers, and detects when consumers leave or
//! die.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::prelude::*;
use rustix::event::{self, EventfdFlags, PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{self, SocketFlags};

use super::handshake::{self, Reply, Request};
use super::producer::WhenFull;
use super::registry::Registry;
use super::segment::Segment;

/// The maximum number of connections without a seat. A connection without a seat has not requested a seat yet, or its
/// request was refused but the connection is still open. Further connections wait in the kernel's queue.
const MAX_CONNECTIONS: usize = 128;

/// The running admission thread. Dropping an `Admission` ends its thread.
pub struct Admission {
    address: String,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Admission {
    pub fn open(link: &str, segment: Arc<Segment>, registry: Arc<Registry>, when_full: WhenFull) -> Result<Self> {
        let (listener, address) = handshake::listen()?;
        let stop = Arc::new(event::eventfd(0, EventfdFlags::CLOEXEC).context("making an eventfd")?);
        let desk = Desk { link: link.to_owned(), segment, registry, when_full, listener, guests: Vec::new() };
        let signal = stop.clone();
        let thread = std::thread::Builder::new()
            .name("shm-admission".into())
            .spawn(move || desk.attend(&signal))
            .context("starting the thread that admits consumers")?;
        Ok(Self { address, stop, thread: Some(thread) })
    }

    pub fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        // Writing to the eventfd tells the thread to exit. The first write to an eventfd always succeeds.
        let _ = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, its message is in the log, and nothing else can be done here.
            let _ = thread.join();
        }
    }
}

/// A connection of a consumer that either has a seat or has not requested one yet.
struct Guest {
    connection: OwnedFd,
    /// A descriptor that becomes readable when the consumer's process dies.
    process: Option<OwnedFd>,
    seat: Option<usize>,
}

/// The socket through which consumers request admission, and the consumers that are connected to this socket.
struct Desk {
    link: String,
    segment: Arc<Segment>,
    registry: Arc<Registry>,
    when_full: WhenFull,
    listener: OwnedFd,
    guests: Vec<Guest>,
}

/// The result of one wait: whether to stop, whether a connection is pending, and which guests sent bytes, closed or
/// died.
struct Events {
    stop: bool,
    arrival: bool,
    spoke: Vec<bool>,
}

impl Desk {
    fn attend(mut self, stop: &OwnedFd) {
        loop {
            match self.wait(stop) {
                Ok(events) if events.stop => return,
                Ok(events) => self.handle(&events),
                Err(Errno::INTR) => {}
                // If waiting fails, no consumer is admitted and no death is noticed from here on. Consumers that are
                // already connected continue to work.
                Err(cause) => return eprintln!("shm: link {}: waiting for consumers failed: {cause}", self.link),
            }
        }
    }

    fn wait(&self, stop: &OwnedFd) -> rustix::io::Result<Events> {
        let room = self.guests.len() < MAX_CONNECTIONS;
        let listening = if room { PollFlags::IN } else { PollFlags::empty() };
        let mut fds = vec![PollFd::new(stop, PollFlags::IN), PollFd::new(&self.listener, listening)];
        for guest in &self.guests {
            let process = guest.process.as_ref().unwrap_or(&guest.connection);
            fds.extend([&guest.connection, process].map(|fd| PollFd::new(fd, PollFlags::IN)));
        }
        event::poll(&mut fds, None)?;
        let happened: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let spoke = happened[2..].chunks(2).map(|either| either[0] || either[1]).collect();
        Ok(Events { stop: happened[0], arrival: happened[1], spoke })
    }

    fn handle(&mut self, events: &Events) {
        let mut spoke = events.spoke.iter();
        let guests = std::mem::take(&mut self.guests);
        self.guests = guests
            .into_iter()
            .filter_map(|guest| if spoke.next() == Some(&true) { self.read_request(guest) } else { Some(guest) })
            .collect();
        if events.arrival {
            self.accept_guests();
        }
    }

    fn accept_guests(&mut self) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        // A connection that was closed before it was accepted needs no handling.
        if let Ok(connection) = net::accept_with(&self.listener, flags) {
            self.guests.push(Guest { connection, process: None, seat: None });
        }
    }

    /// Handles a readable connection. A guest with a seat never sends anything, so a readable connection means that the
    /// guest has left or died. A guest without a seat sends a request for a seat.
    fn read_request(&self, guest: Guest) -> Option<Guest> {
        match guest.seat {
            Some(seat) => {
                self.registry.vacate(seat);
                None
            }
            None => self.admit(guest),
        }
    }

    fn admit(&self, guest: Guest) -> Option<Guest> {
        let (bytes, process) =
            handshake::receive(guest.connection.as_fd()).ok().filter(|(bytes, _)| !bytes.is_empty())?;
        match self.check(&guest, &bytes).and_then(|request| self.seat(&request)) {
            Ok(seat) => self.send_memory(Guest { process, seat: Some(seat), ..guest }, seat),
            Err(error) => {
                let refusal = Reply::Refused(error.to_string()).encode();
                // The guest may have closed the connection without waiting for the answer.
                let _ = handshake::send(guest.connection.as_fd(), &refusal, None);
                None
            }
        }
    }

    fn check(&self, guest: &Guest, bytes: &[u8]) -> Result<Request> {
        handshake::check_user(guest.connection.as_fd())?;
        let request = Request::decode(bytes)?;
        if request.link == self.link {
            return Ok(request);
        }
        Err(Error::new(format!("this is link {}, not {}", self.link, request.link)))
    }

    fn seat(&self, request: &Request) -> Result<usize> {
        self.registry
            .seat(request.may_sleep)
            .ok_or_else(|| Error::new("all 64 seats are taken").remedy("use fewer receivers per link"))
    }

    fn send_memory(&self, guest: Guest, seat: usize) -> Option<Guest> {
        let geometry = *self.segment.geometry();
        let welcome = Reply::Welcome { geometry, when_full: self.when_full, seat: seat as u32 }.encode();
        match handshake::send(guest.connection.as_fd(), &welcome, Some(self.segment.file())) {
            Ok(()) => Some(guest),
            Err(_) => {
                // The guest closed the connection during its admission.
                self.registry.vacate(seat);
                None
            }
        }
    }
}
