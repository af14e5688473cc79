//! One link: the callbacks and the queues of its receivers.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hopmeter_instrument::prelude::*;

use crate::lend;
use crate::pool::Frame;

/// The receivers of one link.
#[derive(Default)]
pub struct Channel {
    receivers: Mutex<Receivers>,
}

#[derive(Default)]
pub struct Receivers {
    calls: Vec<(u64, OnFrame)>,
    queues: Vec<Arc<Queue>>,
    next_id: u64,
}

impl Channel {
    pub fn add_call(&self, on_frame: OnFrame) -> u64 {
        let mut receivers = lock(&self.receivers);
        receivers.next_id += 1;
        let id = receivers.next_id;
        receivers.calls.push((id, on_frame));
        id
    }

    pub fn remove_call(&self, id: u64) {
        lock(&self.receivers).calls.retain(|(other, _)| *other != id);
    }

    pub fn add_queue(&self, queue: Arc<Queue>) {
        lock(&self.receivers).queues.push(queue);
    }

    pub fn remove_queue(&self, queue: &Arc<Queue>) {
        lock(&self.receivers).queues.retain(|other| !Arc::ptr_eq(other, queue));
    }

    /// The receivers, locked for one send: no callback can be removed during its call.
    pub fn hold(&self) -> LockedReceivers<'_> {
        LockedReceivers(lock(&self.receivers))
    }
}

/// The receivers of a link while a frame is sent to them.
pub struct LockedReceivers<'a>(MutexGuard<'a, Receivers>);

impl LockedReceivers<'_> {
    /// Whether every queue has room for one more frame. Only the link's one publisher adds frames, so the answer
    /// stays true until it does.
    pub fn has_room(&self) -> bool {
        self.0.queues.iter().all(|queue| queue.has_room())
    }

    /// Hands a frame over: calls the callbacks on this thread, and gives every queue a reference.
    #[inline]
    pub fn send(&mut self, frame: &Frame) {
        let received = lend(frame);
        self.0.calls.iter_mut().for_each(|(_, on_frame)| on_frame.call(received));
        for queue in &self.0.queues {
            queue.push(frame.clone());
        }
    }
}

/// A bounded queue of references. Its length is outside the lock, so that a spinning receiver does not take the lock.
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

    /// The oldest frame. Sleeps for it up to `timeout`; looks once if the timeout is zero.
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
