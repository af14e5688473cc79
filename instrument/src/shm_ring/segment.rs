//! Creates and maps the shared memory of a ring: a sealed memfd, whose memory is fully reserved before its first use.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr;

use crate::prelude::*;
use rustix::fs::{self, FallocateFlags, MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{self, Advice, MapFlags, MprotectFlags, ProtFlags};

use super::bell::Bell;
use super::layout::{Cursor, Geometry, HEADER_AT, PAIR, PAYLOAD_AT, SlotHead};
use super::room;

/// The minimum segment size for requesting huge pages.
const HUGE_PAGE: usize = 2 << 20;
/// The file seals of the segment. They prevent other processes from resizing the segment, so no access fails because of
/// missing memory.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// A mapped segment. The producer may write to the whole segment; a consumer may write only to the control part.
pub struct Segment {
    file: OwnedFd,
    geometry: Geometry,
    mapping: Mapping,
}

impl Segment {
    /// Creates a segment and reserves its memory.
    pub fn create(geometry: Geometry) -> Result<Self> {
        let bytes = geometry.bytes();
        check_room(&geometry)?;
        let file = new_memfd()?;
        fs::ftruncate(&file, bytes).map_err(|cause| no_room(&geometry, cause))?;
        let mapping = Mapping::new(file.as_fd(), bytes as usize, ProtFlags::READ | ProtFlags::WRITE)?;
        mapping.populate(Advice::LinuxPopulateWrite).map_err(|cause| no_room(&geometry, cause))?;
        fs::fallocate(&file, FallocateFlags::empty(), 0, bytes).map_err(|cause| no_room(&geometry, cause))?;
        fs::fcntl_add_seals(&file, SEALS).context("sealing the ring's memory")?;
        Ok(Self { file, geometry, mapping })
    }

    /// Maps a producer's segment, after checking that the segment matches the producer's description.
    pub fn attach(file: OwnedFd, geometry: Geometry) -> Result<Self> {
        check_attached(&file, &geometry)?;
        let mapping = Mapping::new(file.as_fd(), geometry.bytes() as usize, ProtFlags::READ)?;
        mapping.populate(Advice::LinuxPopulateRead).context("mapping the ring's pages")?;
        mapping.allow_writing(geometry.control_bytes as usize)?;
        Ok(Self { file, geometry, mapping })
    }

    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    #[inline]
    pub fn bell(&self) -> Bell<'_> {
        // SAFETY: the bell is in the first line pair of the control part, which the kernel zeroed. All accesses are
        // atomic.
        Bell::new(unsafe { &*self.mapping.base.cast() })
    }

    #[inline]
    pub fn cursor(&self, seat: usize) -> &Cursor {
        assert!(seat < super::layout::MAX_CONSUMERS, "a seat beyond the ring's");
        // SAFETY: the control part has a cursor for every seat after the bell. All words are atomic.
        unsafe { &*self.mapping.base.add(PAIR + seat * PAIR).cast() }
    }

    #[inline]
    pub fn slot(&self, slot: u16) -> &SlotHead {
        // SAFETY: `slot_at` stays within the mapping. All words at the start of a slot are atomic.
        unsafe { &*self.slot_at(slot).cast() }
    }

    /// Returns the address of a slot's frame: 64 bytes of header, immediately followed by the payload.
    #[inline]
    pub fn frame_at(&self, slot: u16) -> *mut u8 {
        const { assert!(PAYLOAD_AT == HEADER_AT + crate::frame::HEADER_BYTES) }
        // SAFETY: the header is within the slot.
        unsafe { self.slot_at(slot).add(HEADER_AT) }
    }

    #[inline]
    fn slot_at(&self, slot: u16) -> *mut u8 {
        assert!(u32::from(slot) < self.geometry.slots, "a slot beyond the ring's");
        let offset = self.geometry.control_bytes + u64::from(slot) * self.geometry.stride;
        // SAFETY: the range is within the mapping, which is as long as `Geometry::bytes`.
        unsafe { self.mapping.base.add(offset as usize) }
    }
}

/// A mapping of the whole memfd, aligned so that huge pages can be used if the memfd has them.
struct Mapping {
    base: *mut u8,
    bytes: usize,
    /// The start of the reserved address range, which is larger than the mapping so that the mapping can be aligned.
    reserved: *mut u8,
    reserved_bytes: usize,
}

