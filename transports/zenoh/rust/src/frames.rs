//! Converts frames to zenoh's bytes and back.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use hopmeter_instrument::prelude::*;
use serde::Deserialize;
use zenoh::Wait;
use zenoh::bytes::ZBytes;
use zenoh::shm::{GarbageCollect, PosixShmProviderBackend, ShmProvider, ShmProviderBuilder, ZLayoutAllocError};

/// How the transport uses shared memory.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum SharedMemory {
    Off,
    /// zenoh itself copies large messages into shared memory.
    Auto,
    /// Frames are written directly into shared memory.
    Loan,
}

impl SharedMemory {
    /// Whether frames of the given size should go through shared memory.
    pub fn is_used_for(self, frame_bytes: usize) -> bool {
        self == Self::Loan || (self == Self::Auto && frame_bytes >= COPIED_FROM_BYTES)
    }
}

/// The minimum size of the messages that zenoh itself copies into shared memory.
const COPIED_FROM_BYTES: usize = 3072;

/// How many frames of the largest size fit into a sender's shared memory; `LEAST_BYTES` is the minimum size of this
/// memory.
const LENT_FRAMES: usize = 16;
const LEAST_BYTES: usize = 1 << 20;

/// The memory in which a sender's frames are written.
pub enum Memory {
    Pool(Arc<Pool>),
    Shared(Box<ShmProvider<PosixShmProviderBackend>>),
}

impl Memory {
    pub fn new(shared_memory: SharedMemory, frame_bytes: usize) -> Result<Self> {
        if shared_memory != SharedMemory::Loan {
            return Ok(Self::Pool(Arc::default()));
        }
        let bytes = (LENT_FRAMES * frame_bytes).max(LEAST_BYTES);
        let provider = ShmProviderBuilder::default_backend(bytes)
            .wait()
            .context(format!("reserving {bytes} bytes of shared memory for zenoh"))
            .map_err(|error| error.remedy("check that there is room in /dev/shm, or use shared_memory = \"off\""))?;
        Ok(Self::Shared(Box::new(provider)))
    }

    /// Lets `fill` write a frame, and calls `put` to send it. Returns busy if all shared memory is in use.
    #[inline]
    pub fn send(&self, payload_bytes: usize, fill: Fill<'_>, put: impl FnOnce(ZBytes) -> Result<()>) -> Result<Sent> {
        let Some(frame) = self.frame(payload_bytes, fill)? else { return Ok(Sent::Busy) };
        put(frame)?;
        Ok(Sent::Accepted)
    }

    /// Forwards a frame from zenoh by reference, and copies any other frame.
    #[inline]
    pub fn forward(&self, received: &Received<'_>, put: impl FnOnce(ZBytes) -> Result<()>) -> Result<Sent> {
        let Some(message) = received.native_as::<ZBytes>() else {
            return copy_on(received, |payload_bytes, fill| self.send(payload_bytes, fill, put));
        };
        put(message.clone())?;
        Ok(Sent::Accepted)
    }

    /// Returns a frame that `fill` has written, or `None` if all shared memory is in use.
    fn frame(&self, payload_bytes: usize, fill: Fill<'_>) -> Result<Option<ZBytes>> {
        let length = HEADER_BYTES + payload_bytes;
        match self {
            Self::Pool(pool) => {
                let mut loan = Loan { buffer: pool.take(length), pool: pool.clone() };
                fill.write(FrameMut::split(&mut loan.buffer));
                Ok(Some(Bytes::from_owner(loan).into()))
            }
            Self::Shared(provider) => match provider.alloc(length).with_policy::<GarbageCollect>().wait() {
                Ok(mut loan) => {
                    fill.write(FrameMut::split(&mut loan));
                    Ok(Some(loan.into()))
                }
                Err(ZLayoutAllocError::Alloc(_full)) => Ok(None),
                Err(cause) => Err(Error::new(format!("loaning {length} bytes of shared memory")).because(cause)),
            },
        }
    }
}

/// Released buffers for reuse. The memory is reused, because new memory for each large frame costs a page fault every 4
/// KiB.
#[derive(Default)]
pub struct Pool(Mutex<Vec<Vec<u8>>>);

impl Pool {
    fn take(&self, length: usize) -> Vec<u8> {
        let mut buffer = lock(&self.0).pop().unwrap_or_default();
        buffer.resize(length, 0);
        buffer
    }
}

/// A buffer that returns to its pool when zenoh drops the message.
struct Loan {
    buffer: Vec<u8>,
    pool: Arc<Pool>,
}

impl AsRef<[u8]> for Loan {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        lock(&self.pool.0).push(std::mem::take(&mut self.buffer));
    }
}

/// Counts the received frames, and the frames that came through shared memory, to prove that shared memory is used.
pub struct Arrivals {
    counts: bool,
    frames: AtomicU64,
    shared: AtomicU64,
}

impl Arrivals {
    pub fn new(shared_memory: SharedMemory) -> Self {
        let counts = shared_memory != SharedMemory::Off;
        Self { counts, frames: AtomicU64::new(0), shared: AtomicU64::new(0) }
    }

    /// Passes a message on as a frame, with the message attached, so that the message can be forwarded without a copy.
    pub fn count_and_lend<T>(&self, message: &ZBytes, hand_over: impl FnOnce(Received<'_>) -> T) -> T {
        self.frames.fetch_add(1, Ordering::Relaxed);
        if self.counts {
            self.shared.fetch_add(u64::from(message.as_shm().is_some()), Ordering::Relaxed);
        }
        // Borrows the bytes, or joins the pieces of a fragmented message.
        hand_over(Received::split(&message.to_bytes()).with_native(message))
    }

    /// Returns how the received frames travelled, and any difference from the settings. The first few frames do not use
    /// shared memory, because they arrive before both sides know each other's shared memory.
    pub fn facts(&self, way: &str, expected: bool) -> Vec<(String, String)> {
        let (frames, shared) = (self.frames.load(Ordering::Relaxed), self.shared.load(Ordering::Relaxed));
        if frames == 0 {
            return Vec::new();
        }
        if !self.counts {
            return vec![("path".into(), way.into())];
        }
        let counted = format!("shared memory for {shared} of {frames} frames received");
        let mut facts = vec![("path".into(), format!("{counted}, {way}"))];
        if expected && shared * 2 < frames {
            facts.push(("fallback".into(), counted));
        }
        facts
    }
}

/// Removes the files of zenoh's shared memory that this process has mapped. Other processes keep their mappings of
/// these files.
pub fn remove_mapped_segments() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    for path in maps.split_whitespace().filter(|word| word.starts_with("/dev/shm/") && word.ends_with(".zenoh")) {
        // Zenoh or the other side may already have removed the file.
        _ = std::fs::remove_file(path);
    }
}
