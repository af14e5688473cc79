//! Implements a ring's consumer, which watches the slot of its next message.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::prelude::*;

use super::handshake;
use super::layout::{Cursor, Geometry, Meta, Position};
use super::producer::WhenFull;
use super::segment::Segment;

/// A consumer of a ring; dropping the consumer leaves the ring.
pub struct Consumer {
    segment: Arc<Segment>,
    seat: usize,
    when_full: WhenFull,
    /// The slot of the next message: a copy of this consumer's cursor in the shared segment. With `DropOldest`, the
    /// producer may advance the cursor in the segment.
    next: Position,
    /// The consumer's position after it has released the current message.
    after: Option<Position>,
    stop: Arc<AtomicBool>,
    /// Closing this descriptor tells the producer that the consumer has left.
    _connection: OwnedFd,
}

/// The slot and the length of the message that is being read.
#[derive(Clone, Copy, Debug)]
pub struct Claimed {
    pub slot: u16,
    pub payload_bytes: usize,
}

impl Consumer {
    /// Connects to the ring of `link` at `address`. The consumer receives the messages that are sent after this call.
    /// `may_sleep` states whether the caller will call [`Self::sleep`]. The producer checks for sleepers only if a
    /// consumer may sleep.
    ///
    /// # Errors
    ///
    /// Fails if no publisher exists, if the ring has no free seat, or if the publisher at `address` belongs to another
    /// link.
    pub fn connect(address: &str, link: &str, may_sleep: bool) -> Result<Self> {
        let ticket = handshake::request_seat(address, link, may_sleep)?;
        let segment = Arc::new(Segment::attach(ticket.memory, ticket.geometry)?);
        let next = load(segment.cursor(ticket.seat));
        check_slot(next.slot, segment.geometry())?;
        let stop = Arc::default();
        let (seat, when_full) = (ticket.seat, ticket.when_full);
        Ok(Self { segment, seat, when_full, next, after: None, stop, _connection: ticket.connection })
    }

    /// Passes the next message to `take`, if a message is available. Returns whether there was a message to read. The
    /// message's bytes are valid until `take` returns.
    ///
    /// # Errors
    ///
    /// Fails if the publisher wrote invalid metadata.
    #[inline]
    pub fn receive(&mut self, take: impl FnOnce(&[u8], &[u8])) -> Result<bool> {
        let Some(claimed) = self.claim()? else { return Ok(false) };
        let (header, payload) = self.frame(claimed);
        take(header, payload);
        self.release();
        Ok(true)
    }

    /// Claims the next message, if a message is available. The message stays readable until [`Self::release`] or the
    /// next claim.
    #[inline]
    pub fn claim(&mut self) -> Result<Option<Claimed>> {
        self.release();
        match self.when_full {
            WhenFull::Busy => self.claim_undisturbed(),
            WhenFull::DropOldest => self.claim_contested(),
        }
    }

    /// Releases the claimed message's slot.
    #[inline]
    pub fn release(&mut self) {
        let Some(after) = self.after.take() else { return };
        let cursor = self.segment.cursor(self.seat);
        match self.when_full {
            WhenFull::Busy => cursor.position.store(after.pack(), Ordering::Release),
            WhenFull::DropOldest => drop(cursor.position.fetch_and(!Position::HOLDING, Ordering::Release)),
        }
        self.next = after;
    }

    /// Sleeps until a message is available, the timeout expires, or an [`Interrupter`] ends the sleep. May return
    /// early.
    pub fn sleep(&self, timeout: Duration) {
        self.segment.bell().sleep(timeout, || self.is_ready() || self.is_stopped());
    }

    /// Returns whether an [`Interrupter`] has stopped this consumer.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Returns a handle with which another thread can end [`Self::sleep`] permanently.
    pub fn interrupter(&self) -> Interrupter {
        Interrupter { segment: self.segment.clone(), stop: self.stop.clone() }
    }

    /// Returns the address of a slot's frame: 64 bytes of header, then the payload.
    pub fn frame_at(&self, slot: u16) -> *const u8 {
        self.segment.frame_at(slot)
    }

    pub fn geometry(&self) -> &Geometry {
        self.segment.geometry()
    }

