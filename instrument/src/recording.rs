//! Reads the recording that a flow replays: the due time and bytes of each message. The planner writes the file in
//! sending order, and a node maps it. docs/internals.md describes the file.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

use crate::error::{Context, Error, Result};
use crate::frame::flags;
use crate::spec::Flow;

/// The size of the file header; `RECORD_BYTES` is the size of a record.
const HEAD_BYTES: usize = 64;
const RECORD_BYTES: usize = 32;
const MAGIC: &[u8; 8] = b"HMREPLAY";
const VERSION: u32 = 1;

/// One message of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When the message is due, in nanoseconds after the start of the schedule.
    pub due_ns: i64,
    pub bytes: usize,
    /// The CRC-32C that the planner computed.
    pub checksum: u32,
    offset: usize,
}

/// The messages of a flow, including warm-up messages.
pub struct Recording {
    file: MappedFile,
    records: usize,
    warmup: u64,
    count: u64,
}

impl Recording {
    /// Maps the recording of a flow, and checks that it contains the planned messages.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be mapped, or if the planner did not write this file for this flow.
    pub fn open(path: &Path, flow: &Flow) -> Result<Self> {
        let doing = || format!("reading the recording {}", path.display());
        let file = MappedFile::open(path).map_err(|error| error.within(doing()))?;
        let (warmup, count) = (flow.warmup, flow.warmup + flow.messages);
        let records = records_at(file.bytes(), count).ok_or_else(|| damaged_error(path))?;
        let recording = Self { file, records, warmup, count };
        if recording.is_sound(flow.payload_bytes) { Ok(recording) } else { Err(damaged_error(path)) }
    }

    /// Returns whether every message is within the file, is not too large, and is not due before the previous message.
    fn is_sound(&self, most_bytes: usize) -> bool {
        let mut before_ns = 0;
        (0..self.count).all(|index| {
            let Some(entry) = self.entry_at(index) else { return false };
            let ends = entry.offset.checked_add(entry.bytes);
            let fits = entry.bytes <= most_bytes && ends.is_some_and(|end| end <= self.records);
            let in_order = entry.due_ns >= before_ns;
            before_ns = entry.due_ns;
            fits && in_order
        })
    }

    fn entry_at(&self, index: u64) -> Option<Entry> {
        if index >= self.count {
            return None;
        }
        let at = self.records + index as usize * RECORD_BYTES;
        let record = self.file.bytes().get(at..at + RECORD_BYTES)?;
        Some(Entry {
            due_ns: word64(record, 0) as i64,
            offset: word64(record, 8) as usize,
            bytes: word64(record, 16) as usize,
            checksum: word32(record, 24),
        })
    }

    /// Returns when message `index` is due, in nanoseconds after the start. `index` counts from the flow's first
    /// warm-up message.
    pub fn due_ns(&self, index: u64) -> Option<i64> {
        self.entry_at(index).map(|entry| entry.due_ns)
    }

    /// Returns the recorded message with the given flags and number, or `None` for a probe, because recordings contain
    /// no probes.
    pub fn entry(&self, marks: u16, seq: u64) -> Option<Entry> {
        self.index_of(marks, seq).and_then(|index| self.entry_at(index))
    }

    /// Returns the size of message `index`. `index` counts from the flow's first warm-up message.
    pub fn bytes_at(&self, index: u64) -> Option<usize> {
        self.entry_at(index).map(|entry| entry.bytes)
    }

    fn index_of(&self, marks: u16, seq: u64) -> Option<u64> {
        let is = |flag| marks & flag != 0;
        (!is(flags::PROBE)).then_some(if is(flags::WARMUP) { seq } else { self.warmup + seq })
    }

    /// Returns the recorded bytes of a message.
    pub fn payload(&self, entry: Entry) -> &[u8] {
        &self.file.bytes()[entry.offset..entry.offset + entry.bytes]
    }
}

/// Returns the offset of the records, or `None` unless the file has a valid header and ends with exactly `count`
/// records.
fn records_at(file: &[u8], count: u64) -> Option<usize> {
    let head = file.get(..HEAD_BYTES)?;
    let known = &head[..8] == MAGIC && word32(head, 8) == VERSION && word32(head, 12) as usize == RECORD_BYTES;
    let (found, records) = (word64(head, 16), word64(head, 24) as usize);
    let end = (count as usize).checked_mul(RECORD_BYTES).and_then(|bytes| records.checked_add(bytes));
    (known && found == count && records >= HEAD_BYTES && end == Some(file.len())).then_some(records)
}

fn damaged_error(path: &Path) -> Error {
    Error::new(format!("{} is not the recording that was planned for this flow", path.display()))
        .remedy("run the scenario again, and do not change its files meanwhile")
}

fn word32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

fn word64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

