//! The sender, which writes frames and their departure times into the ring.

use std::time::Duration;

use hopmeter_instrument::clock::now_ns;
use hopmeter_instrument::frame::Header;
use hopmeter_instrument::prelude::*;
use hopmeter_shm::{Options, Producer, WhenFull};

use crate::departure::{DEPARTURE_BYTES, write_departure};
use crate::plan::Plan;

/// The maximum memory of a ring in bytes; `RING_FRAMES` is the maximum number of frames.
const RING_BYTES: usize = 64 << 20;
const RING_FRAMES: usize = 255;

pub struct Sender {
    producer: Producer,
    plan: Plan,
    reserved_ns: i64,
}

impl Sender {
    /// Creates the ring of `link`, for frames of up to `frame_bytes`, header included.
    ///
    /// # Errors
    /// Fails if there is not enough memory for the ring.
    pub fn open(link: &str, plan: Plan, frame_bytes: usize) -> Result<Self> {
        let frames = (RING_BYTES / frame_bytes.max(1)).min(plan.queue / 2).clamp(1, RING_FRAMES);
        // One more slot is needed, because the slot of the next message is always reserved.
        let slots = frames as u32 + 1;
        let payload_bytes = (frame_bytes.saturating_sub(HEADER_BYTES) + DEPARTURE_BYTES) as u64;
        let producer = Producer::open(link, &Options { slots, payload_bytes, when_full: WhenFull::Busy })?;
        Ok(Self { producer, plan, reserved_ns: 0 })
    }

    pub fn address(&self) -> &str {
        self.producer.address()
    }

    /// Reserves memory for the next frame, header first, or returns `None` if the ring is full. Never waits.
    ///
    /// # Errors
    /// Fails if the frame is larger than the ring allows.
    pub fn reserve(&mut self, payload_bytes: usize) -> Result<Option<&mut [u8]>> {
        self.reserved_ns = now_ns();
        let is_free = self.producer.reserve(payload_bytes + DEPARTURE_BYTES)?;
        Ok(is_free.then(|| &mut self.reserved_frame(payload_bytes + DEPARTURE_BYTES)[..HEADER_BYTES + payload_bytes]))
    }

    fn reserved_frame(&mut self, payload_bytes: usize) -> &mut [u8] {
        let frame = self.producer.frame_at(self.producer.slot());
        // SAFETY: the slot is reserved for this sender, and `reserve` checked that the payload fits.
        unsafe { std::slice::from_raw_parts_mut(frame, HEADER_BYTES + payload_bytes) }
    }

    /// Sends the frame in the reserved memory. If the plan contains a stall at this frame, the sender sleeps after
    /// sending it, so that only later frames are late.
    ///
    /// # Panics
    /// Panics if no memory was reserved.
    pub fn publish(&mut self, payload_bytes: usize) {
        let reserved_ns = self.reserved_ns;
        let frame = self.reserved_frame(payload_bytes + DEPARTURE_BYTES);
        let header = Header::read(&frame[..HEADER_BYTES], payload_bytes).ok();
        // A new message departs at its sent time. A forwarded message keeps its sent time, but departs
        // now.
        let departed_ns = header.map_or(reserved_ns, |header| header.sent_ns.clamp(reserved_ns, now_ns()));
        write_departure(frame, departed_ns);
        self.producer.publish(payload_bytes + DEPARTURE_BYTES);
        if header.is_some_and(|header| header.is_sample() && self.plan.stalls(header.seq)) {
            std::thread::sleep(Duration::from_millis(self.plan.stall_ms));
        }
    }
}
