//! The receiver, which takes the frames out of the ring and executes the plan.

use std::sync::Arc;
use std::time::Duration;

use hopmeter_instrument::clock::{now_ns, sleep_until};
use hopmeter_instrument::frame::{Header, flags};
use hopmeter_instrument::prelude::*;
use hopmeter_shm::Consumer;

use crate::departure::remove_departure;
use crate::held::{Frame, Held};
use crate::outage::BrokerConnection;
use crate::plan::Plan;

/// How long before the due time the receiver stops sleeping and spins, because a sleep is not exact to the microsecond.
const SPIN_NS: i64 = 200_000;

pub struct Receiver {
    consumer: Consumer,
    plan: Plan,
    held: Held,
    capacity: usize,
    /// When a link with a limited rate can carry the next frame.
    free_ns: i64,
    /// A sample that the receiver holds back until the next sample has overtaken it.
    overtaken: Option<Planned>,
    /// When the discovery that the plan simulates ends. Samples that departed before this time are lost.
    discovered_ns: i64,
    /// The connection to the planned broker, or `None` if the plan has no broker.
    broker: Option<BrokerConnection>,
}

/// A frame and the number of times that it will arrive.
struct Planned {
    frame: Frame,
    copies: usize,
}

impl Receiver {
    /// Joins the ring of `link` at the given address. `may_sleep` states whether the caller will pass timeouts to
    /// [`Self::next_frame`].
    ///
    /// # Errors
    /// Fails if no sender of this link is at the address.
    pub fn connect(address: &str, link: &str, plan: Plan, may_sleep: bool) -> Result<Self> {
        let consumer = Consumer::connect(address, link, may_sleep)?;
        let capacity = plan.queue.saturating_sub(consumer.geometry().slots as usize - 1).max(1);
        let discovered_ns = now_ns() + plan.discovery_ms as i64 * 1_000_000;
        let broker = None;
        Ok(Self { consumer, plan, held: Held::default(), capacity, free_ns: 0, overtaken: None, discovered_ns, broker })
    }

    /// Connects to the planned broker at the given address. An empty address means that the plan has no broker.
    ///
    /// # Errors
    /// Fails if there is no broker at the address.
    pub fn with_broker(mut self, address: &str) -> Result<Self> {
        if !address.is_empty() {
            self.broker = Some(BrokerConnection::open(address, self.plan.recovery_ms)?);
        }
        Ok(self)
    }

    /// Waits at most `timeout` until a frame is due, and returns the frame that is due next. If the timeout is zero,
    /// the function checks only once.
    ///
    /// # Errors
    /// Fails if the sender wrote invalid values into the ring.
    pub fn next_frame(&mut self, timeout: Duration) -> Result<Option<Frame>> {
        let end_ns = now_ns().saturating_add(timeout.as_nanos() as i64);
        loop {
            self.collect()?;
            let now = now_ns();
            if now >= end_ns.min(self.held.first_due_ns()) {
                return Ok(self.held.remove_due(now));
            }
            self.pause(now, end_ns);
        }
    }

    /// Sleeps until a frame arrives, a frame is nearly due or `end_ns` has passed. If a frame is nearly due, the
    /// function returns at once, so that the caller spins.
    fn pause(&self, now_ns: i64, end_ns: i64) {
        let until_ns = end_ns.min(self.held.first_due_ns().saturating_sub(SPIN_NS));
        if now_ns >= until_ns {
            std::hint::spin_loop();
        } else if self.is_full() {
            sleep_until(until_ns);
        } else {
            self.consumer.sleep(Duration::from_nanos((until_ns - now_ns) as u64));
        }
    }

    /// Whether the frames in transit fill the receiver's part of the queue. The ring is the other part of the queue.
    fn is_full(&self) -> bool {
        self.held.len() >= self.capacity
    }

    /// Takes the frames out of the ring.
    fn collect(&mut self) -> Result<()> {
        while !self.is_full() {
            let mut frame = Vec::new();
            if !self.consumer.receive(|header, payload| frame = [header, payload].concat())? {
                break;
            }
            self.hold(frame)?;
        }
        Ok(())
    }

    fn hold(&mut self, mut frame: Vec<u8>) -> Result<()> {
        let departed_ns = remove_departure(&mut frame)?;
        let (header, payload) = frame.split_at(HEADER_BYTES);
        match Header::read(header, payload.len()).ok().filter(Header::is_sample) {
            Some(_) if departed_ns < self.discovered_ns || !self.is_connected(departed_ns) => {}
            Some(header) => self.hold_sample(&header, departed_ns, frame),
            None => self.hold_unplanned(departed_ns, frame),
        }
        Ok(())
    }

    /// Returns whether a sample that departed at `departed_ns` gets through, although the planned broker has outages.
    fn is_connected(&mut self, departed_ns: i64) -> bool {
        self.broker.as_mut().is_none_or(|broker| broker.carries(departed_ns))
    }

    /// Holds a frame that the plan does not cover: a probe, a warm-up message, or a foreign frame.
    fn hold_unplanned(&mut self, departed_ns: i64, frame: Vec<u8>) {
        let due_ns = self.due_ns(departed_ns, 0);
        self.held.add(due_ns, Arc::new(frame));
    }

