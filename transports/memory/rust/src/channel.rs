//! One link: the callbacks and the queues of its receivers.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use hopmeter_instrument::prelude::*;

use crate::lend;
use crate::pool::Frame;

/// The receivers of one link, which a publisher locks during each send, so that no running callback can be removed.
#[derive(Default)]
pub struct Receivers {
    pub calls: Vec<(u64, OnFrame)>,
    pub queues: Vec<Arc<Queue>>,
    next_id: u64,
}

impl Receivers {
    /// Adds a callback. Returns the callback's number.
    pub fn add_call(&mut self, on_frame: OnFrame) -> u64 {
        self.next_id += 1;
        self.calls.push((self.next_id, on_frame));
        self.next_id
    }

    /// Whether every queue has room for another frame. If all queues have room, this stays true until the link's only
    /// publisher adds a frame.
    pub fn has_room(&self) -> bool {
        self.queues.iter().all(|queue| queue.has_room())
    }

    /// Calls all callbacks with a frame on this thread, and puts a reference to the frame into every queue.
    #[inline]
    pub fn send(&mut self, frame: &Frame) {
        let received = lend(frame);
        self.calls.iter_mut().for_each(|(_, on_frame)| on_frame.call(received));
        for queue in &self.queues {
            queue.push(frame.clone());
        }
    }
}

/// A bounded queue of frame references. The queue's length is readable without the lock, so a spinning receiver takes
/// no lock if the queue is empty.
pub struct Queue {
    frames: Mutex<VecDeque<Frame>>,
    length: AtomicUsize,
    limit: usize,
    filled: Condvar,
}

impl Queue {
    pub fn of(limit: usize) -> Self {
        let frames = Mutex::new(VecDeque::with_capacity(limit));
        Self { frames, length: AtomicUsize::new(0), limit, filled: Condvar::new() }
    }

    fn has_room(&self) -> bool {
        self.length.load(Ordering::Acquire) < self.limit
    }

    fn push(&self, frame: Frame) {
        let mut frames = lock(&self.frames);
        frames.push_back(frame);
        self.length.store(frames.len(), Ordering::Release);
        drop(frames);
        self.filled.notify_one();
    }

    /// Waits at most `timeout` for a frame, and returns the oldest frame. If the timeout is zero, checks only once for
    /// a frame.
    pub fn pop(&self, timeout: Duration) -> Option<Frame> {
        if timeout.is_zero() && self.length.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut frames = lock(&self.frames);
        if frames.is_empty() && !timeout.is_zero() {
            frames = self.filled.wait_timeout(frames, timeout).unwrap_or_else(PoisonError::into_inner).0;
        }
        let frame = frames.pop_front();
        self.length.store(frames.len(), Ordering::Release);
        frame
    }
}