// SAFETY: the mapping is plain memory, and the ring's protocol defines who may write where.
unsafe impl Send for Mapping {}
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(file: BorrowedFd<'_>, bytes: usize, protection: ProtFlags) -> Result<Self> {
        let reserved_bytes = bytes + HUGE_PAGE;
        // SAFETY: the call reserves new addresses, which the kernel chooses.
        let reserved = unsafe {
            mm::mmap_anonymous(
                ptr::null_mut(),
                reserved_bytes,
                ProtFlags::empty(),
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }
        .context("reserving addresses for the ring")?
        .cast::<u8>();
        let mut mapping = Self { base: reserved, bytes, reserved, reserved_bytes };
        mapping.base = reserved.wrapping_add(reserved.align_offset(HUGE_PAGE));
        // SAFETY: the mapping replaces addresses that were reserved just above.
        unsafe { mm::mmap(mapping.base.cast(), bytes, protection, MapFlags::SHARED | MapFlags::FIXED, file, 0) }
            .context("mapping the ring")?;
        mapping.ask_for_huge_pages();
        Ok(mapping)
    }

    /// Requests huge pages, which speed up large frames but are not required.
    fn ask_for_huge_pages(&self) {
        if self.bytes >= HUGE_PAGE {
            // SAFETY: this is advice on this value's own mapping, and it changes no content.
            let _ = unsafe { mm::madvise(self.base.cast(), self.bytes, Advice::LinuxHugepage) };
        }
    }

    /// Maps every page in advance, so that no message waits for a page fault. Kernels before 5.14 do not support
    /// mapping in advance; with these kernels, the first use of each page causes a page fault.
    fn populate(&self, advice: Advice) -> rustix::io::Result<()> {
        // SAFETY: this is advice on this value's own mapping, and it changes no content.
        match unsafe { mm::madvise(self.base.cast(), self.bytes, advice) } {
            Err(Errno::INVAL) => Ok(()),
            result => result,
        }
    }

    fn allow_writing(&self, bytes: usize) -> Result<()> {
        let protection = MprotectFlags::READ | MprotectFlags::WRITE;
        // SAFETY: these are the first pages of this value's own mapping.
        unsafe { mm::mprotect(self.base.cast(), bytes, protection) }.context("opening the ring's control part")
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `base` is within `reserved`, and no borrow from the mapping outlives its segment.
        let _ = unsafe { mm::munmap(self.reserved.cast(), self.reserved_bytes) };
    }
}

fn new_memfd() -> Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    match fs::memfd_create("hopmeter-shm", flags | MemfdFlags::NOEXEC_SEAL) {
        // Kernels before 6.3 do not support this flag.
        Err(Errno::INVAL) => fs::memfd_create("hopmeter-shm", flags),
        result => result,
    }
    .context("creating the ring's memory (memfd_create)")
}

fn check_room(geometry: &Geometry) -> Result<()> {
    match room::available_bytes() {
        Some(left) if geometry.bytes() > left => {
            Err(no_room(geometry, Errno::NOMEM).within(format!("{left} bytes left")))
        }
        _ => Ok(()),
    }
}

fn no_room(geometry: &Geometry, cause: Errno) -> Error {
    let Geometry { slots, payload_bytes, .. } = geometry;
    let bytes = geometry.bytes();
    Error::new(format!("no memory for a ring of {slots} slots for {payload_bytes} bytes each ({bytes} bytes in all)"))
        .because(cause)
        .remedy("lower the setting `slots`, use a smaller payload, or give the machine or container more memory")
}

fn check_attached(file: &OwnedFd, geometry: &Geometry) -> Result<()> {
    let seals = fs::fcntl_get_seals(file).context("reading the seals of the ring's memory")?;
    let length = fs::fstat(file).context("reading the length of the ring's memory")?.st_size;
    if geometry.is_sound() && seals.contains(SEALS) && u64::try_from(length).is_ok_and(|n| n == geometry.bytes()) {
        return Ok(());
    }
    Err(Error::new(format!("the publisher's memory ({length} bytes, {seals:?}) does not match the ring's description"))
        .remedy("run `hopmeter build shm` so that all nodes have the same version"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memfd(bytes: u64, seals: SealFlags) -> OwnedFd {
        let file = new_memfd().unwrap();
        fs::ftruncate(&file, bytes).unwrap();
        fs::fcntl_add_seals(&file, seals).unwrap();
        file
    }

    #[test]
    fn both_mappings_show_the_same_bytes() {
        let owner = Segment::create(Geometry::new(3, 5000).unwrap()).unwrap();
        let guest = Segment::attach(owner.file().try_clone_to_owned().unwrap(), *owner.geometry()).unwrap();
        // SAFETY: the byte is within the payload of the last slot, and nobody else uses it.
        let seen = unsafe {
            owner.frame_at(2).add(64 + 4999).write(77);
            guest.frame_at(2).add(64 + 4999).read()
        };
        assert_eq!(seen, 77);
        assert_eq!(owner.frame_at(1) as usize % 64, 0);
    }

    #[test]
    fn memory_that_could_shrink_or_is_short_is_refused() {
        let geometry = Geometry::new(4, 100).unwrap();
        assert!(Segment::attach(memfd(geometry.bytes(), SealFlags::SEAL), geometry).is_err());
        assert!(Segment::attach(memfd(4096, SEALS), geometry).is_err());
        assert!(Segment::attach(memfd(geometry.bytes(), SEALS), geometry).is_ok());
    }

    #[test]
    fn more_memory_than_there_is_is_an_error_that_says_so() {
        let error = Segment::create(Geometry::new(4096, 1 << 40).unwrap()).err().unwrap();
        assert!(error.to_string().contains("lower the setting `slots`"), "{error}");
    }
}