    fn hold_sample(&mut self, header: &Header, departed_ns: i64, mut frame: Vec<u8>) {
        let seq = header.seq;
        if self.plan.corrupts(seq) && frame.len() > HEADER_BYTES {
            let last = frame.len() - 1;
            frame[last] ^= 0xFF;
        }
        let due_ns = self.due_ns(departed_ns, self.plan.delay_ns(seq));
        let planned = Planned { frame: Arc::new(frame), copies: self.plan.copies(seq) };
        // A sample that overtakes another sample is not overtaken itself, and the last sample has no successor that
        // could overtake it.
        if self.overtaken.is_none() && self.plan.reorders(seq) && !header.is(flags::LAST) {
            self.overtaken = Some(planned);
            return;
        }
        let overtaken = self.overtaken.take();
        for planned in std::iter::once(planned).chain(overtaken) {
            (0..planned.copies).for_each(|_| self.held.add(due_ns, planned.frame.clone()));
        }
    }

    /// Returns the due time of the link's next frame, which takes `delay_ns`.
    fn due_ns(&mut self, departed_ns: i64, delay_ns: i64) -> i64 {
        if self.plan.max_rate_hz <= 0.0 {
            return departed_ns + delay_ns;
        }
        self.free_ns = self.free_ns.max(departed_ns) + (1e9 / self.plan.max_rate_hz) as i64;
        self.free_ns + delay_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sender;

    const PAYLOAD_BYTES: usize = 8;

    /// Returns a sender and its receiver, with the default settings except for `changed`.
    fn connect(changed: serde_json::Value) -> (Sender, Receiver) {
        let mut settings = serde_json::json!({
            "delay_us": 0.0, "jitter": "constant", "jitter_us": 0.0, "seed": 1, "loss": 0.0, "lose_every": 0,
            "duplicate_every": 0, "reorder_every": 0, "corrupt_every": 0, "late_every": 0, "late_us": 0.0,
            "growth_us": 0.0, "stall_at": 0, "stall_ms": 0, "max_rate_hz": 0.0, "queue": 1024, "discovery_ms": 0,
        });
        settings.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
        let plan = Plan::read(settings).unwrap();
        let sender = Sender::open("link", plan.clone(), HEADER_BYTES + PAYLOAD_BYTES).unwrap();
        let receiver = Receiver::connect(sender.address(), "link", plan, true).unwrap();
        (sender, receiver)
    }

    /// Sends a sample. Returns whether the ring had room for the sample.
    fn send(sender: &mut Sender, seq: u64, sent_ns: i64) -> bool {
        let Some(frame) = sender.reserve(PAYLOAD_BYTES).unwrap() else { return false };
        let length = PAYLOAD_BYTES as u64;
        let header = Header { flags: 0, run: 1, pair: 0, seq, due_ns: 0, sent_ns, length, checksum: 0 };
        header.write(frame.first_chunk_mut().unwrap());
        sender.publish(PAYLOAD_BYTES);
        true
    }

    fn next_seq(receiver: &mut Receiver, timeout: Duration) -> Option<u64> {
        let frame = receiver.next_frame(timeout).unwrap()?;
        assert_eq!(frame.len(), HEADER_BYTES + PAYLOAD_BYTES);
        Some(Header::read(&frame[..HEADER_BYTES], PAYLOAD_BYTES).unwrap().seq)
    }

    #[test]
    fn samples_arrive_when_they_are_due_and_may_overtake_each_other() {
        let (mut sender, mut receiver) = connect(serde_json::json!({"late_every": 2, "late_us": 300_000.0}));
        let sent_ns = now_ns();
        // The sent time is old, like that of a forwarded message.
        for seq in [1, 2, 4] {
            assert!(send(&mut sender, seq, 0));
        }
        let seqs = [(); 3].map(|()| next_seq(&mut receiver, Duration::from_secs(10)).expect("a sample in time"));
        assert_eq!(seqs, [2, 4, 1]);
        assert!(now_ns() >= sent_ns + 300_000_000);
    }

    #[test]
    fn a_wait_ends_although_a_frame_is_due_right_after_its_timeout() {
        for late_us in (110..400).step_by(10) {
            let (mut sender, mut receiver) = connect(serde_json::json!({"delay_us": late_us}));
            assert!(send(&mut sender, 0, now_ns()));
            let first = next_seq(&mut receiver, Duration::from_micros(100));
            assert_eq!(first.or_else(|| next_seq(&mut receiver, Duration::from_secs(10))), Some(0));
        }
    }

    #[test]
    fn samples_that_depart_before_the_end_of_the_discovery_are_lost() {
        let (mut sender, mut receiver) = connect(serde_json::json!({"discovery_ms": 20}));
        assert!(send(&mut sender, 0, now_ns()));
        std::thread::sleep(Duration::from_millis(20));
        assert!(send(&mut sender, 1, now_ns()));
        assert_eq!(next_seq(&mut receiver, Duration::from_secs(10)), Some(1));
    }

    #[test]
    fn so_many_frames_may_be_in_transit_and_no_more() {
        let (mut sender, mut receiver) = connect(serde_json::json!({"delay_us": 1e9, "queue": 10}));
        let mut sent = 0;
        while send(&mut sender, sent, now_ns()) {
            sent += 1;
            assert_eq!(next_seq(&mut receiver, Duration::ZERO), None);
        }
        assert_eq!(sent, 10);
    }
}
