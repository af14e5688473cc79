//! Implements callbacks for libraries that can only be polled. A separate thread polls each link and calls the
//! callback.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::contract::{OnFrame, OnRequest, Server, Subscriber, Subscription};
use crate::error::{Context, Result};

/// The maximum time that one poll sleeps, which is also the longest delay of closing a link end.
const LONGEST_POLL: Duration = Duration::from_millis(50);

/// Calls `on_request` on a new thread that polls `server`. The thread ends when the subscription is dropped or the
/// server fails. Requests that arrive after the server has failed count as lost.
pub fn serve_by_polling(mut server: Box<dyn Server>, mut on_request: OnRequest) -> Result<Box<dyn Subscription>> {
    PollingThread::start(move || server.poll(LONGEST_POLL, &mut *on_request))
}

/// Calls `on_frame` on a new thread that polls `subscriber`. The rules of [`serve_by_polling`] apply.
pub fn subscribe_by_polling(
    mut subscriber: Box<dyn Subscriber>,
    mut on_frame: OnFrame,
) -> Result<Box<dyn Subscription>> {
    PollingThread::start(move || subscriber.poll(LONGEST_POLL, &mut |received| on_frame.call(received)))
}

struct PollingThread {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl PollingThread {
    fn start(mut poll: impl FnMut() -> Result<usize> + Send + 'static) -> Result<Box<dyn Subscription>> {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let poll_on = move || {
            while !over.load(Ordering::Relaxed) {
                if let Err(failure) = poll() {
                    eprintln!("a receiving thread ended: {failure}");
                    return;
                }
            }
        };
        let thread = Builder::new().name("polling".into()).spawn(poll_on).context("starting a receiving thread")?;
        Ok(Box::new(Self { is_over, thread: Some(thread) }))
    }
}

impl Subscription for PollingThread {}

impl Drop for PollingThread {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Joining fails only if a callback panicked, which the log already shows.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;
    use crate::contract::{Received, Take};
    use crate::error::Error;

    struct Queue(Receiver<Vec<u8>>);

    impl Subscriber for Queue {
        fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
            let Ok(frame) = self.0.recv_timeout(timeout) else { return Ok(0) };
            if frame.is_empty() {
                return Err(Error::new("an empty frame"));
            }
            take(Received::split(&frame));
            Ok(1)
        }
    }

    #[test]
    fn frames_are_called_in_until_the_subscription_is_dropped() {
        let (frames, queue) = channel();
        let (seen, arrived) = channel();
        let on_frame = OnFrame::new(move |received| seen.send(received.payload.len()).expect("the test listens"));
        let subscription = subscribe_by_polling(Box::new(Queue(queue)), on_frame).expect("a thread");
        for payload_bytes in [3, 5] {
            frames.send(vec![0; crate::frame::HEADER_BYTES + payload_bytes]).expect("the thread polls");
            assert_eq!(arrived.recv().expect("a call"), payload_bytes);
        }
        drop(subscription);
        assert!(frames.send(Vec::new()).is_err() && arrived.recv().is_err(), "the callback is gone");
    }

    #[test]
    fn an_end_that_fails_is_polled_no_more() {
        let (frames, queue) = channel();
        let subscription = subscribe_by_polling(Box::new(Queue(queue)), OnFrame::new(|_| {})).expect("a thread");
        frames.send(Vec::new()).expect("the thread polls");
        while frames.send(Vec::new()).is_ok() {
            std::thread::yield_now();
        }
        drop(subscription);
    }
}
