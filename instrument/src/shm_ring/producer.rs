//! Implements a ring's producer, which loans and publishes slots, and determines which slots are free again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::prelude::*;

use super::admission::Admission;
use super::layout::{Geometry, Meta, Position};
use super::registry::Registry;
use super::segment::Segment;

/// Slots of at least this size are reclaimed as soon as they are free, so that large frames use few slots and little
/// cache. Smaller slots are reclaimed in batches, because otherwise a cache miss on the consumers' cursors dominates a
/// small message's latency.
const LARGE_SLOT_BYTES: u64 = 16 << 10;

/// What the producer does if every slot holds a message that some consumer has not read yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// Refuses the send.
    Busy,
    /// Drops the oldest message that no consumer is reading. Consumers that have not read the oldest message lose it.
    DropOldest,
}

/// The options of a ring.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub slots: u32,
    /// The maximum payload size, in bytes.
    pub payload_bytes: u64,
    pub when_full: WhenFull,
}

/// The producer of a ring. Dropping the producer closes the ring. Consumers keep their mapping of the ring until they
/// leave.
pub struct Producer {
    segment: Arc<Segment>,
    registry: Arc<Registry>,
    admission: Admission,
    when_full: WhenFull,
    large: bool,
    /// The number of the next message; `slot` is the slot of the next message.
    seq: u64,
    slot: u16,
    /// The free slots. The slot that was freed most recently comes last in this list, because it is most likely still
    /// in the caches.
    free: Vec<u16>,
    /// The published slots that are not known to be free, oldest first. These slots hold the messages `oldest`, `oldest
    /// + 1`, and so on.
    in_flight: VecDeque<u16>,
    oldest: u64,
    /// The slots of dropped messages that a consumer was still reading when the message was dropped.
    parked: Vec<u16>,
}

impl Producer {
    /// Creates a ring and starts to admit consumers of `link`.
    ///
    /// # Errors
    ///
    /// Fails if the options are invalid, or if memory, a socket or a thread is not available.
    pub fn open(link: &str, options: &Options) -> Result<Self> {
        let segment = Arc::new(Segment::create(Geometry::new(options.slots, options.payload_bytes)?)?);
        let (seq, slot) = (1, 0);
        let registry = Arc::new(Registry::new(segment.clone(), Position { seq, slot, holding: false }));
        let admission = Admission::open(link, segment.clone(), registry.clone(), options.when_full)?;
        let slots = options.slots as usize;
        Ok(Self {
            large: segment.geometry().stride >= LARGE_SLOT_BYTES,
            segment,
            registry,
            admission,
            when_full: options.when_full,
            seq,
            slot,
            free: (1..options.slots as u16).rev().collect(),
            in_flight: VecDeque::with_capacity(slots),
            oldest: seq,
            parked: Vec::with_capacity(slots),
        })
    }

    /// Returns the address to which consumers connect.
    pub fn address(&self) -> &str {
        self.admission.address()
    }

    /// Returns the number of connected consumers.
    pub fn consumers(&self) -> u32 {
        self.registry.consumers()
    }

