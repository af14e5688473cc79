//! Buffers that become free when their last reference is dropped.

use std::sync::Arc;

use hopmeter_instrument::prelude::*;

/// A reference to one frame, whose header and payload are in one buffer.
#[derive(Clone, Default)]
pub struct Frame(Arc<Vec<u8>>);

impl Frame {
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn parts(&self) -> (&[u8], &[u8]) {
        self.0.split_at(HEADER_BYTES)
    }

    /// Returns the frame for writing, or `None` if another reference to the frame exists.
    pub fn parts_mut(&mut self) -> Option<FrameMut<'_>> {
        Arc::get_mut(&mut self.0).map(|bytes| FrameMut::split(bytes))
    }

    fn is_unused(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    fn resize(&mut self, bytes: usize) -> Option<()> {
        Arc::get_mut(&mut self.0).map(|buffer| buffer.resize(bytes, 0))
    }
}

/// A pool of at most `limit` frames. Each frame is allocated on first use, so a short queue of large images takes
/// little memory.
pub struct Pool {
    frames: Vec<Frame>,
    made: usize,
    limit: usize,
    next: usize,
}

impl Pool {
    pub fn of(limit: usize) -> Self {
        Self { frames: Vec::with_capacity(limit), made: 0, limit, next: 0 }
    }

    /// Returns an unused frame with room for the payload, or `None` if all frames are in use.
    pub fn take(&mut self, payload_bytes: usize) -> Option<Frame> {
        let mut frame = self.take_unused()?;
        let bytes = HEADER_BYTES + payload_bytes;
        if frame.bytes().len() != bytes {
            frame.resize(bytes)?;
        }
        Some(frame)
    }

    /// Stores a reference to a sent frame, so that the pool finds the frame again when the receivers have released it.
    pub fn give_back(&mut self, frame: Frame) {
        self.frames.push(frame);
    }

    fn take_unused(&mut self) -> Option<Frame> {
        // The last frame is still in the caches, and is always free after a direct call.
        let warm = self.frames.last().is_some_and(Frame::is_unused);
        if warm {
            return self.frames.pop();
        }
        match self.any_unused() {
            Some(at) => Some(self.frames.swap_remove(at)),
            None if self.made < self.limit => {
                self.made += 1;
                Some(Frame::default())
            }
            None => None,
        }
    }

    fn any_unused(&mut self) -> Option<usize> {
        let all = self.frames.len();
        let mut order = (0..all).map(|step| (self.next + step) % all);
        let found = order.find(|at| self.frames[*at].is_unused())?;
        self.next = found;
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_lent_again_only_when_its_last_reference_is_gone() {
        let mut pool = Pool::of(1);
        let frame = pool.take(8).expect("the first frame");
        let held = frame.clone();
        pool.give_back(frame);
        assert!(pool.take(8).is_none(), "the only frame is still referred to");
        drop(held);
        assert_eq!(pool.take(100).expect("free again").bytes().len(), HEADER_BYTES + 100);
    }
}
