//! Tests that recording a message allocates nothing. The allocator counts its calls. The test is a separate program,
//! because it counts every allocation of its process.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use hopmeter_instrument::clock;
use hopmeter_instrument::recorder::{Record, Recorder};

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: the system allocator does all the work, and this type only counts the calls.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller guarantees that the system allocator's conditions hold.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller guarantees that the system allocator's conditions hold.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocations_of(act: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    act();
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut recorder = Recorder::create(&folder.path().join("samples"), 0, 10_000).expect("a recorder");
    assert!(allocations_of(|| drop(std::hint::black_box(vec![0u8; 100]))) > 0, "an allocation is noticed");
    // More records are pushed than fit. The surplus records are counted, and must not allocate memory either.
    let allocations = allocations_of(|| {
        for seq in 0..20_000 {
            let arrived_ns = clock::now_ns();
            recorder.push(Record { arrived_ns, forwarded_ns: clock::now_ns(), ..Record::of(seq) });
        }
    });
    assert_eq!(allocations, 0, "recording allocated");
    assert_eq!(recorder.unrecorded_count(), 10_000);
}
