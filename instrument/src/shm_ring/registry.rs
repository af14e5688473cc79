//! Tracks the consumers of a ring and their progress for the producer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::thread::{MembarrierCommand, membarrier};

use super::layout::{Cursor, MAX_CONSUMERS, Position};
use super::segment::Segment;

/// The consumers of a ring. The producer's thread and the admission thread share the registry, which exists only in the
/// producer's process.
pub struct Registry {
    segment: Arc<Segment>,
    /// The occupied seats, one bit each. The producer locks the mutex only when it searches for free slots.
    live: Mutex<u64>,
    /// The occupied seats with consumers that may sleep, one bit each. Every publication reads these bits.
    sleepers: AtomicU64,
    /// The [`Position`] of the next message. Every publication writes this position, and a consumer that joins reads
    /// it.
    head: AtomicU64,
}

impl Registry {
    pub fn new(segment: Arc<Segment>, head: Position) -> Self {
        // If the kernel rejects the registration, `seat` relies on the timeout of the consumers' sleep.
        let _ = membarrier(MembarrierCommand::RegisterPrivateExpedited);
        Self { segment, live: Mutex::new(0), sleepers: AtomicU64::new(0), head: AtomicU64::new(head.pack()) }
    }

    /// Gives a new consumer a seat, with its cursor at the next message. Returns `None` if all seats are occupied. The
    /// producer frees slots under the same lock as this function. If the producer freed slots before this function took
    /// the lock, the producer has not yet published beyond the head that this function reads. If the producer frees
    /// slots after this function has taken the lock, the producer sees the new consumer's cursor.
    pub fn seat(&self, may_sleep: bool) -> Option<usize> {
        let mut live = self.lock();
        let seat = (!*live).trailing_zeros() as usize;
        if seat >= MAX_CONSUMERS {
            return None;
        }
        self.segment.cursor(seat).position.store(self.head.load(Ordering::Acquire), Ordering::Release);
        *live |= 1 << seat;
        if may_sleep {
            self.sleepers.fetch_or(1 << seat, Ordering::SeqCst);
            // From here on, the producer's thread sees that this consumer may sleep. The consumer sees everything that
            // was published before this point, and every later publication wakes the consumer.
            let _ = membarrier(MembarrierCommand::PrivateExpedited);
        }
        Some(seat)
    }

    /// Frees the seat of a consumer that has left or died. The seat's consumer then holds no slot.
    pub fn vacate(&self, seat: usize) {
        *self.lock() &= !(1 << seat);
        self.sleepers.fetch_and(!(1 << seat), Ordering::SeqCst);
    }

    /// Returns the number of consumers.
    pub fn consumers(&self) -> u32 {
        self.lock().count_ones()
    }

    #[inline]
    pub fn set_head(&self, head: Position) {
        self.head.store(head.pack(), Ordering::Release);
    }

    #[inline]
    pub fn has_sleepers(&self) -> bool {
        self.sleepers.load(Ordering::Relaxed) != 0
    }

    /// Locks the set of current consumers, so that no consumer joins while the returned value exists.
    pub fn lock_consumers(&self) -> Audience<'_> {
        Audience { segment: &self.segment, live: self.lock() }
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The cursors of the current consumers.
pub struct Audience<'a> {
    segment: &'a Segment,
    live: MutexGuard<'a, u64>,
}

impl Audience<'_> {
    /// Returns the number of the first message that some consumer still needs, or `head` if the consumers need no
    /// messages. A consumer needs a message until the consumer has finished reading the message. If held slots are
    /// tracked separately, a consumer needs a message only until it begins to read the message.
    pub fn oldest_needed(&self, head: u64) -> u64 {
        self.cursors().map(|cursor| load(cursor).seq).min().map_or(head, |first| first.min(head))
    }

    /// Returns whether a consumer is currently reading the message in this slot.
    pub fn holds(&self, slot: u16) -> bool {
        self.cursors().any(|cursor| load(cursor).holding && cursor.held.load(Ordering::Acquire) == u32::from(slot))
    }

    /// Moves every consumer that still waits for the message `seq` to the following message. A consumer that is already
    /// reading a message continues to read that message.
    pub fn skip(&self, seq: u64, following: Position) {
        self.cursors().for_each(|cursor| skip_one(cursor, seq, following));
    }

    fn cursors(&self) -> impl Iterator<Item = &Cursor> {
        let mut live = *self.live;
        std::iter::from_fn(move || {
            let seat = live.trailing_zeros() as usize;
            live &= live.wrapping_sub(1);
            (seat < MAX_CONSUMERS).then(|| self.segment.cursor(seat))
        })
    }
}

fn load(cursor: &Cursor) -> Position {
    Position::unpack(cursor.position.load(Ordering::Acquire))
}

fn skip_one(cursor: &Cursor, seq: u64, following: Position) {
    // The update fails only if the consumer has already passed `seq`, in which case the cursor needs no change.
    let _ = cursor.position.fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| {
        let now = Position::unpack(word);
        (now.seq <= seq).then(|| Position { holding: now.holding, ..following }.pack())
    });
}
