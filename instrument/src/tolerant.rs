//! A transport that tolerates errors from the start of a planned restart of the broker or of another node. A failed
//! send then counts as a refused message, and a failed poll as a poll without messages. Before the restart, every error
//! ends the node.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::clock;
use crate::contract::{
    Fill, Link, OnFrame, Publisher, Received, Sent, Shared, Subscriber, Subscription, Take, Transport,
};
use crate::error::{Error, Result};
use crate::frame::HEADER_BYTES;
use crate::phase::Phase;
use crate::spec::Restart;

/// The pause after a failed poll. Without a pause, a receiver whose connection is broken would occupy its core.
const PAUSE: Duration = Duration::from_millis(1);

/// A transport that tolerates errors after the start of a planned restart.
pub struct Tolerant {
    inner: Arc<dyn Transport>,
    outage: Arc<Outage>,
}

impl Tolerant {
    pub fn new(inner: Arc<dyn Transport>, phase: Arc<Phase>, restart: Restart) -> Self {
        Self { inner, outage: Arc::new(Outage { phase, restart, is_logged: AtomicBool::new(false) }) }
    }
}

impl Transport for Tolerant {
    fn version(&self) -> Option<String> {
        self.inner.version()
    }

    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        Ok(Box::new(TolerantEnd { end: self.inner.publisher(link)?, outage: self.outage.clone() }))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        Ok(Box::new(TolerantEnd { end: self.inner.subscriber(link)?, outage: self.outage.clone() }))
    }

    fn subscribe(&self, link: &Link, on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
        self.inner.subscribe(link, on_frame)
    }

    fn facts(&self) -> Vec<(String, String)> {
        self.inner.facts()
    }
}

/// The outage that the planned restart causes. All link ends of this node share it.
struct Outage {
    phase: Arc<Phase>,
    restart: Restart,
    /// Whether the log already contains an error of this outage.
    is_logged: AtomicBool,
}

impl Outage {
    fn has_begun(&self) -> bool {
        self.phase.start_ns().is_some_and(|start_ns| clock::now_ns() >= start_ns + self.restart.after_ns)
    }

    /// Returns `instead` if the error `cause` follows the planned restart. Logs the first of these errors.
    ///
    /// # Errors
    ///
    /// Returns `cause` if the restart has not begun.
    #[cold]
    fn forgive<T>(&self, cause: Error, instead: T) -> Result<T> {
        if !self.has_begun() {
            return Err(cause);
        }
        if !self.is_logged.swap(true, Ordering::Relaxed) {
            eprintln!("after the planned restart: {cause}");
        }
        Ok(instead)
    }
}

struct TolerantEnd<E> {
    end: E,
    outage: Arc<Outage>,
}

impl<P: Publisher> Publisher for TolerantEnd<P> {
    fn address(&self) -> String {
        self.end.address()
    }

    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        self.end.send(payload_bytes, fill).or_else(|cause| self.outage.forgive(cause, Sent::Busy))
    }

    fn send_parts(&mut self, header: &[u8; HEADER_BYTES], payload: &Shared) -> Result<Sent> {
        self.end.send_parts(header, payload).or_else(|cause| self.outage.forgive(cause, Sent::Busy))
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        self.end.forward(received).or_else(|cause| self.outage.forgive(cause, Sent::Busy))
    }
}

impl<S: Subscriber> Subscriber for TolerantEnd<S> {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        self.end.poll(timeout, take).or_else(|cause| {
            self.outage.forgive(cause, 0)?;
            std::thread::sleep(PAUSE);
            Ok(0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Order;

    struct Broken;

    impl Publisher for Broken {
        fn send(&mut self, _: usize, _: Fill<'_>) -> Result<Sent> {
            Err(Error::new("the connection is broken"))
        }
    }

    impl Subscriber for Broken {
        fn poll(&mut self, _: Duration, _: Take<'_>) -> Result<usize> {
            Err(Error::new("the connection is broken"))
        }
    }

    fn end(after_ns: i64, has_started: bool) -> TolerantEnd<Broken> {
        let phase = Arc::new(Phase::default());
        if has_started {
            phase.apply(Order::Go { start_ns: clock::now_ns() });
        }
        let outage = Outage { phase, restart: Restart { after_ns }, is_logged: AtomicBool::new(false) };
        TolerantEnd { end: Broken, outage: Arc::new(outage) }
    }

    fn send(end: &mut TolerantEnd<Broken>) -> Result<Sent> {
        end.send(0, Fill::copied_message(&mut |_| ()))
    }

    #[test]
    fn an_error_before_the_planned_restart_stays_an_error() {
        for mut early in [end(0, false), end(3_600_000_000_000, true)] {
            assert!(send(&mut early).is_err());
            assert!(early.poll(Duration::ZERO, &mut |_| ()).is_err());
        }
    }

    #[test]
    fn an_error_after_the_planned_restart_refuses_a_message_and_receives_nothing() {
        let mut late = end(0, true);
        assert!(matches!(send(&mut late), Ok(Sent::Busy)));
        assert!(matches!(late.poll(Duration::ZERO, &mut |_| ()), Ok(0)));
    }
}
