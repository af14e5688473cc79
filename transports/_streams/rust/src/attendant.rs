//! The thread beside a publisher: it lets receivers in, and finishes what the publisher had no patience for. It sleeps
//! while neither is needed, and the publisher does all its sending itself.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use hopmeter_instrument::{Context, Result, Sent};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;

use crate::Family;
use crate::options::accept_on;
use crate::receivers::{Receivers, lock};

pub(crate) struct Attendant {
    signal: Arc<Signal>,
    thread: Option<JoinHandle<()>>,
}

/// How the publisher wakes its attendant.
struct Signal {
    event: OwnedFd,
    stops: AtomicBool,
}

struct Duty<F> {
    family: Arc<F>,
    listener: OwnedFd,
    receivers: Arc<Mutex<Receivers>>,
    signal: Arc<Signal>,
}

impl Attendant {
    pub(crate) fn start<F: Family>(
        family: Arc<F>,
        listener: OwnedFd,
        receivers: Arc<Mutex<Receivers>>,
    ) -> Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).context("making an eventfd")?;
        rustix::io::ioctl_fionbio(&listener, true).context("making the listening socket nonblocking")?;
        let signal = Arc::new(Signal { event, stops: AtomicBool::new(false) });
        let duty = Duty { family, listener, receivers, signal: signal.clone() };
        let thread = std::thread::Builder::new().name("attendant".into()).spawn(move || duty.attend());
        Ok(Self { signal, thread: Some(thread.context("starting a thread to accept receivers")?) })
    }

    /// Sends a message, and leaves to the attendant what a receiver was too slow for.
    pub(crate) fn send(&self, receivers: &mut Receivers, message: &[u8]) -> Result<Sent> {
        let sent = receivers.send(message);
        if receivers.are_behind() {
            self.wake()?;
        }
        Ok(sent)
    }

    fn wake(&self) -> Result<()> {
        rustix::io::write(&self.signal.event, &1_u64.to_ne_bytes()).context("waking the publisher's thread")?;
        Ok(())
    }

    pub(crate) fn stop(&mut self) {
        self.signal.stops.store(true, Ordering::Release);
        if self.wake().is_ok() {
            // It only ends by being told to; there is nothing to learn from it.
            let _ = self.thread.take().map(JoinHandle::join);
        }
    }
}

impl<F: Family> Duty<F> {
    fn attend(&self) {
        while !self.signal.stops.load(Ordering::Acquire) {
            let worked = self.sleep().and_then(|()| self.admit_all());
            if let Err(failure) = worked {
                lock(&self.receivers).fail(failure);
                return;
            }
            lock(&self.receivers).flush();
        }
    }

    /// Until somebody wants to connect, a receiver that is behind takes more, or the publisher calls.
    fn sleep(&self) -> Result<()> {
        let behind = lock(&self.receivers).behind();
        let mut places =
            vec![PollFd::new(&self.signal.event, PollFlags::IN), PollFd::new(&self.listener, PollFlags::IN)];
        places.extend(behind.iter().map(|connection| PollFd::new(&**connection, PollFlags::OUT)));
        match poll(&mut places, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(cause) => return Err(cause).context("waiting for receivers"),
        }
        // Takes the call back; that there is none is fine.
        let _ = rustix::io::read(&self.signal.event, &mut [0; 8]);
        Ok(())
    }

    fn admit_all(&self) -> Result<()> {
        while let Some(connection) = accept_on(&self.listener)? {
            self.family.accepted(&connection)?;
            lock(&self.receivers).admit(connection)?;
        }
        Ok(())
    }
}
