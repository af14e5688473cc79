//! Opens a receiving end, which is polled or calls a callback depending on its endpoint's `wait`, and receives until
//! the time is up.

use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use crate::clock;
use crate::contract::{Link, OnFrame, Received, Subscriber, Subscription, Transport};
use crate::error::{Error, Result};
use crate::listen_limit::ListenLimit;
use crate::spec::Wait;

/// The number of polls of a spinning receiver between two clock readings.
const LOOKS_PER_CLOCK: usize = 64;
/// The number of successful polls of a blocking receiver between two clock readings.
const POLLS_PER_CLOCK: usize = 16;
/// The longest time that a blocking receiver sleeps before it checks its deadline again.
pub const LONGEST_BLOCK: Duration = Duration::from_millis(100);

/// A role that receives frames: a sink or a relay.
pub trait Taker: Send + 'static {
    fn take(&mut self, received: Received<'_>);
}

/// A receiving end with the role that receives its frames. The receiving end is either polled or calls a callback.
pub enum Inbox<T: Taker> {
    Pull { subscriber: Box<dyn Subscriber>, taker: T },
    Push { subscription: Box<dyn Subscription>, returned: Receiver<T> },
}

impl<T: Taker> Inbox<T> {
    /// Connects to a link. Depending on `wait`, the receiving end is polled or calls a callback.
    pub fn connect(transport: &dyn Transport, link: &Link, wait: Wait, taker: T) -> Result<Self> {
        match wait {
            Wait::Spin | Wait::Block => Ok(Self::Pull { subscriber: transport.subscriber(link)?, taker }),
            Wait::Callback => {
                let (mut loan, returned) = Loan::new(taker);
                let subscription =
                    transport.subscribe(link, OnFrame::new(move |received| loan.get().take(received)))?;
                Ok(Self::Push { subscription, returned })
            }
        }
    }

    /// Receives frames until the time is up. Returns the role. A polled link end is returned as well, because other
    /// endpoints may still need the link end.
    pub fn run(self, wait: Wait, limit: &ListenLimit) -> Result<(T, Option<Box<dyn Subscriber>>)> {
        match self {
            Self::Pull { mut subscriber, mut taker } => {
                pump(wait, limit, |timeout| subscriber.poll(timeout, &mut |received| taker.take(received)))?;
                Ok((taker, Some(subscriber)))
            }
            Self::Push { subscription, returned } => {
                limit.sleep();
                drop(subscription);
                let taker = returned.recv_timeout(Duration::from_secs(10)).map_err(|_| {
                    Error::new("the transport kept its callback after the subscription was closed")
                        .remedy("let the adapter drop the callback with its subscription")
                })?;
                Ok((taker, None))
            }
        }
    }
}

/// Polls until the time is up.
pub fn pump(wait: Wait, limit: &ListenLimit, mut poll: impl FnMut(Duration) -> Result<usize>) -> Result<()> {
    while let Some(left) = limit.time_left(LONGEST_BLOCK) {
        if wait == Wait::Spin {
            for _ in 0..LOOKS_PER_CLOCK {
                poll(Duration::ZERO)?;
                std::hint::spin_loop();
            }
        } else {
            // As long as messages arrive, the clock is read only every `POLLS_PER_CLOCK` polls. The clock is read
            // immediately if a poll returns no message or the source has ended.
            for _ in 0..POLLS_PER_CLOCK {
                if poll(left)? == 0 || limit.is_draining() {
                    break;
                }
            }
        }
    }
    Ok(())
}

/// A taker that a callback owns temporarily. Dropping the callback returns the taker.
pub struct Loan<T: Send> {
    taker: ManuallyDrop<T>,
    home: SyncSender<T>,
}

impl<T: Send> Loan<T> {
    pub fn new(taker: T) -> (Self, Receiver<T>) {
        let (home, returned) = sync_channel(1);
        (Self { taker: ManuallyDrop::new(taker), home }, returned)
    }

    /// Returns the taker.
    pub fn get(&mut self) -> &mut T {
        &mut self.taker
    }
}

impl<T: Send> Drop for Loan<T> {
    fn drop(&mut self) {
        // SAFETY: only this line takes the value out, and nothing uses the value after the drop.
        let taker = unsafe { ManuallyDrop::take(&mut self.taker) };
        let _ = self.home.send(taker);
    }
}

/// Creates a limit without a deadline, for a receiver that listens before `go`.
pub fn new_deadline(drain_ns: i64) -> Arc<ListenLimit> {
    Arc::new(ListenLimit::without_deadline(drain_ns))
}

/// Runs a receiver, while a second thread waits for `go` and then sets the receiver's deadline. After an order to end,
/// the receiver listens only for late messages.
pub fn listen<R>(
    context: &super::RoleContext<'_>,
    limit: &ListenLimit,
    receive: impl FnOnce() -> Result<R>,
) -> Result<R> {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            if let Some(start_ns) = context.phase.wait_for_go_or(|| limit.is_over()) {
                limit.limit_to(context.drained_ns(start_ns));
                context.phase.wait_for_stop_or(|| limit.is_over());
                limit.drain(clock::now_ns());
            }
        });
        let received = receive();
        limit.limit_to(0);
        context.phase.wake();
        received
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_the_last_message_a_receiver_sleeps_no_longer_than_the_drain() {
        let drain = Duration::from_millis(1);
        let limit = ListenLimit::without_deadline(drain.as_nanos() as i64);
        let mut slept = Vec::new();
        let poll = |timeout| {
            if slept.is_empty() {
                limit.drain(clock::now_ns());
                slept.push(Duration::ZERO);
                return Ok(1);
            }
            std::thread::sleep(timeout);
            slept.push(timeout);
            Ok(0)
        };
        pump(Wait::Block, &limit, poll).expect("polls that cannot fail");
        assert!(slept.len() > 1 && slept.iter().all(|each| *each <= drain));
    }
}
