//! The frames that a receiver holds, ordered by due time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// A whole frame, header first.
pub type Frame = Arc<Vec<u8>>;

/// A frame that is not yet due. Frames with the same due time are in insertion order.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    due_ns: i64,
    order: u64,
    frame: Frame,
}

#[derive(Default)]
pub struct Held {
    waiting: BinaryHeap<Reverse<Waiting>>,
    added: u64,
}

impl Held {
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    pub fn add(&mut self, due_ns: i64, frame: Frame) {
        self.added += 1;
        self.waiting.push(Reverse(Waiting { due_ns, order: self.added, frame }));
    }

    /// Returns when the first frame is due, or `i64::MAX` if the receiver holds no frames.
    pub fn first_due_ns(&self) -> i64 {
        self.waiting.peek().map_or(i64::MAX, |first| first.0.due_ns)
    }

    /// Removes and returns the first frame, if that frame is due at `now_ns`.
    pub fn remove_due(&mut self, now_ns: i64) -> Option<Frame> {
        if self.first_due_ns() > now_ns {
            return None;
        }
        self.waiting.pop().map(|first| first.0.frame)
    }
}
