//! The thread beside a publisher or a server: it lets peers in, and finishes what a slow one has not taken. It sleeps
//! while neither is needed; the end that it belongs to does all other sending itself.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use hopmeter_instrument::{Context, Result};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};

use crate::connection::{Connection, Limits};
use crate::endpoint::Listener;

/// What the thread and the end have in common.
struct Room {
    connections: Mutex<Vec<Connection>>,
    /// Rung by the end: something is left to send, or all is over.
    call: OwnedFd,
    /// Rung by the thread: somebody has come.
    arrival: OwnedFd,
    closes: AtomicBool,
}

pub struct Door {
    pub address: String,
    room: Arc<Room>,
    thread: Option<JoinHandle<()>>,
}

impl Door {
    pub fn open(listener: Listener, limits: Limits) -> Result<Self> {
        let room = Arc::new(Room {
            connections: Mutex::default(),
            call: event()?,
            arrival: event()?,
            closes: AtomicBool::new(false),
        });
        let (address, guarded) = (listener.address.clone(), room.clone());
        let thread = std::thread::Builder::new().name("door".into()).spawn(move || guarded.attend(&listener, limits));
        Ok(Self { address, room, thread: Some(thread.context("starting a thread to accept connections")?) })
    }

    /// Those who have come and were not taken away.
    pub fn connections(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.room.connections()
    }

    /// Readable when somebody has come.
    pub fn arrival(&self) -> PollFd<'_> {
        PollFd::new(&self.room.arrival, PollFlags::IN)
    }

    /// Takes away those who have come, with all that was to be done for them.
    pub fn take(&self) -> Vec<Connection> {
        silence(&self.room.arrival);
        std::mem::take(&mut *self.connections())
    }

    /// Leaves it to the thread to send what is left.
    pub fn call(&self) -> Result<()> {
        rustix::io::write(&self.room.call, &1_u64.to_ne_bytes()).context("waking the thread of a publisher")?;
        Ok(())
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.room.closes.store(true, Ordering::Release);
        if self.call().is_ok() {
            // It only ends by being told to; there is nothing to learn from it.
            let _ = self.thread.take().map(JoinHandle::join);
        }
    }
}

impl Room {
    fn connections(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn attend(&self, listener: &Listener, limits: Limits) {
        while !self.closes.load(Ordering::Acquire) {
            self.sleep(listener);
            silence(&self.call);
            self.admit(listener, limits);
            self.finish();
        }
    }

    /// Until somebody wants in, one who is behind takes more, or the end calls.
    fn sleep(&self, listener: &Listener) {
        let connections = self.connections();
        let behind = connections.iter().filter(|connection| connection.behind);
        // A duplicate outlives the lock, which must not be held while sleeping.
        let behind: Vec<OwnedFd> = behind.filter_map(|one| rustix::io::dup(one).ok()).collect();
        drop(connections);
        let mut places = vec![PollFd::new(&self.call, PollFlags::IN), PollFd::new(&listener.socket, PollFlags::IN)];
        places.extend(behind.iter().map(|connection| PollFd::new(connection, PollFlags::OUT)));
        let _ = poll(&mut places, None); // interrupted: the round is made in vain
    }

    /// Who fails the handshake has never been here.
    fn admit(&self, listener: &Listener, limits: Limits) {
        loop {
            match accept_with(&listener.socket, SocketFlags::CLOEXEC) {
                Ok(socket) => {
                    if let Ok(connection) = Connection::asked(socket, limits) {
                        self.connections().push(connection);
                        let _ = rustix::io::write(&self.arrival, &1_u64.to_ne_bytes()); // it is readable already
                    }
                }
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(_) => return,
            }
        }
    }

    fn finish(&self) {
        self.connections()
            .retain_mut(|connection| !connection.behind || connection.flush().is_ok() && !connection.ended);
    }
}

fn event() -> Result<OwnedFd> {
    eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).context("making an eventfd")
}

fn silence(event: &OwnedFd) {
    let _ = rustix::io::read(event, &mut [0; 8]); // silent already
}