    /// Loans the next slot for a frame. Returns `None` if all slots are in use. Never waits. A loan that is dropped
    /// without being published has no effect.
    ///
    /// # Errors
    ///
    /// Fails if the payload is larger than the ring's maximum.
    #[inline]
    pub fn loan(&mut self, payload_bytes: usize) -> Result<Option<Loan<'_>>> {
        Ok(self.reserve(payload_bytes)?.then_some(Loan { producer: self, payload_bytes }))
    }

    /// Returns the index of the reserved slot, for callers that cannot hold a [`Loan`].
    pub fn slot(&self) -> u16 {
        self.slot
    }

    /// Returns the address of the frame in a slot.
    pub fn frame_at(&self, slot: u16) -> *mut u8 {
        self.segment.frame_at(slot)
    }

    pub fn geometry(&self) -> &Geometry {
        self.segment.geometry()
    }

    /// Reserves a slot for a frame; [`Self::loan`] first calls this function. Returns false if all slots are in use, so
    /// that no frame can be sent now.
    #[inline]
    pub fn reserve(&mut self, payload_bytes: usize) -> Result<bool> {
        if payload_bytes as u64 > self.segment.geometry().payload_bytes {
            return Err(self.too_large(payload_bytes));
        }
        Ok(self.secure_following())
    }

    /// Publishes the frame in the reserved slot. The reserved slot must hold a complete frame.
    ///
    /// # Panics
    ///
    /// Panics if no slot was reserved.
    #[inline]
    pub fn publish(&mut self, payload_bytes: usize) {
        let following = self.free.pop().expect("reserve() answered true");
        let slot = self.segment.slot(self.slot);
        let meta = Meta { payload_bytes: payload_bytes as u64, next: following };
        slot.meta.store(meta.pack(), Ordering::Relaxed);
        slot.seq.store(self.seq, Ordering::Release);
        if self.registry.has_sleepers() {
            self.segment.bell().ring();
        }
        self.advance(following);
    }

    #[inline]
    fn advance(&mut self, following: u16) {
        self.in_flight.push_back(self.slot);
        self.seq += 1;
        self.slot = following;
        self.registry.set_head(self.head());
    }

    /// Ensures that the producer knows a free slot for the following message, because each publication names the next
    /// message's slot. Returns false if no slot is free.
    #[inline]
    fn secure_following(&mut self) -> bool {
        if self.large || self.free.is_empty() {
            self.take_back();
        }
        !self.free.is_empty() || (self.when_full == WhenFull::DropOldest && self.drop_oldest())
    }

    /// Reclaims the slots that every consumer has passed.
    fn take_back(&mut self) {
        let audience = self.registry.lock_consumers();
        let (free, dropping) = (&mut self.free, self.when_full == WhenFull::DropOldest);
        self.parked.retain(|&slot| audience.holds(slot) || free_slot(free, slot));
        let behind = audience.oldest_needed(self.seq);
        while self.oldest < behind {
            let Some(slot) = self.in_flight.pop_front() else { break };
            self.oldest += 1;
            let list = if dropping && audience.holds(slot) { &mut self.parked } else { &mut *free };
            list.push(slot);
        }
    }

    /// Frees the slot of the oldest message that no consumer is reading. Returns false if a consumer is reading every
    /// message.
    fn drop_oldest(&mut self) -> bool {
        let audience = self.registry.lock_consumers();
        while let Some(slot) = self.in_flight.pop_front() {
            let successor = self.in_flight.front().copied().unwrap_or(self.slot);
            audience.skip(self.oldest, Position { seq: self.oldest + 1, slot: successor, holding: false });
            self.oldest += 1;
            if !audience.holds(slot) {
                self.free.push(slot);
                return true;
            }
            self.parked.push(slot);
        }
        false
    }

    fn head(&self) -> Position {
        Position { seq: self.seq, slot: self.slot, holding: false }
    }

    fn too_large(&self, payload_bytes: usize) -> Error {
        let limit = self.segment.geometry().payload_bytes;
        Error::new(format!("a payload of {payload_bytes} bytes exceeds the ring's limit of {limit} bytes"))
            .remedy("open the link for the largest frame that will be sent")
    }
}

/// Adds a slot to the free slots. The result is always false, so that `retain` removes the slot from the list that
/// `retain` filters.
fn free_slot(free: &mut Vec<u16>, slot: u16) -> bool {
    free.push(slot);
    false
}

/// A slot that is loaned for writing.
pub struct Loan<'a> {
    producer: &'a mut Producer,
    payload_bytes: usize,
}

impl Loan<'_> {
    /// Returns the header and the payload of the frame. Header and payload still contain an earlier message, so the
    /// caller must overwrite them completely.
    #[inline]
    pub fn frame(&mut self) -> (&mut [u8; HEADER_BYTES], &mut [u8]) {
        let frame = self.producer.frame_at(self.producer.slot);
        // SAFETY: the slot is free, so only this loan accesses its bytes. `reserve` checked that the payload fits.
        unsafe {
            let payload = std::slice::from_raw_parts_mut(frame.add(HEADER_BYTES), self.payload_bytes);
            (&mut *frame.cast(), payload)
        }
    }

    /// Publishes the frame to all consumers.
    #[inline]
    pub fn publish(self) {
        self.producer.publish(self.payload_bytes);
    }
}
