//! Memory for large messages, as in the C++ adapter (`../../cpp/pool.hpp`). Without a pool, each message uses new
//! pages, and each new page costs a page fault. Frames begin half a page after a page boundary.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, Weak};

use hopmeter_instrument::prelude::*;

/// Messages of at least this size are written into a pool.
pub const LEAST_BYTES: usize = 64 << 10;
const BUDGET_BYTES: usize = 256 << 20;
const PAGE_BYTES: usize = 4096;
const LEAD_BYTES: usize = PAGE_BYTES / 2;

/// The frames of one link end. Each message owns its frame until ZeroMQ has sent the message, so the pool may be
/// dropped before its frames.
pub struct Pool {
    state: Arc<Mutex<State>>,
    frame_bytes: usize,
}

#[derive(Default)]
struct State {
    #[allow(clippy::vec_box)] // a message contains the address of its frame
    free: Vec<Box<Frame>>,
    allocated: usize,
}

impl Pool {
    pub fn new(frame_bytes: usize) -> Self {
        Self { state: Arc::default(), frame_bytes }
    }

    /// Returns the frame that was released last, or a new frame. Returns `None` if ZeroMQ holds the maximum number of
    /// frames.
    pub fn take(&self) -> Option<Box<Frame>> {
        let mut state = lock(&self.state);
        if state.free.is_empty() && state.allocated < (BUDGET_BYTES / self.frame_bytes).max(4) {
            state.allocated += 1;
            // Reserve room for all frames, so that returning a frame allocates nothing.
            let allocated = state.allocated;
            state.free.reserve(allocated);
            state.free.push(Frame::allocate(self.frame_bytes, Arc::downgrade(&self.state)));
        }
        state.free.pop()
    }
}

/// Memory for one frame.
pub struct Frame {
    memory: Vec<u8>,
    start: usize,
    pool: Weak<Mutex<State>>,
}

impl Frame {
    /// Allocates a frame and writes to its pages, because zeroed memory is mapped lazily.
    fn allocate(frame_bytes: usize, pool: Weak<Mutex<State>>) -> Box<Self> {
        let memory = vec![1; PAGE_BYTES + LEAD_BYTES + frame_bytes];
        let start = memory.as_ptr().align_offset(PAGE_BYTES) + LEAD_BYTES;
        Box::new(Self { memory, start, pool })
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..]
    }
}

/// Returns a frame to its pool. ZeroMQ calls this function on its own threads.
///
/// # Safety
/// `frame` must come from `Box::into_raw`, and nothing may use it afterwards.
pub unsafe extern "C" fn give_back(_data: *mut c_void, frame: *mut c_void) {
    // SAFETY: the caller owns the frame.
    let frame = unsafe { Box::from_raw(frame.cast::<Frame>()) };
    if let Some(state) = frame.pool.upgrade() {
        lock(&state).free.push(frame);
    }
}
