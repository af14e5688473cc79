//! The consumers of the ring and their progress, as the producer sees them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::thread::{MembarrierCommand, membarrier};

use super::layout::{Cursor, MAX_CONSUMERS, Position};
use super::segment::Segment;

/// The producer's thread and the thread that admits consumers share the registry; it is private to the producer's
/// process.
pub struct Registry {
    segment: Arc<Segment>,
    /// The occupied seats, one bit each, behind a lock that the producer takes only to look for free slots.
    live: Mutex<u64>,
    /// The occupied seats whose consumers may sleep; read at every publication.
    sleepers: AtomicU64,
    /// The [`Position`] of the next message; written at every publication, read when a consumer joins.
    head: AtomicU64,
}

impl Registry {
    pub fn new(segment: Arc<Segment>, head: Position) -> Self {
        // If the kernel refuses this, `seat` relies on the consumers' limited sleep.
        let _ = membarrier(MembarrierCommand::RegisterPrivateExpedited);
        Self { segment, live: Mutex::new(0), sleepers: AtomicU64::new(0), head: AtomicU64::new(head.pack()) }
    }

    /// Gives a new consumer a seat, with its cursor at the next message; returns `None` if all seats are occupied. The
    /// producer frees slots under the same lock. So there are two cases: either the producer last freed slots before
    /// this function took the lock, when it had published no more messages than the head that is read here; or it frees
    /// slots later and sees this cursor.
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
            // From now on the producer's thread knows of the sleeper: the sleeper can see an earlier publication, and a
            // later publication rings the bell.
            let _ = membarrier(MembarrierCommand::PrivateExpedited);
        }
        Some(seat)
    }

    /// Frees a seat. The consumer in this seat has left or died, and holds no slot any more.
    pub fn vacate(&self, seat: usize) {
        *self.lock() &= !(1 << seat);
        self.sleepers.fetch_and(!(1 << seat), Ordering::SeqCst);
    }

    /// The number of consumers.
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

    /// The current consumers; no consumer joins while this value exists.
    pub fn lock_consumers(&self) -> Audience<'_> {
        Audience { segment: &self.segment, live: self.lock() }
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The cursors of the live consumers.
pub struct Audience<'a> {
    segment: &'a Segment,
    live: MutexGuard<'a, u64>,
}

impl Audience<'_> {
    /// The first message that some consumer has not finished, or not begun if slots are held separately; `head` if
    /// there is none.
    pub fn oldest_needed(&self, head: u64) -> u64 {
        self.cursors().map(|cursor| load(cursor).seq).min().map_or(head, |first| first.min(head))
    }

    /// Whether a consumer is reading this slot now.
    pub fn holds(&self, slot: u16) -> bool {
        self.cursors().any(|cursor| load(cursor).holding && cursor.held.load(Ordering::Acquire) == u32::from(slot))
    }

    /// Moves every consumer that still waits for `seq` to the next message; a consumer that is reading continues.
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
    // The update fails only if the consumer has already passed `seq`; then there is nothing to skip.
    let _ = cursor.position.fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| {
        let now = Position::unpack(word);
        (now.seq <= seq).then(|| Position { holding: now.holding, ..following }.pack())
    });
}
