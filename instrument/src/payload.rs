//! Generates the content of payloads, and provides the checksum that receivers verify.

use std::sync::Arc;

use crate::error::{Context, Error, Result};
use crate::frame::Header;
use crate::recording::Recording;
use crate::spec::{Flow, PaceKind};

/// The content of payloads.
#[derive(Default)]
pub enum Content {
    #[default]
    Pattern,
    /// The bytes of a file: one payload for every message, or several payloads that repeat in order.
    File { bytes: Vec<u8>, each: usize },
    /// The messages of a recording, each with its own size.
    Recording(Arc<Recording>),
}

impl Content {
    /// Reads the flow's recording or payload file, if the flow has a recording or a payload file.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, or if its size differs from the plan.
    pub fn of(flow: &Flow) -> Result<Self> {
        if flow.pace.kind == PaceKind::Replay {
            let path = flow.recording.as_ref().ok_or_else(|| Error::new("the pace `replay` needs a recording"))?;
            return Ok(Self::Recording(Arc::new(Recording::open(path, flow)?)));
        }
        let Some(path) = &flow.payload_file else { return Ok(Self::Pattern) };
        let bytes = std::fs::read(path).context(format!("reading the payload {}", path.display()))?;
        let (have, planned) = (bytes.len(), flow.payload_bytes.saturating_mul(flow.payload_frames));
        if have == planned {
            return Ok(Self::File { bytes, each: flow.payload_bytes });
        }
        Err(Error::new(format!(
            "the payload {} has {have} bytes, but had {planned} bytes when the run was planned",
            path.display()
        ))
        .remedy("do not change the file during the measurement"))
    }

    /// Returns the recording that supplies the messages, or `None` if the flow replays no recording.
    pub fn recording(&self) -> Option<&Arc<Recording>> {
        match self {
            Self::Recording(recording) => Some(recording),
            Self::Pattern | Self::File { .. } => None,
        }
    }

    /// Writes a message's payload, and returns the payload's checksum if the checksum is already known.
    pub fn fill(&self, header: &Header, payload: &mut [u8]) -> Option<u32> {
        let entry = self.recording().and_then(|recording| recording.entry(header.flags, header.seq));
        match (self, entry) {
            (Self::Recording(recording), Some(entry)) if entry.bytes == payload.len() => {
                payload.copy_from_slice(recording.payload(entry));
                Some(entry.checksum)
            }
            _ => {
                self.fill_fixed(header.seq, payload);
                None
            }
        }
    }

    /// Writes a payload for messages of equal size.
    fn fill_fixed(&self, seq: u64, payload: &mut [u8]) {
        match self {
            Self::File { bytes, each } if *each == payload.len() && !bytes.is_empty() => {
                let first = (seq % (bytes.len() / each) as u64) as usize * each;
                payload.copy_from_slice(&bytes[first..first + each]);
            }
            _ => fill(seq, payload),
        }
    }
}

/// Fills a payload with a pattern that depends on the seed, as fast as memory can be written.
pub fn fill(seed: u64, payload: &mut [u8]) {
    let mut word = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut chunks = payload.chunks_exact_mut(8);
    for chunk in &mut chunks {
        chunk.copy_from_slice(&word.to_le_bytes());
        word = word.wrapping_add(0x2545_F491_4F6C_DD1D);
    }
    for (byte, pattern) in chunks.into_remainder().iter_mut().zip(word.to_le_bytes()) {
        *byte = pattern;
    }
}

/// Returns the CRC-32C of a payload.
pub fn checksum(payload: &[u8]) -> u32 {
    crc32c::crc32c(payload)
}

/// Reads every byte of a payload, like a receiver that uses the data.
#[inline]
pub fn read_all(payload: &[u8]) {
    let chunks = payload.chunks_exact(8);
    let rest = chunks.remainder().iter().fold(0u64, |sum, byte| sum ^ u64::from(*byte));
    let sum = chunks.fold(rest, |sum, chunk| sum ^ u64::from_ne_bytes(std::array::from_fn(|i| chunk[i])));
    std::hint::black_box(sum);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::flags;
    use crate::recording::tests::recording;

    #[test]
    fn every_seed_and_every_byte_changes_the_checksum() {
        let mut first = [0; 1003];
        fill(1, &mut first);
        let mut second = first;
        fill(2, &mut second);
        assert_ne!(checksum(&first), checksum(&second));
        second = first;
        second[1002] ^= 1;
        assert_ne!(checksum(&first), checksum(&second));
    }

    #[test]
    fn the_frames_of_a_file_go_in_their_order_over_and_over() {
        let video = Content::File { bytes: vec![10, 11, 20, 21, 30, 31], each: 2 };
        let mut payload = [0; 2];
        for (seq, first) in [(0, 10), (1, 20), (2, 30), (3, 10), (u64::MAX, 10)] {
            video.fill_fixed(seq, &mut payload);
            assert_eq!(payload, [first, first + 1], "message {seq}");
        }
    }

    #[test]
    fn a_recording_gives_each_message_its_bytes_and_checksum_and_a_probe_a_pattern() {
        let content = Content::Recording(Arc::new(recording(&[(0, b"ab"), (9, b"cde")])));
        let header =
            |marks, seq| Header { flags: marks, run: 0, pair: 0, seq, due_ns: 0, sent_ns: 0, length: 0, checksum: 0 };
        let (mut two, mut three) = ([0; 2], [0; 3]);
        assert_eq!(content.fill(&header(0, 0), &mut two), Some(checksum(b"ab")));
        assert_eq!(content.fill(&header(flags::LAST, 1), &mut three), Some(checksum(b"cde")));
        assert_eq!((&two, &three), (b"ab", b"cde"));
        assert_eq!(content.fill(&header(flags::PROBE, 0), &mut three), None);
        assert_ne!(&three, b"cde");
    }

    #[test]
    fn an_empty_file_fills_an_empty_payload() {
        Content::File { bytes: Vec::new(), each: 0 }.fill_fixed(7, &mut []);
    }
}
