//! Records, for each message that an endpoint sends, which received messages caused it. The records are stored in
//! memory that is reserved before `go`, and written to a file at the end.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{Context, Error, Result};

/// The first bytes of the file, which identify its format.
const MAGIC: &[u8; 8] = b"HMCAUSES";
/// The offset of the first record in the file.
const HEAD_BYTES: usize = 64;

/// States that an endpoint sent message `seq` because message `cause_seq` had arrived at `cause_endpoint`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cause {
    pub seq: u64,
    pub cause_seq: u64,
    pub cause_endpoint: u32,
    unused: u32,
}

impl Cause {
    pub fn of(seq: u64, cause_endpoint: u32, cause_seq: u64) -> Self {
        Self { seq, cause_seq, cause_endpoint, unused: 0 }
    }
}

/// Collects the causes of one endpoint's messages. Only one thread at a time uses a `Causes` value.
pub struct Causes {
    records: Vec<Cause>,
    endpoint: u32,
    unrecorded: u64,
    path: PathBuf,
}

impl Causes {
    /// Reserves memory for `capacity` records, and touches the memory so that no page faults occur later.
    ///
    /// # Errors
    ///
    /// Fails if the system does not have enough memory.
    pub fn create(path: &Path, endpoint: u32, capacity: u64) -> Result<Self> {
        let mut records = Vec::new();
        records.try_reserve_exact(capacity as usize).context("reserving memory for the causes of messages")?;
        records.resize(capacity as usize, Cause::default());
        records.clear();
        Ok(Self { records, endpoint, unrecorded: 0, path: path.to_owned() })
    }

    /// Stores a record, or counts the record as unrecorded if the reserved memory is full.
    pub fn push(&mut self, cause: Cause) {
        if self.records.len() == self.records.capacity() {
            self.unrecorded += 1;
        } else {
            self.records.push(cause);
        }
    }

    /// Writes the file: a header, then the records.
    ///
    /// # Errors
    ///
    /// Fails if the file already exists or cannot be written, or if the reserved memory was too small for all records.
    pub fn finish(self) -> Result<()> {
        let doing = format!("writing {} causes to {}", self.records.len(), self.path.display());
        if self.unrecorded > 0 {
            return Err(Error::new(format!("{doing}: {} more causes did not fit", self.unrecorded)));
        }
        let mut file = File::create_new(&self.path).context(&doing)?;
        let bytes: Vec<u8> = self.records.iter().flat_map(bytes_of).collect();
        file.write_all(&self.head()).and_then(|()| file.write_all(&bytes)).context(&doing)
    }

    fn head(&self) -> [u8; HEAD_BYTES] {
        let mut head = [0; HEAD_BYTES];
        head[0..8].copy_from_slice(MAGIC);
        head[8..12].copy_from_slice(&1u32.to_le_bytes());
        head[12..16].copy_from_slice(&(size_of::<Cause>() as u32).to_le_bytes());
        head[16..20].copy_from_slice(&self.endpoint.to_le_bytes());
        head[24..32].copy_from_slice(&(self.records.len() as u64).to_le_bytes());
        head
    }
}

fn bytes_of(cause: &Cause) -> [u8; size_of::<Cause>()] {
    let mut bytes = [0; size_of::<Cause>()];
    bytes[0..8].copy_from_slice(&cause.seq.to_le_bytes());
    bytes[8..16].copy_from_slice(&cause.cause_seq.to_le_bytes());
    bytes[16..20].copy_from_slice(&cause.cause_endpoint.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_holds_each_cause_after_a_head() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("causes");
        let mut causes = Causes::create(&path, 5, 2).expect("memory");
        causes.push(Cause::of(1, 3, 10));
        causes.push(Cause::of(2, 3, 11));
        causes.finish().expect("written");
        let bytes = std::fs::read(&path).expect("the file");
        assert_eq!(&bytes[0..8], MAGIC);
        assert_eq!((bytes[16], bytes[24], bytes.len()), (5, 2, HEAD_BYTES + 48));
        let second = &bytes[HEAD_BYTES + 24..];
        assert_eq!((second[0], second[8], second[16]), (2, 11, 3));
    }

    #[test]
    fn causes_that_do_not_fit_are_an_error_at_the_end() {
        let mut causes = Causes::create(Path::new("nowhere"), 0, 0).expect("memory");
        causes.push(Cause::of(0, 0, 0));
        assert!(causes.finish().is_err());
    }
}
