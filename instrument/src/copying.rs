//! Copies a block of memory to a warm, cold or fresh destination, like a receiver that retains a frame.

use std::ffi::c_void;
use std::ptr;
use std::slice;
use std::sync::OnceLock;

use serde::Deserialize;

use crate::error::{Error, Result};

const PAGE: usize = 4096;
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// The instructions or function that copy the bytes.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// The C library's `memcpy`, which selects its instructions by size and processor.
    #[default]
    Memcpy,
    /// Store instructions that bypass the caches, 16 bytes at a time (x86-64).
    Stream,
    /// The processor's own block copy, `rep movsb` (x86-64).
    Rep,
    /// A loop over single bytes.
    Bytes,
    /// The copy function of the adapter's library.
    Own,
}

/// The state of the destination when the copy begins.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Into {
    /// The destination of the previous copy, parts of which may still be cached.
    #[default]
    Warm,
    /// Mapped pages that are not cached (x86-64).
    Cold,
    /// Pages that the kernel must map first, like the pages of newly allocated memory.
    Fresh,
}

/// Copies `bytes` bytes. The source and the destination must not overlap.
pub type Function = unsafe extern "C" fn(to: *mut c_void, from: *const c_void, bytes: usize);

static OWN: OnceLock<Function> = OnceLock::new();

/// Sets the function of [`Way::Own`]. Only the first call of this function has an effect.
pub fn copy_with(own: Function) {
    OWN.get_or_init(|| own);
}

/// A destination for copies, and the function that copies bytes to the destination.
pub struct Copier {
    copy: Function,
    into: Into,
    to: Pages,
}

impl Copier {
    /// Allocates room for `bytes` bytes. The destination is in the same state before the first copy as before every
    /// later copy.
    ///
    /// # Errors
    ///
    /// Fails if there is not enough memory, if this processor does not support the copy method, or if the adapter has
    /// no copy function.
    pub fn new(way: Way, into: Into, bytes: usize) -> Result<Self> {
        if into == Into::Cold && !cfg!(target_arch = "x86_64") {
            return Err(unsupported_here_error("flushing caches"));
        }
        let mut copier = Self { copy: copy_function(way)?, into, to: Pages::new(bytes)? };
        copier.to.bytes().fill(2);
        copier.prepare_next();
        Ok(copier)
    }

    /// Copies as many bytes as the destination has room for.
    #[inline]
    pub fn copy(&mut self, from: &[u8]) {
        let to = self.to.bytes();
        let bytes = from.len().min(to.len());
        // SAFETY: source and destination have at least that length, and nothing else uses `to`.
        unsafe { (self.copy)(to.as_mut_ptr().cast(), from.as_ptr().cast(), bytes) };
    }

    /// Prepares the destination for the next copy. Call `prepare_next` outside any measured interval.
    pub fn prepare_next(&mut self) {
        match self.into {
            Into::Warm => {}
            Into::Cold => flush(self.to.bytes()),
            Into::Fresh => self.to.give_back(),
        }
    }
}

fn copy_function(way: Way) -> Result<Function> {
    match way {
        Way::Memcpy => Ok(memcpy),
        Way::Bytes => Ok(by_bytes),
        Way::Own => OWN.get().copied().ok_or_else(|| {
            Error::new("this adapter has no copy function of its own").remedy("copy in another way, such as memcpy")
        }),
        #[cfg(target_arch = "x86_64")]
        Way::Stream => Ok(stream),
        #[cfg(target_arch = "x86_64")]
        Way::Rep => Ok(rep),
        #[cfg(not(target_arch = "x86_64"))]
        Way::Stream | Way::Rep => Err(unsupported_here_error("this way of copying")),
    }
}

fn unsupported_here_error(what: &str) -> Error {
    Error::new(format!("{what} works only on x86-64")).remedy("copy with memcpy or bytes, into warm or fresh")
}

unsafe extern "C" fn memcpy(to: *mut c_void, from: *const c_void, bytes: usize) {
    // SAFETY: the caller guarantees that both blocks have `bytes` bytes and do not overlap.
    unsafe { libc::memcpy(to, from, bytes) };
}

/// The memory accesses are volatile, because otherwise the compiler turns the loop into a memcpy.
unsafe extern "C" fn by_bytes(to: *mut c_void, from: *const c_void, bytes: usize) {
    for at in 0..bytes {
        // SAFETY: the caller guarantees that both blocks have `bytes` bytes.
        unsafe { to.cast::<u8>().add(at).write_volatile(from.cast::<u8>().add(at).read()) };
    }
}

