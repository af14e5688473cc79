//! Stores samples as fixed-size records, in memory that is mapped and touched before `go`.
//!
//! Recording never waits, never allocates and never fails. If the reserved memory is full, further records are only
//! counted. The disk space for the file is reserved at the start, so a full disk is reported before the measurement.
//! The file is written at the end, so that disk writes do not disturb the measurement.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::error::{Context, Error, Result};

/// The size of one record, in memory and in the file.
pub const RECORD_BYTES: usize = 64;
/// The offset of the first record in the file.
pub const HEAD_BYTES: usize = 4096;
/// The value of a timestamp that a record does not have.
pub const NONE_NS: i64 = i64::MIN;

/// The record of one message at one endpoint. Times are nanoseconds of CLOCK_MONOTONIC, or [`NONE_NS`].
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    pub seq: u64,
    pub endpoint: u32,
    /// The index of the server that replied, in the pattern `scatter`; 0 in all other patterns.
    pub copy: u32,
    pub due_ns: i64,
    pub sent_ns: i64,
    pub arrived_ns: i64,
    pub forwarded_ns: i64,
    pub encoded_ns: i64,
    pub decoded_ns: i64,
}

impl Record {
    /// Creates a record of message `seq` without times. The recorder sets the endpoint.
    pub fn of(seq: u64) -> Self {
        Self {
            seq,
            endpoint: 0,
            copy: 0,
            due_ns: NONE_NS,
            sent_ns: NONE_NS,
            arrived_ns: NONE_NS,
            forwarded_ns: NONE_NS,
            encoded_ns: NONE_NS,
            decoded_ns: NONE_NS,
        }
    }
}

/// The records of one endpoint. Only one thread at a time uses a recorder. The fields that every record needs come
/// first in the struct, so that these fields are adjacent in memory.
#[repr(C)]
pub struct Recorder {
    records: Mapping,
    count: usize,
    endpoint: u32,
    unrecorded: u64,
    file: File,
    path: PathBuf,
    is_written: bool,
}

impl Recorder {
    /// Reserves memory and disk space for `capacity` records.
    ///
    /// # Errors
    ///
    /// Fails if the file already exists or cannot be created, or if there is not enough disk space or memory.
    pub fn create(path: &Path, endpoint: u32, capacity: u64) -> Result<Self> {
        let doing = || format!("reserving {capacity} samples in {}", path.display());
        let file = File::create_new(path).context(doing())?;
        let bytes = capacity as usize * RECORD_BYTES;
        // SAFETY: the descriptor is open for writing.
        let refused = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, (HEAD_BYTES + bytes) as libc::off_t) };
        if refused != 0 {
            return Err(Error::new(doing()).because(std::io::Error::from_raw_os_error(refused)).remedy(
                "free disk space in the results folder, choose another folder with --out, or measure fewer messages",
            ));
        }
        let records = Mapping::of(capacity as usize).map_err(|error| error.within(doing()))?;
        Ok(Self { records, count: 0, unrecorded: 0, endpoint, file, path: path.to_owned(), is_written: false })
    }

    /// Stores a record, or counts the record as unrecorded if the reserved memory is full.
    #[inline]
    pub fn push(&mut self, record: Record) {
        if self.count == self.records.capacity {
            self.unrecorded += 1;
            return;
        }
        // SAFETY: `count` is smaller than the number of records that fit into the mapping.
        unsafe { self.records.first.add(self.count).write(Record { endpoint: self.endpoint, ..record }) };
        self.count += 1;
    }

    /// Returns the number of records for which the recorder had no room.
    pub fn unrecorded_count(&self) -> u64 {
        self.unrecorded
    }

    /// Writes the file: a header, then the records, and nothing else.
    ///
    /// # Errors
    ///
    /// Fails if writing fails. The disk space is reserved, so writing fails only if the disk is broken.
    pub fn finish(mut self) -> Result<()> {
        self.write()
    }

    fn write(&mut self) -> Result<()> {
        self.is_written = true;
        let doing = format!("writing {} samples to {}", self.count, self.path.display());
        // SAFETY: `push` wrote the first `count` records, and Record has no padding.
        let bytes = unsafe { std::slice::from_raw_parts(self.records.first.cast::<u8>(), self.count * RECORD_BYTES) };
        self.file.write_all_at(bytes, HEAD_BYTES as u64).context(&doing)?;
        self.file.set_len((HEAD_BYTES + bytes.len()) as u64).context(&doing)?;
        self.file.write_all(&self.head()).context(&doing)
    }

    /// Returns the file header. The header is written last, so a file without a header is incomplete.
    fn head(&self) -> [u8; HEAD_BYTES] {
        let mut head = [0; HEAD_BYTES];
        head[0..8].copy_from_slice(b"HMSAMPLE");
        head[8..12].copy_from_slice(&1u32.to_le_bytes());
        head[12..16].copy_from_slice(&(RECORD_BYTES as u32).to_le_bytes());
        head[16..20].copy_from_slice(&self.endpoint.to_le_bytes());
        head[24..32].copy_from_slice(&(self.count as u64).to_le_bytes());
        head[32..40].copy_from_slice(&self.unrecorded.to_le_bytes());
        head
    }
}