    #[inline]
    fn frame(&self, claimed: Claimed) -> (&[u8], &[u8]) {
        let frame = self.frame_at(claimed.slot);
        // SAFETY: `claim_slot` checked that the frame is within its slot, and nobody writes to a claimed slot.
        unsafe { std::slice::from_raw_parts(frame, HEADER_BYTES + claimed.payload_bytes) }.split_at(HEADER_BYTES)
    }

    /// Claims the next slot without marking the slot. With `Busy`, the producer does not change a slot until this
    /// consumer's cursor has passed the slot.
    #[inline]
    fn claim_undisturbed(&mut self) -> Result<Option<Claimed>> {
        let slot = self.segment.slot(self.next.slot);
        if slot.seq.load(Ordering::Acquire) != self.next.seq {
            return Ok(None);
        }
        let meta = Meta::unpack(slot.meta.load(Ordering::Relaxed));
        self.claim_slot(self.next, meta).map(Some)
    }

    /// Claims the next slot by marking the slot as held in this consumer's cursor. With `DropOldest`, the producer may
    /// reuse a slot that this consumer has not marked yet. Producer and consumer change the cursor by compare-and-swap.
    /// Only one of them succeeds, and the failing side detects the conflict.
    #[inline]
    fn claim_contested(&mut self) -> Result<Option<Claimed>> {
        let cursor = self.segment.cursor(self.seat);
        loop {
            let now = load(cursor);
            let slot = self.segment.slot(check_slot(now.slot, self.geometry())?);
            let seq = slot.seq.load(Ordering::Acquire);
            if seq < now.seq {
                return Ok(None);
            }
            // If the slot was reused in the meantime, these words are inconsistent, and the swap below fails.
            let meta = Meta::unpack(slot.meta.load(Ordering::Relaxed));
            if seq == now.seq && hold(cursor, now, meta.next) {
                return self.claim_slot(now, meta).map(Some);
            }
        }
    }

    #[inline]
    fn claim_slot(&mut self, at: Position, meta: Meta) -> Result<Claimed> {
        if meta.payload_bytes > self.geometry().payload_bytes {
            return Err(damage_error(format!("a payload of {} bytes", meta.payload_bytes)));
        }
        let slot = check_slot(meta.next, self.geometry())?;
        self.after = Some(Position { seq: at.seq + 1, slot, holding: false });
        Ok(Claimed { slot: at.slot, payload_bytes: meta.payload_bytes as usize })
    }

    fn is_ready(&self) -> bool {
        let next = match self.when_full {
            WhenFull::Busy => self.next,
            WhenFull::DropOldest => load(self.segment.cursor(self.seat)),
        };
        u32::from(next.slot) >= self.geometry().slots
            || self.segment.slot(next.slot).seq.load(Ordering::Acquire) >= next.seq
    }
}

/// Records in the cursor which message is being read (the message at `now`), and which message is next. Returns false
/// if the producer has already moved the cursor.
#[inline]
fn hold(cursor: &Cursor, now: Position, following: u16) -> bool {
    cursor.held.store(u32::from(now.slot), Ordering::Release);
    let holding = Position { seq: now.seq + 1, slot: following, holding: true };
    cursor.position.compare_exchange(now.pack(), holding.pack(), Ordering::AcqRel, Ordering::Relaxed).is_ok()
}

fn load(cursor: &Cursor) -> Position {
    Position::unpack(cursor.position.load(Ordering::Acquire))
}

#[inline]
fn check_slot(slot: u16, geometry: &Geometry) -> Result<u16> {
    if u32::from(slot) < geometry.slots { Ok(slot) } else { Err(damage_error(format!("slot {slot}"))) }
}

fn damage_error(what: String) -> Error {
    Error::new(format!("the publisher's ring refers to {what}, which does not exist"))
        .remedy("run `hopmeter build shm` so that all nodes have the same version")
}

/// A handle that ends a consumer's sleep from another thread.
pub struct Interrupter {
    segment: Arc<Segment>,
    stop: Arc<AtomicBool>,
}

impl Interrupter {
    /// Stops the consumer's sleep, and prevents every later sleep. Other consumers of the ring may wake up once without
    /// receiving a message.
    pub fn interrupt(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.segment.bell().ring();
    }
}
