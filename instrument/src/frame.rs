//! Defines the 64-byte little-endian header of every frame, and the checks that let a receiver refuse frames.

use std::fmt;

/// The size of the header on the wire.
pub const HEADER_BYTES: usize = 64;
/// The magic bytes `HOPM`.
pub const MAGIC: u32 = u32::from_le_bytes(*b"HOPM");
/// The version of the header's layout.
pub const FRAME_VERSION: u16 = 1;

/// The flags of a frame. A frame with an unknown flag is malformed.
pub mod flags {
    /// The message was sent before `go` to test whether a branch delivers, and is never a sample.
    pub const PROBE: u16 = 1;
    /// The message was sent after `go` but before the first sample, and is never a sample.
    pub const WARMUP: u16 = 2;
    /// The message is the last one of the pair.
    pub const LAST: u16 = 4;
    /// `checksum` holds the CRC-32C of the payload.
    pub const CHECKSUM: u16 = 8;
    /// All known flags.
    pub const KNOWN: u16 = 15;
}

/// The offset of `sent_ns`, the only field that the sender writes after all others.
pub const SENT_AT: usize = 40;

/// The decoded header. Offsets: magic 0, version 4, flags 6, run 8, pair 16, reserved 20, seq 24, due 32, sent 40,
/// length 48, checksum 56, reserved 60.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub flags: u16,
    /// The run that this frame belongs to. Frames of a different run are foreign.
    pub run: u64,
    /// The index of the pair in the cell.
    pub pair: u32,
    /// The number of the message, counted from 0. Samples, probes and warm-up messages are numbered separately.
    pub seq: u64,
    /// When the message was due, in nanoseconds of CLOCK_MONOTONIC.
    pub due_ns: i64,
    /// When the message was passed to the transport.
    pub sent_ns: i64,
    /// The payload's length in bytes.
    pub length: u64,
    /// The CRC-32C of the payload if `CHECKSUM` is set, otherwise 0.
    pub checksum: u32,
}

/// The reason why a receiver refuses a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The bytes are not a frame, are incomplete, or have a different version. The transport probably corrupts frames.
    Malformed,
    /// The bytes are a valid frame of a different run or pair. The probable cause is that two links use one topic by
    /// mistake.
    Foreign,
}

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Malformed => "malformed frame",
            Self::Foreign => "frame of another run",
        })
    }
}

impl Header {
    /// Writes all fields.
    pub fn write(&self, out: &mut [u8; HEADER_BYTES]) {
        out[0..4].copy_from_slice(&MAGIC.to_le_bytes());
        out[4..6].copy_from_slice(&FRAME_VERSION.to_le_bytes());
        out[6..8].copy_from_slice(&self.flags.to_le_bytes());
        out[8..16].copy_from_slice(&self.run.to_le_bytes());
        out[16..20].copy_from_slice(&self.pair.to_le_bytes());
        out[20..24].copy_from_slice(&[0; 4]);
        out[24..32].copy_from_slice(&self.seq.to_le_bytes());
        out[32..40].copy_from_slice(&self.due_ns.to_le_bytes());
        out[40..48].copy_from_slice(&self.sent_ns.to_le_bytes());
        out[48..56].copy_from_slice(&self.length.to_le_bytes());
        out[56..60].copy_from_slice(&self.checksum.to_le_bytes());
        out[60..64].copy_from_slice(&[0; 4]);
    }

    /// Writes only the sent time, to a header that is otherwise complete.
    pub fn stamp_sent(out: &mut [u8; HEADER_BYTES], sent_ns: i64) {
        out[SENT_AT..SENT_AT + 8].copy_from_slice(&sent_ns.to_le_bytes());
    }

    /// Decodes and validates a header and its payload length.
    ///
    /// # Errors
    ///
    /// Returns [`Refused::Malformed`] unless the frame is complete and has the version [`FRAME_VERSION`].
    #[inline]
    pub fn read(bytes: &[u8], payload_bytes: usize) -> Result<Self, Refused> {
        let bytes: &[u8; HEADER_BYTES] = bytes.try_into().map_err(|_| Refused::Malformed)?;
        let header = Self::fields(bytes);
        let sound = word32(bytes, 0) == MAGIC
            && word16(bytes, 4) == FRAME_VERSION
            && header.flags & !flags::KNOWN == 0
            && word32(bytes, 20) == 0
            && word32(bytes, 60) == 0
            && header.length == payload_bytes as u64;
        if sound { Ok(header) } else { Err(Refused::Malformed) }
    }

    /// Decodes a header, and refuses a header that belongs to a different run or pair.
    #[inline]
    pub fn accept(bytes: &[u8], payload_bytes: usize, run: u64, pair: u32) -> Result<Self, Refused> {
        let header = Self::read(bytes, payload_bytes)?;
        if header.run == run && header.pair == pair { Ok(header) } else { Err(Refused::Foreign) }
    }

    /// Decodes all fields of the header without validation.
    pub(crate) fn fields(bytes: &[u8; HEADER_BYTES]) -> Self {
        Self {
            flags: word16(bytes, 6),
            run: word64(bytes, 8),
            pair: word32(bytes, 16),
            seq: word64(bytes, 24),
            due_ns: word64(bytes, 32) as i64,
            sent_ns: word64(bytes, 40) as i64,
            length: word64(bytes, 48),
            checksum: word32(bytes, 56),
        }
    }

    pub fn is(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// Returns whether this message is a sample, that is, neither a probe nor a warm-up message.
    pub fn is_sample(&self) -> bool {
        !self.is(flags::PROBE | flags::WARMUP)
    }
}

fn word16(bytes: &[u8; HEADER_BYTES], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn word32(bytes: &[u8; HEADER_BYTES], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

fn word64(bytes: &[u8; HEADER_BYTES], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}