#[cfg(target_arch = "x86_64")]
unsafe extern "C" fn rep(to: *mut c_void, from: *const c_void, bytes: usize) {
    // SAFETY: the caller guarantees valid pointers, and the ABI guarantees that the direction flag is clear.
    unsafe {
        std::arch::asm!("rep movsb", inout("rcx") bytes => _, inout("rdi") to => _, inout("rsi") from => _,
            options(nostack, preserves_flags));
    }
}

/// `to` must be page-aligned. The remainder, fewer than 16 bytes, is copied with memcpy.
#[cfg(target_arch = "x86_64")]
unsafe extern "C" fn stream(to: *mut c_void, from: *const c_void, bytes: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    let whole = bytes / 16;
    // SAFETY: the caller guarantees valid pointers, and `to` is aligned.
    unsafe {
        for at in 0..whole {
            _mm_stream_si128(to.cast::<__m128i>().add(at), _mm_loadu_si128(from.cast::<__m128i>().add(at)));
        }
        _mm_sfence();
        libc::memcpy(to.byte_add(whole * 16), from.byte_add(whole * 16), bytes % 16);
    }
}

#[cfg(target_arch = "x86_64")]
fn flush(bytes: &[u8]) {
    for line in bytes.chunks(LINE) {
        // SAFETY: the cache line belongs to this slice.
        unsafe { std::arch::x86_64::_mm_clflush(line.as_ptr()) };
    }
    // SAFETY: the instruction only orders memory accesses.
    unsafe { std::arch::x86_64::_mm_mfence() };
}

#[cfg(not(target_arch = "x86_64"))]
fn flush(_: &[u8]) {}

/// Whole pages of anonymous memory, which can be returned to the kernel and used again.
struct Pages {
    start: *mut c_void,
    bytes: usize,
}

// SAFETY: this value alone owns the memory.
unsafe impl Send for Pages {}

impl Pages {
    fn new(bytes: usize) -> Result<Self> {
        let bytes = bytes.max(1).next_multiple_of(PAGE);
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: the call only creates a new mapping of anonymous memory.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, kind, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(
                Error::new(format!("mapping {bytes} bytes to copy into")).because(std::io::Error::last_os_error())
            );
        }
        Ok(Self { start, bytes })
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the pages stay mapped until this value is dropped, and the kernel zeroes pages that were never
        // written.
        unsafe { slice::from_raw_parts_mut(self.start.cast(), self.bytes) }
    }

    fn give_back(&mut self) {
        // SAFETY: this value owns the mapping, which stays valid, and the kernel zeroes its pages.
        unsafe { libc::madvise(self.start, self.bytes, libc::MADV_DONTNEED) };
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: no slice of this memory exists any more.
        unsafe { libc::munmap(self.start, self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_known_here(way: Way, into: Into) -> bool {
        cfg!(target_arch = "x86_64") || (matches!(way, Way::Memcpy | Way::Bytes) && into != Into::Cold)
    }

    #[test]
    fn every_way_known_here_copies_what_there_is_into_memory_of_every_warmth_and_others_are_refused() {
        let from: Vec<u8> = (0..10_007_usize).map(|at| (at % 251) as u8).collect();
        for way in [Way::Memcpy, Way::Bytes, Way::Stream, Way::Rep] {
            for into in [Into::Warm, Into::Cold, Into::Fresh] {
                let made = Copier::new(way, into, from.len());
                assert_eq!(made.is_ok(), is_known_here(way, into), "{way:?} into {into:?}");
                let Ok(mut copier) = made else { continue };
                for _ in 0..2 {
                    copier.copy(&from[1..]);
                    assert_eq!(copier.to.bytes()[..from.len() - 1], from[1..], "{way:?} into {into:?}");
                    copier.prepare_next();
                }
            }
        }
    }

    #[test]
    fn fresh_pages_hold_nothing_of_the_last_copy() {
        let mut copier = Copier::new(Way::Memcpy, Into::Fresh, 5000).expect("memory");
        copier.copy(&[7; 5000]);
        copier.prepare_next();
        assert!(copier.to.bytes().iter().all(|byte| *byte == 0));
    }

    #[test]
    fn a_copy_longer_than_the_room_ends_with_it() {
        let mut copier = Copier::new(Way::Memcpy, Into::Warm, 1).expect("memory");
        copier.copy(&[7; 2 * PAGE]);
        assert!(copier.to.bytes().iter().all(|byte| *byte == 7));
    }

    #[test]
    fn a_way_that_nobody_brings_is_refused_until_somebody_does() {
        let refused = Copier::new(Way::Own, Into::Warm, 1).err().expect("nobody brings it");
        assert!(refused.to_string().contains("no copy function of its own"), "{refused}");
        copy_with(memcpy);
        assert!(Copier::new(Way::Own, Into::Warm, 1).is_ok());
    }
}
