//! What a relay or server does with a message before it passes it on.

use std::hint::black_box;

use crate::clock;
use crate::frame::{Header, flags};
use crate::spec::Work;

/// Beyond this, work that took longer than asked counts as late.
const LATE_NS: i64 = 100_000;

/// Work with the memory it needs, allocated once.
pub struct Worker {
    work: Work,
    from: Vec<u8>,
    to: Vec<u8>,
    /// How often it took over 100 us more than it should have.
    pub late: u64,
}

impl Worker {
    pub fn new(work: Work) -> Self {
        let bytes = if let Work::Copy { bytes } = work { bytes } else { 0 };
        Self { work, from: vec![1; bytes], to: vec![2; bytes], late: 0 }
    }

    /// Works on one message. A probe only proves the way: whoever sends it waits less than some works take.
    #[inline]
    pub fn work_on(&mut self, header: &Header) {
        if !header.is(flags::PROBE) {
            self.work();
        }
    }

    #[inline]
    fn work(&mut self) {
        match self.work {
            Work::None => {}
            Work::Sleep { ns } => self.timed(ns, clock::sleep_until),
            Work::Spin { ns } => self.timed(ns, |until_ns| _ = clock::spin_until(until_ns)),
            Work::Copy { .. } => {
                self.to.copy_from_slice(black_box(&self.from));
                black_box(&mut self.to);
            }
        }
    }

    fn timed(&mut self, ns: i64, wait_until: impl Fn(i64)) {
        let due_ns = clock::now_ns() + ns;
        wait_until(due_ns);
        self.late += u64::from(clock::now_ns() - due_ns > LATE_NS);
    }
}
