//! Frames in transit to one receiver, ordered by their due time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use hopmeter_instrument::clock::{now_ns, spin_until};
use hopmeter_instrument::sync::lock;

/// How long before the due time the thread stops sleeping and spins. A sleep is never exact to the microsecond, but the
/// delay must be exact.
const SPIN_NS: i64 = 200_000;

/// A frame in transit; frames are sorted by their due time, then by the order of sending.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Travelling {
    due_ns: i64,
    order: u64,
    frame: Arc<Vec<u8>>,
}

#[derive(Default)]
struct State {
    travelling: BinaryHeap<Reverse<Travelling>>,
    sent: u64,
}

#[derive(Default)]
pub struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

impl Queue {
    pub fn len(&self) -> usize {
        lock(&self.state).travelling.len()
    }

    pub fn push(&self, due_ns: i64, frame: Arc<Vec<u8>>) {
        let mut state = lock(&self.state);
        let order = state.sent;
        state.sent += 1;
        state.travelling.push(Reverse(Travelling { due_ns, order, frame }));
        drop(state);
        self.changed.notify_one();
    }

    /// The next frame, if it is due.
    pub fn pop(&self) -> Option<Arc<Vec<u8>>> {
        let mut state = lock(&self.state);
        let first = state.travelling.peek()?;
        if first.0.due_ns > now_ns() {
            return None;
        }
        state.travelling.pop().map(|first| first.0.frame)
    }

    /// Sleeps until a frame is due or `timeout` has passed. A frame that is pushed during the sleep may be due first.
    pub fn wait(&self, timeout: Duration) {
        let end_ns = now_ns().saturating_add(timeout.as_nanos() as i64);
        let mut state = lock(&self.state);
        loop {
            let due_ns = state.travelling.peek().map_or(i64::MAX, |first| first.0.due_ns);
            let now = now_ns();
            if now >= end_ns.min(due_ns) {
                return;
            }
            if due_ns - now <= SPIN_NS {
                drop(state);
                spin_until(due_ns.min(end_ns));
                state = lock(&self.state);
                continue;
            }
            let sleep = Duration::from_nanos((end_ns.min(due_ns.saturating_sub(SPIN_NS)) - now) as u64);
            state = self.changed.wait_timeout(state, sleep).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_wait_ends_although_a_frame_is_due_right_after_its_timeout() {
        let (done, ended) = mpsc::channel();
        std::thread::spawn(move || {
            for late_us in (110..400).step_by(10) {
                let queue = Queue::default();
                queue.push(now_ns() + late_us * 1_000, Arc::default());
                queue.wait(Duration::from_micros(100));
            }
            done.send(())
        });
        assert!(ended.recv_timeout(Duration::from_secs(30)).is_ok(), "a wait did not end");
    }
}