/// If an endpoint fails, for example because its broker has ended, the recorder still writes the samples taken so far.
impl Drop for Recorder {
    fn drop(&mut self) {
        if !self.is_written {
            let _ = self.write();
        }
    }
}

/// Anonymous memory with every page already mapped.
#[repr(C)]
struct Mapping {
    first: *mut Record,
    capacity: usize,
}

// SAFETY: this value alone owns the mapping.
unsafe impl Send for Mapping {}

impl Mapping {
    fn of(capacity: usize) -> Result<Self> {
        let bytes = (capacity * RECORD_BYTES).max(1);
        // SAFETY: the call creates a new anonymous mapping at an address that the kernel chooses.
        let first = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE,
                -1,
                0,
            )
        };
        if first == libc::MAP_FAILED {
            return Err(Error::system(format!("mapping {bytes} bytes")).remedy("measure fewer messages per trial"));
        }
        Ok(Self { first: first.cast(), capacity })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is exactly the mapped range, and nothing else uses it.
        unsafe { libc::munmap(self.first.cast(), (self.capacity * RECORD_BYTES).max(1)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_counted_and_the_file_holds_the_rest() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("samples");
        let mut recorder = Recorder::create(&path, 3, 2).expect("a recorder");
        for seq in 0..5 {
            recorder.push(Record { arrived_ns: 10 + seq as i64, ..Record::of(seq) });
        }
        assert_eq!(recorder.unrecorded_count(), 3);
        recorder.finish().expect("written");
        let bytes = std::fs::read(&path).expect("the file");
        assert_eq!(bytes.len(), HEAD_BYTES + 2 * RECORD_BYTES);
        assert_eq!(&bytes[0..8], b"HMSAMPLE");
        assert_eq!(bytes[24], 2);
        assert_eq!(bytes[32], 3);
        assert_eq!(bytes[HEAD_BYTES + RECORD_BYTES], 1, "the second record's seq");
        assert_eq!(bytes[HEAD_BYTES + 8], 3, "the endpoint");
    }

    #[test]
    fn a_recorder_that_is_dropped_leaves_its_samples() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("samples");
        let mut recorder = Recorder::create(&path, 3, 2).expect("a recorder");
        recorder.push(Record::of(7));
        drop(recorder);
        let bytes = std::fs::read(&path).expect("the file");
        assert_eq!(bytes.len(), HEAD_BYTES + RECORD_BYTES);
        assert_eq!((bytes[24], bytes[HEAD_BYTES]), (1, 7));
    }

    #[test]
    fn a_file_that_exists_is_not_overwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("samples");
        std::fs::write(&path, "mine").expect("written");
        let error = Recorder::create(&path, 0, 1).err().expect("refused");
        assert!(error.to_string().contains("samples"), "{error}");
        assert_eq!(std::fs::read(&path).expect("still there"), b"mine");
    }

    #[test]
    fn more_than_the_disk_holds_is_refused_with_a_remedy() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = Recorder::create(&folder.path().join("samples"), 0, 1 << 50).err().expect("refused");
        assert!(error.remedy_text().is_some_and(|remedy| remedy.contains("--out")), "{error}");
    }
}
