//! Counts the frames between two threads, so that a sender can wait for room.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// The maximum number of frames that wait between two threads.
const MOST_FRAMES: usize = 16;
const PAUSE: Duration = Duration::from_millis(1);

thread_local! {
    /// The windows of the publishers through which a running callback has sent.
    static USED: RefCell<Vec<Arc<Window>>> = const { RefCell::new(Vec::new()) };
}

#[derive(Default)]
pub struct Window {
    frames: AtomicUsize,
    left: Notify,
}

impl Window {
    pub fn enter(&self) {
        self.frames.fetch_add(1, Ordering::AcqRel);
    }

    pub fn leave(&self) {
        self.frames.fetch_sub(1, Ordering::AcqRel);
        self.left.notify_waiters();
    }

    pub fn has_room(&self) -> bool {
        self.frames.load(Ordering::Acquire) < MOST_FRAMES
    }

    pub async fn wait_for_room(&self) {
        loop {
            let left = self.left.notified();
            if self.has_room() {
                return;
            }
            left.await;
        }
    }

    /// Sleeps until all frames have left, or the time is over.
    pub fn drain(&self, patience: Duration) {
        let until = Instant::now() + patience;
        while self.frames.load(Ordering::Acquire) > 0 && Instant::now() < until {
            std::thread::sleep(PAUSE);
        }
    }

    /// Lets the running callback's task wait for room after the callback.
    pub fn wait_after_callback(self: &Arc<Self>) {
        USED.with_borrow_mut(|used| used.push(self.clone()));
    }
}

/// Waits until there is room for the frames that a callback has sent. A callback itself cannot wait, because only its
/// own thread can make room.
pub async fn finish_sends() {
    for window in USED.take() {
        window.wait_for_room().await;
    }
}