/// A file that is mapped for reading. All pages of the file are mapped in advance, so that no message waits for the
/// disk.
struct MappedFile {
    start: *const u8,
    length: usize,
}

// SAFETY: nothing writes to the mapping while it exists.
unsafe impl Send for MappedFile {}
// SAFETY: nothing writes to the mapping, so several threads may read it at once.
unsafe impl Sync for MappedFile {}

impl MappedFile {
    fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).context("opening the file")?;
        let length = file.metadata().context("reading its length")?.len() as usize;
        if length == 0 {
            return Err(Error::new("the file is empty"));
        }
        let how = libc::MAP_SHARED | libc::MAP_POPULATE;
        // SAFETY: the call creates a new mapping at an address that the kernel chooses, and the descriptor is open.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, how, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(Error::system(format!("mapping {length} bytes")).remedy("shorten the duration"));
        }
        Ok(Self { start: start.cast(), length })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping has this length and lasts until this value is dropped, and no other program writes the
        // file.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        // SAFETY: this is exactly the mapped range, and no slice of it outlives this value.
        unsafe { libc::munmap(self.start.cast_mut().cast(), self.length) };
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::payload;

    /// Returns the bytes of a recording file with the given due times and payloads.
    fn recording_file(messages: &[(i64, &[u8])]) -> Vec<u8> {
        let (mut bytes, mut records) = (vec![0; HEAD_BYTES], Vec::new());
        for (due_ns, payload) in messages {
            records.extend(due_ns.to_le_bytes());
            records.extend((bytes.len() as u64).to_le_bytes());
            records.extend((payload.len() as u64).to_le_bytes());
            records.extend(u64::from(payload::checksum(payload)).to_le_bytes());
            bytes.extend_from_slice(payload);
        }
        let at = bytes.len() as u64;
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&(RECORD_BYTES as u32).to_le_bytes());
        bytes[16..24].copy_from_slice(&(messages.len() as u64).to_le_bytes());
        bytes[24..32].copy_from_slice(&at.to_le_bytes());
        bytes.extend(records);
        bytes
    }

    /// Returns a recording that contains only samples.
    pub(crate) fn recording(messages: &[(i64, &[u8])]) -> Recording {
        let most_bytes = messages.iter().map(|(_, payload)| payload.len()).max().unwrap_or(0);
        open_file(&recording_file(messages), 0, messages.len() as u64, most_bytes).expect("a recording")
    }

    const MESSAGES: [(i64, &[u8]); 3] = [(0, b"ab"), (0, b""), (7_000, b"cdefg")];

    fn open_file(bytes: &[u8], warmup: u64, messages: u64, payload_bytes: usize) -> Result<Recording> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("one.replay");
        std::fs::write(&path, bytes).expect("written");
        let flow = crate::spec::tests::flow(warmup, messages, payload_bytes);
        Recording::open(&path, &flow)
    }

    #[test]
    fn messages_come_in_order_with_their_times_and_bytes() {
        let recording = open_file(&recording_file(&MESSAGES), 1, 2, 5).expect("a recording");
        let due: Vec<_> = (0..4).map(|index| recording.due_ns(index)).collect();
        assert_eq!(due, [Some(0), Some(0), Some(7_000), None]);
        let payload = |marks, seq| recording.entry(marks, seq).map(|entry| recording.payload(entry));
        assert_eq!(payload(flags::WARMUP, 0), Some(&b"ab"[..]));
        assert_eq!(payload(0, 0), Some(&b""[..]));
        assert_eq!(payload(flags::LAST, 1), Some(&b"cdefg"[..]));
        assert_eq!(payload(flags::PROBE, 0), None);
        assert_eq!([0, 2, 3].map(|index| recording.bytes_at(index)), [Some(2), Some(5), None]);
    }

    #[test]
    fn a_file_that_was_not_planned_for_the_flow_is_refused() {
        let whole = recording_file(&MESSAGES);
        let cut = &whole[..whole.len() - 1];
        let backwards = recording_file(&[(5, b"a"), (4, b"b"), (6, b"c")]);
        let mut outside = whole.clone();
        let last = outside.len() - RECORD_BYTES;
        outside[last + 8] = 255;
        let mut other = whole.clone();
        other[0] = b'x';
        for (bytes, what) in [(cut, "cut"), (&backwards, "backwards"), (&outside, "outside"), (&other, "other")] {
            assert!(open_file(bytes, 1, 2, 5).is_err(), "{what}");
        }
        assert!(open_file(&whole, 1, 3, 5).is_err(), "fewer messages than planned");
        assert!(open_file(&whole, 1, 2, 4).is_err(), "a message larger than planned");
        assert!(open_file(&[], 1, 2, 4).is_err_and(|error| error.to_string().contains("empty")));
    }
}
