//! Limits how long a receiver listens: until shortly after the last message, or until the trial's time limit.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use crate::clock;
use crate::sync::lock;

/// A receiver's deadline. A receiver's deadline, which `go` sets and the last message moves closer.
pub struct ListenLimit {
    deadline_ns: AtomicI64,
    drain_ns: i64,
    lock: Mutex<()>,
    nearer: Condvar,
    draining: AtomicBool,
}

impl ListenLimit {
    /// Creates a limit that has no deadline yet.
    pub fn without_deadline(drain_ns: i64) -> Self {
        Self {
            deadline_ns: AtomicI64::new(i64::MAX),
            drain_ns,
            lock: Mutex::new(()),
            nearer: Condvar::new(),
            draining: AtomicBool::new(false),
        }
    }

    /// Moves the deadline to `deadline_ns`, unless the current deadline is earlier.
    pub fn limit_to(&self, deadline_ns: i64) {
        self.deadline_ns.fetch_min(deadline_ns, Ordering::Relaxed);
        drop(self.lock.lock());
        self.nearer.notify_all();
    }

    /// Shortens the deadline after the last message, because only late messages are still expected.
    #[cold]
    pub fn drain(&self, now_ns: i64) {
        self.limit_to(now_ns + self.drain_ns);
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Returns whether the last message has arrived. After the last message, a receiver must not sleep longer than the
    /// drain time.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Returns the time that is left until the deadline, at most `cap`. Returns `None` after the deadline.
    pub fn time_left(&self, cap: Duration) -> Option<Duration> {
        let left_ns = self.deadline_ns.load(Ordering::Relaxed).saturating_sub(clock::now_ns());
        (left_ns > 0).then(|| Duration::from_nanos(left_ns as u64).min(cap))
    }

    pub fn is_over(&self) -> bool {
        self.time_left(Duration::ZERO).is_none()
    }

    /// Sleeps until the deadline.
    pub fn sleep(&self) {
        let mut guard = lock(&self.lock);
        while let Some(left) = self.time_left(Duration::from_secs(3600)) {
            guard = self.nearer.wait_timeout(guard, left).unwrap_or_else(|broken| broken.into_inner()).0;
        }
    }
}

/// The time that a receiver waits for one message. The clock is read only after an empty poll, so a message that the
/// first poll finds costs no clock reading.
pub struct Patience {
    left: Duration,
    deadline_ns: Option<i64>,
}

impl Patience {
    pub fn new(patience: Duration) -> Self {
        Self { left: patience, deadline_ns: None }
    }

    /// Returns how long the next poll may take, at most `cap`. Returns `None` when the time is up.
    pub fn time_left(&self, cap: Duration) -> Option<Duration> {
        (!self.left.is_zero()).then(|| self.left.min(cap))
    }

    /// Records an empty poll. The time counts from the end of the first empty poll.
    pub fn count_empty_look(&mut self) {
        let now_ns = clock::now_ns();
        let deadline_ns = *self.deadline_ns.get_or_insert(now_ns + self.left.as_nanos() as i64);
        self.left = Duration::from_nanos((deadline_ns - now_ns).max(0) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_ends_after_looks_in_vain_for_that_long() {
        let begun_ns = clock::now_ns();
        let mut patience = Patience::new(Duration::from_millis(5));
        while let Some(left) = patience.time_left(Duration::from_millis(1)) {
            assert!(left <= Duration::from_millis(1));
            patience.count_empty_look();
        }
        assert!(clock::now_ns() - begun_ns >= 5_000_000);
    }

    #[test]
    fn the_last_message_brings_the_end_nearer_but_never_farther() {
        let limit = ListenLimit::without_deadline(1_000_000);
        assert_eq!(limit.time_left(Duration::from_secs(1)), Some(Duration::from_secs(1)));
        limit.limit_to(clock::now_ns() + 60_000_000_000);
        assert!(!limit.is_draining());
        limit.drain(clock::now_ns());
        assert!(limit.is_draining());
        limit.limit_to(clock::now_ns() + 60_000_000_000);
        limit.sleep();
        assert_eq!(limit.time_left(Duration::from_secs(1)), None);
    }
}
