//! Implements permits, which limit how many messages a node handles at once. A participant with N threads handles at
//! most N messages at once.

use std::sync::{Condvar, Mutex};

use crate::sync::lock;

/// The free permits of a node. Without a limit, every request for a permit is granted immediately.
pub struct Permits {
    free: Option<Mutex<u32>>,
    returned: Condvar,
}

impl Permits {
    /// Allows a node to handle at most `most` messages at once, where 0 means no limit.
    pub fn new(most: u32) -> Self {
        Self { free: (most > 0).then(|| Mutex::new(most)), returned: Condvar::new() }
    }

    /// Returns whether the number of messages that the node handles at once is limited.
    pub fn is_limited(&self) -> bool {
        self.free.is_some()
    }

    /// Waits for a free permit. Dropping the returned permit frees it again.
    #[inline]
    pub fn wait_for_one(&self) -> Permit<'_> {
        if let Some(free) = &self.free {
            let free = lock(free);
            let waited = self.returned.wait_while(free, |free| *free == 0);
            *waited.unwrap_or_else(|broken| broken.into_inner()) -= 1;
        }
        Permit(self)
    }
}

/// The permit to handle one message.
pub struct Permit<'a>(&'a Permits);

impl Drop for Permit<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(free) = &self.0.free {
            *lock(free) += 1;
            self.0.returned.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn never_more_permits_are_out_than_allowed() {
        let (permits, out, most) = (Permits::new(2), AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let _permit = permits.wait_for_one();
                        most.fetch_max(out.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        out.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(most.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn without_a_limit_nobody_waits() {
        let permits = Permits::new(0);
        let _both = (permits.wait_for_one(), permits.wait_for_one());
        assert!(!permits.is_limited());
    }
}
