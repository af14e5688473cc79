//! Lets a polled link end sleep in epoll, on the descriptor that RustDDS signals.

use std::io::ErrorKind;
use std::time::Duration;

use hopmeter_instrument::Context as _;
use hopmeter_instrument::prelude::*;
use mio::event::Source;
use mio::{Events, Interest, Poll, Token};

/// The events of the link end's descriptor, or `None` if the link end spins.
pub struct Arrivals(Option<(Poll, Events)>);

impl Arrivals {
    pub fn new(wait: Wait, end: &mut impl Source) -> Result<Self> {
        if wait == Wait::Spin {
            return Ok(Self(None));
        }
        let poll = Poll::new().context("making an epoll")?;
        poll.registry().register(end, Token(0), Interest::READABLE).context("watching for samples")?;
        Ok(Self(Some((poll, Events::with_capacity(1)))))
    }

    /// Returns the next arrival. A blocking link end waits at most `timeout` for an arrival.
    pub fn next<T>(&mut self, timeout: Duration, mut look: impl FnMut() -> Result<Option<T>>) -> Result<Option<T>> {
        let found = look()?;
        let Some((poll, events)) = self.0.as_mut().filter(|_| found.is_none()) else { return Ok(found) };
        match poll.poll(events, Some(timeout)) {
            Err(cause) if cause.kind() != ErrorKind::Interrupted => Err(cause).context("waiting for samples"),
            _ => look(),
        }
    }
}
