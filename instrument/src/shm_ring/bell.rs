//! Lets consumers sleep, and lets the producer wake them. All consumers share one futex word.

use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::Duration;

use rustix::io;
use rustix::thread::{Timespec, futex};

use super::layout::BellWord;

/// The lowest bit of the futex word.
const SOMEBODY_MAY_SLEEP: u32 = 1;

/// The lowest bit of the futex word is set if a consumer may be asleep. The other bits of the futex word count the
/// wake-ups. Because the lowest bit is a state and not a count, a consumer that is killed in its sleep leaves no wrong
/// value. One system call wakes all sleepers. The wake-up count tells a consumer before it sleeps that a wake-up has
/// just happened, even if another consumer has set the lowest bit again.
#[derive(Clone, Copy)]
pub struct Bell<'a>(&'a AtomicU32);

impl<'a> Bell<'a> {
    pub fn new(word: &'a BellWord) -> Self {
        Self(&word.0)
    }

    /// Wakes all sleepers after a message was published, or to stop a consumer. The memory fences in `ring` and in
    /// [`Self::sleep`] ensure that the waking thread sees the sleeper, or that the sleeper sees everything written
    /// before the wake-up.
    #[inline]
    pub fn ring(self) {
        fence(Ordering::SeqCst);
        if self.0.load(Ordering::Relaxed) & SOMEBODY_MAY_SLEEP != 0 {
            self.wake_all();
        }
    }

    fn wake_all(self) {
        // Computes the next even number, which increments the count and clears the bit.
        let answered = |word: u32| Some((word | SOMEBODY_MAY_SLEEP).wrapping_add(1));
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, answered);
        // Waking fails only for an invalid address.
        let _ = futex::wake(self.0, futex::Flags::empty(), i32::MAX as u32);
    }

    /// Sleeps until a wake-up or until the timeout expires, unless `ready` returns true. May return early.
    pub fn sleep(self, timeout: Duration, ready: impl FnOnce() -> bool) {
        // The result is ignored, because the caller checks again, whether the sleep ended by a wake-up, the timeout or
        // an interruption, or never began.
        let _ = self.sleep_on_futex(timeout, ready);
    }

    fn sleep_on_futex(self, timeout: Duration, ready: impl FnOnce() -> bool) -> io::Result<()> {
        let word = self.0.fetch_or(SOMEBODY_MAY_SLEEP, Ordering::Relaxed) | SOMEBODY_MAY_SLEEP;
        fence(Ordering::SeqCst);
        if ready() {
            return Ok(());
        }
        let timeout = Timespec::try_from(timeout).ok();
        futex::wait(self.0, futex::Flags::empty(), word, timeout.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;

    const SHORT: Duration = Duration::from_millis(1);

    #[test]
    fn who_is_about_to_sleep_notices_the_bell_though_another_has_lain_down_since() {
        let word = BellWord(AtomicU32::new(u32::MAX - 1));
        let bell = Bell::new(&word);
        let rung_then_used_by_another = || {
            bell.ring();
            bell.sleep(SHORT, || true);
            false
        };
        assert_eq!(bell.sleep_on_futex(SHORT, rung_then_used_by_another), Err(Errno::AGAIN));
        assert_eq!(bell.sleep_on_futex(SHORT, || false), Err(Errno::TIMEDOUT), "nobody has rung since");
    }

    #[test]
    fn without_a_sleeper_the_bell_is_left_alone() {
        let word = BellWord(AtomicU32::new(2));
        Bell::new(&word).ring();
        assert_eq!(word.0.load(Ordering::Relaxed), 2);
    }
}
