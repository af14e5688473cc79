//! What a relay or server does with a message before it passes it on, and a sink when it has come.

use std::hint::black_box;

use crate::clock;
use crate::copying::Copier;
use crate::error::Result;
use crate::frame::{Header, flags};
use crate::spec::Work;

/// Beyond this, work that took longer than asked counts as late.
const LATE_NS: i64 = 100_000;

/// Work with the memory it needs, allocated once.
pub struct Worker {
    work: Work,
    /// What is copied, if not the payload.
    from: Vec<u8>,
    copier: Option<Copier>,
    /// How often it took over 100 us more than it should have.
    pub late: u64,
}

impl Worker {
    /// # Errors
    /// When it cannot copy in the way that is asked for.
    pub fn new(work: Work, payload_bytes: usize) -> Result<Self> {
        let (mut from, mut copier) = (Vec::new(), None);
        if let Work::Copy { bytes, way, into } = work {
            from = vec![1; bytes.unwrap_or(0)];
            copier = Some(Copier::new(way, into, bytes.unwrap_or(payload_bytes))?);
        }
        Ok(Self { work, from, copier, late: 0 })
    }

    /// Whether there is anything to do.
    #[inline]
    pub fn works(&self) -> bool {
        self.work != Work::None
    }

    /// Works on one message. A probe only proves the way: whoever sends it waits less than some works take.
    #[inline]
    pub fn work_on(&mut self, header: &Header, payload: &[u8]) {
        if !header.is(flags::PROBE) {
            self.work(payload);
        }
    }

    /// Called when the message was passed on: what has to be ready for the next one.
    #[inline]
    pub fn rest(&mut self) {
        if let Some(copier) = &mut self.copier {
            copier.rest();
        }
    }

    #[inline]
    fn work(&mut self, payload: &[u8]) {
        match self.work {
            Work::None => {}
            Work::Sleep { ns } => self.timed(ns, clock::sleep_until),
            Work::Spin { ns } => self.timed(ns, |until_ns| _ = clock::spin_until(until_ns)),
            Work::Copy { bytes, .. } => {
                if let Some(copier) = &mut self.copier {
                    copier.copy(black_box(if bytes.is_some() { &self.from } else { payload }));
                }
            }
        }
    }

    fn timed(&mut self, ns: i64, wait_until: impl Fn(i64)) {
        let due_ns = clock::now_ns() + ns;
        wait_until(due_ns);
        self.late += u64::from(clock::now_ns() - due_ns > LATE_NS);
    }
}
