//! How consumers sleep and the producer wakes them: one futex word for all.

use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::Duration;

use rustix::thread::{Timespec, futex};

use crate::layout::BellWord;

const NOBODY_SLEEPS: u32 = 0;
const SOMEBODY_MAY_SLEEP: u32 = 1;

/// The word says whether somebody may be asleep. It is a state, not a count, so a consumer killed in its sleep leaves
/// nothing wrong behind, and one system call wakes all.
#[derive(Clone, Copy)]
pub struct Bell<'a>(&'a AtomicU32);

impl<'a> Bell<'a> {
    pub fn new(word: &'a BellWord) -> Self {
        Self(&word.0)
    }

    /// Wakes whoever sleeps, after something was published. The fence and the one in [`Self::sleep`] make sure that
    /// either the producer sees the sleeper here or the sleeper sees the publication.
    #[inline]
    pub fn ring(self) {
        fence(Ordering::SeqCst);
        if self.0.load(Ordering::Relaxed) != NOBODY_SLEEPS {
            self.wake_all();
        }
    }

    /// Wakes all, though nothing may have been published.
    pub fn wake_all(self) {
        self.0.store(NOBODY_SLEEPS, Ordering::Relaxed);
        // Waking fails only for addresses that are not memory.
        let _ = futex::wake(self.0, futex::Flags::empty(), i32::MAX as u32);
    }

    /// Sleeps until the bell rings or the time is over, unless `ready` says there is no need. May return early.
    pub fn sleep(self, timeout: Duration, ready: impl FnOnce() -> bool) {
        self.0.store(SOMEBODY_MAY_SLEEP, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if ready() {
            return;
        }
        let timeout = Timespec::try_from(timeout).ok();
        // Woken, timed out, interrupted, or rung before falling asleep: the caller looks again in every case.
        let _ = futex::wait(self.0, futex::Flags::empty(), SOMEBODY_MAY_SLEEP, timeout.as_ref());
    }
}
