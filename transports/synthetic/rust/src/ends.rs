//! Both ends of a link: the publisher executes the plan, the subscriber passes on the frames that are due.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hopmeter_instrument::clock::now_ns;
use hopmeter_instrument::frame::{HEADER_BYTES, Header, flags};
use hopmeter_instrument::prelude::*;

use crate::plan::Plan;
use crate::queue::Queue;

/// The queues of all receivers of a link.
#[derive(Default)]
pub struct Receivers(Mutex<Vec<Arc<Queue>>>);

impl Receivers {
    /// Adds a receiver. The receiver gets the frames that are sent from now on.
    pub fn join(&self) -> Arc<Queue> {
        let queue = Arc::new(Queue::default());
        lock(&self.0).push(queue.clone());
        queue
    }

    fn leave(&self, queue: &Arc<Queue>) {
        lock(&self.0).retain(|other| !Arc::ptr_eq(other, queue));
    }
}

pub struct SyntheticPublisher {
    plan: Plan,
    receivers: Arc<Receivers>,
    /// The time from which the link is free again, if its rate is limited.
    free_ns: i64,
    /// The sample that waits until the next sample has overtaken it.
    overtaken: Option<Planned>,
}

/// A frame and the number of times that it is delivered.
struct Planned {
    frame: Arc<Vec<u8>>,
    copies: usize,
}

impl SyntheticPublisher {
    pub fn new(plan: Plan, receivers: Arc<Receivers>) -> Self {
        Self { plan, receivers, free_ns: 0, overtaken: None }
    }

    fn is_full(&self) -> bool {
        lock(&self.receivers.0).iter().any(|queue| queue.len() >= self.plan.queue)
    }

    /// Returns the due time of a frame that is sent now and takes `delay_ns` to travel.
    fn due_ns(&mut self, delay_ns: i64) -> i64 {
        let now = now_ns();
        if self.plan.max_rate_hz <= 0.0 {
            return now + delay_ns;
        }
        self.free_ns = self.free_ns.max(now) + (1e9 / self.plan.max_rate_hz) as i64;
        self.free_ns + delay_ns
    }

    fn deliver(&self, due_ns: i64, travelling: &Planned) {
        for queue in lock(&self.receivers.0).iter() {
            for _ in 0..travelling.copies {
                queue.push(due_ns, travelling.frame.clone());
            }
        }
    }

    /// Sends a frame that the plan does not cover: a probe, a warm-up message, or a foreign frame.
    fn send_unplanned(&mut self, frame: Vec<u8>) {
        let due_ns = self.due_ns(0);
        self.deliver(due_ns, &Planned { frame: Arc::new(frame), copies: 1 });
    }

    fn send_planned(&mut self, header: &Header, mut frame: Vec<u8>) {
        let seq = header.seq;
        if self.plan.corrupts(seq) && frame.len() > HEADER_BYTES {
            let last = frame.len() - 1;
            frame[last] ^= 0xFF;
        }
        let due_ns = self.due_ns(self.plan.delay_ns(seq));
        let copies = if self.plan.loses(seq) { 0 } else { 1 + usize::from(self.plan.duplicates(seq)) };
        let travelling = Planned { frame: Arc::new(frame), copies };
        // A sample that overtakes another sample is not itself overtaken, and the last sample has no successor.
        if self.overtaken.is_none() && self.plan.reorders(seq) && !header.is(flags::LAST) {
            self.overtaken = Some(travelling);
            return;
        }
        self.deliver(due_ns, &travelling);
        if let Some(overtaken) = self.overtaken.take() {
            self.deliver(due_ns, &overtaken);
        }
    }
}

impl Publisher for SyntheticPublisher {
    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        if self.is_full() {
            return Ok(Sent::Busy);
        }
        let frame = fill.to_vec(payload_bytes);
        match Header::read(&frame[..HEADER_BYTES], payload_bytes).ok().filter(Header::is_sample) {
            Some(header) => {
                self.send_planned(&header, frame);
                // Waits after the send, so that this sample is on time and the next samples are late.
                if self.plan.stalls(header.seq) {
                    std::thread::sleep(Duration::from_millis(self.plan.stall_ms));
                }
            }
            None => self.send_unplanned(frame),
        }
        Ok(Sent::Accepted)
    }
}

pub struct SyntheticSubscriber {
    queue: Arc<Queue>,
    receivers: Arc<Receivers>,
    wait: Wait,
}

impl SyntheticSubscriber {
    pub fn new(receivers: Arc<Receivers>, wait: Wait) -> Self {
        Self { queue: receivers.join(), receivers, wait }
    }
}

impl Subscriber for SyntheticSubscriber {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        if self.wait != Wait::Spin {
            self.queue.wait(timeout);
        }
        let mut frames = 0;
        while let Some(frame) = self.queue.pop() {
            take(Received::split(&frame));
            frames += 1;
        }
        Ok(frames)
    }
}

impl Drop for SyntheticSubscriber {
    fn drop(&mut self) {
        self.receivers.leave(&self.queue);
    }
}
