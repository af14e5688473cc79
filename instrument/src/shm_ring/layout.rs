//! Defines the layout of the segment, and the atomic words through which producer and consumers communicate.

use std::sync::atomic::{AtomicU32, AtomicU64};

use crate::prelude::*;

/// The maximum number of consumers of one ring, because one 64-bit word has one bit for each seat.
pub const MAX_CONSUMERS: usize = 64;
/// The minimum number of slots. The slot of the next message is always reserved, so a send needs one more slot.
pub const MIN_SLOTS: u32 = 2;
/// The maximum number of slots. A slot index must fit into the 16 bits that the packed words reserve for the index.
pub const MAX_SLOTS: u32 = 4096;
/// The maximum payload size, in bytes. Below this limit, a payload length easily fits into the 48 bits that the packed
/// words reserve for the length.
pub const MAX_PAYLOAD_BYTES: u64 = 1 << 40;

/// The size of two cache lines. Words that different processes write are at least this far apart. At this distance, two
/// words share neither a cache line nor a pair of lines that the processor prefetches together.
pub const PAIR: usize = 128;
/// The offset of a frame's header in its slot. The header follows the cache line with the publication word, so the
/// processor loads both when it prefetches the pair of lines.
pub const HEADER_AT: usize = 64;
/// The offset of a frame's payload in its slot.
pub const PAYLOAD_AT: usize = 128;
/// The minimum length of the control part, which is mapped in whole pages.
pub const CONTROL_BYTES: usize = PAIR + MAX_CONSUMERS * PAIR;

const SLOT_BITS: u32 = 16;
const SLOT_MASK: u64 = (1 << SLOT_BITS) - 1;

/// The start of a slot: the words that a consumer watches until its message is available.
#[repr(C, align(64))]
pub struct SlotHead {
    /// The number of the message in this slot, or 0 if the slot has never held a message. The producer publishes a
    /// message by writing this word after all other bytes of the slot.
    pub seq: AtomicU64,
    /// The [`Meta`] of that message.
    pub meta: AtomicU64,
}

/// The futex word that all sleeping consumers share.
#[repr(C, align(128))]
pub struct BellWord(pub AtomicU32);

/// The progress of one consumer, in its own cache lines.
#[repr(C, align(128))]
pub struct Cursor {
    /// The consumer's [`Position`].
    pub position: AtomicU64,
    /// The slot that the consumer is reading. This slot number is valid only if the `holding` bit of `position` is set.
    pub held: AtomicU32,
}

/// The payload length of a message, and the slot of the following message.
#[derive(Clone, Copy)]
pub struct Meta {
    pub payload_bytes: u64,
    pub next: u16,
}

impl Meta {
    pub fn pack(self) -> u64 {
        self.payload_bytes << SLOT_BITS | u64::from(self.next)
    }

    pub fn unpack(word: u64) -> Self {
        Self { payload_bytes: word >> SLOT_BITS, next: (word & SLOT_MASK) as u16 }
    }
}

/// The message that a consumer waits for, its slot, and whether the consumer is still reading an earlier message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub seq: u64,
    pub slot: u16,
    pub holding: bool,
}

impl Position {
    pub const HOLDING: u64 = 1;

    pub fn pack(self) -> u64 {
        self.seq << (SLOT_BITS + 1) | u64::from(self.slot) << 1 | u64::from(self.holding)
    }

    pub fn unpack(word: u64) -> Self {
        Self { seq: word >> (SLOT_BITS + 1), slot: (word >> 1 & SLOT_MASK) as u16, holding: word & Self::HOLDING != 0 }
    }
}

/// The sizes of a segment, as the producer reports them to a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    pub slots: u32,
    /// The maximum payload size.
    pub payload_bytes: u64,
    /// The distance between the starts of two adjacent slots.
    pub stride: u64,
    /// The offset of the first slot.
    pub control_bytes: u64,
}

impl Geometry {
    /// Computes the sizes for `slots` slots with payloads of up to `payload_bytes`.
    ///
    /// # Errors
    ///
    /// Fails if a parameter is outside its limits.
    pub fn new(slots: u32, payload_bytes: u64) -> Result<Self> {
        if !(MIN_SLOTS..=MAX_SLOTS).contains(&slots) {
            return Err(Error::new(format!("a ring of {slots} slots is not possible"))
                .remedy(format!("set `slots` between {MIN_SLOTS} and {MAX_SLOTS}")));
        }
        if payload_bytes > MAX_PAYLOAD_BYTES {
            return Err(Error::new(format!(
                "a payload of {payload_bytes} bytes exceeds the limit of {MAX_PAYLOAD_BYTES} bytes"
            ))
            .remedy("use a smaller payload"));
        }
        let page = rustix::param::page_size() as u64;
        let control_bytes = (CONTROL_BYTES as u64).next_multiple_of(page);
        Ok(Self { slots, payload_bytes, stride: stride(payload_bytes), control_bytes })
    }

    /// Returns the length of the whole segment.
    pub fn bytes(&self) -> u64 {
        let slots = u64::from(self.slots) * self.stride;
        self.control_bytes + slots.next_multiple_of(rustix::param::page_size() as u64)
    }

    /// Returns whether this version of the program would have chosen these sizes for the same parameters. A segment
    /// with other sizes comes from a foreign program.
    pub fn is_sound(&self) -> bool {
        Self::new(self.slots, self.payload_bytes).is_ok_and(|own| own == *self)
    }
}

/// Rounds a slot's size up to an odd number of cache line pairs. If the distance between slots were a power of two, all
/// slots would compete for a few sets of the processor's caches.
fn stride(payload_bytes: u64) -> u64 {
    let pairs = (PAYLOAD_AT as u64 + payload_bytes).div_ceil(PAIR as u64);
    (pairs | 1) * PAIR as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_what_they_are_given() {
        let position = Position { seq: (1 << 47) - 1, slot: u16::MAX, holding: true };
        assert_eq!(Position::unpack(position.pack()), position);
        let meta = Meta::unpack(Meta { payload_bytes: MAX_PAYLOAD_BYTES, next: 4095 }.pack());
        assert_eq!((meta.payload_bytes, meta.next), (MAX_PAYLOAD_BYTES, 4095));
    }

    #[test]
    fn slots_hold_their_payload_and_spread_over_cache_sets() {
        for payload in [0, 1, 64, 128, 4096, 4_666_000] {
            let sizes = Geometry::new(16, payload).unwrap();
            assert!(sizes.stride >= PAYLOAD_AT as u64 + payload);
            assert_eq!(sizes.stride / PAIR as u64 % 2, 1);
            assert!(sizes.bytes() >= sizes.control_bytes + 16 * sizes.stride);
        }
    }

    #[test]
    fn sizes_of_another_making_are_not_sound() {
        let sizes = Geometry::new(4, 100).unwrap();
        assert!(sizes.is_sound());
        assert!(!Geometry { stride: sizes.stride - 128, ..sizes }.is_sound());
        assert!(!Geometry { control_bytes: 0, ..sizes }.is_sound());
        assert!(!Geometry { slots: 0, ..sizes }.is_sound());
    }
}
