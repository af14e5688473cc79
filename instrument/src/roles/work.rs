//! What a relay or server does with a message before it passes it on, and a sink when it has come.

use std::hint::black_box;

use crate::alarm::Alarm;
use crate::clock;
use crate::control::Tally;
use crate::copying::Copier;
use crate::error::Result;
use crate::frame::{Header, flags};
use crate::spec::Work;

use super::RoleContext;

/// Beyond this, work that took longer than asked counts as late.
const LATE_NS: i64 = 100_000;

/// Work to do per message, if any: without, a message costs a look at one word.
pub struct Worker(Option<Box<Job>>);

/// Work with the memory it needs, allocated once.
struct Job {
    work: Work,
    /// What is copied, if not the payload.
    from: Vec<u8>,
    copier: Option<Copier>,
    alarm: Alarm,
    /// For samples only.
    spun_ns: i64,
    /// How often it took over 100 us more than it should have.
    late: u64,
}

impl Worker {
    /// # Errors
    /// When it cannot copy in the way that is asked for.
    pub fn new(context: &RoleContext<'_>) -> Result<Self> {
        let (work, spec) = (context.me.work, context.spec);
        let (mut from, mut copier) = (Vec::new(), None);
        match work {
            Work::None => return Ok(Self(None)),
            Work::Copy { bytes, way, into } => {
                from = vec![1; bytes.unwrap_or(0)];
                copier = Some(Copier::new(way, into, bytes.unwrap_or(spec.payload_bytes))?);
            }
            Work::Sleep { .. } | Work::Spin { .. } => {}
        }
        let alarm = Alarm::new(spec.pace.spin_ns);
        Ok(Self(Some(Box::new(Job { work, from, copier, alarm, spun_ns: 0, late: 0 }))))
    }

    /// Adds what the work was to what its participant did.
    pub fn settle(&self, tally: Tally) -> Tally {
        let Some(job) = &self.0 else { return tally };
        Tally { late_work: job.late, pacing_ns: tally.pacing_ns + job.spun_ns, ..tally }
    }

    /// Whether there is anything to do.
    #[inline]
    pub fn has_work(&self) -> bool {
        self.0.is_some()
    }

    /// Works on one message. A probe only proves the way: whoever sends it waits less than some works take.
    #[inline]
    pub fn work_on(&mut self, header: &Header, payload: &[u8]) {
        if let Some(job) = self.0.as_mut().filter(|_| !header.is(flags::PROBE)) {
            job.work_on(header.is_sample(), payload);
        }
    }

    /// Called when the message was passed on: what has to be ready for the next one.
    #[inline]
    pub fn prepare_next(&mut self) {
        if let Some(copier) = self.0.as_mut().and_then(|job| job.copier.as_mut()) {
            copier.prepare_next();
        }
    }
}

impl Job {
    fn work_on(&mut self, is_sample: bool, payload: &[u8]) {
        let spun_ns = self.alarm.spun_ns();
        self.work(payload);
        self.spun_ns += if is_sample { self.alarm.spun_ns() - spun_ns } else { 0 };
    }

    fn work(&mut self, payload: &[u8]) {
        match self.work {
            Work::None => {}
            Work::Sleep { ns } => self.timed(ns, |me, due_ns| me.alarm.wait_until(due_ns)),
            Work::Spin { ns } => self.timed(ns, |_, due_ns| _ = clock::spin_until(due_ns)),
            Work::Copy { bytes, .. } => {
                if let Some(copier) = &mut self.copier {
                    copier.copy(black_box(if bytes.is_some() { &self.from } else { payload }));
                }
            }
        }
    }

    fn timed(&mut self, ns: i64, wait_until: impl Fn(&mut Self, i64)) {
        let due_ns = clock::now_ns() + ns;
        wait_until(self, due_ns);
        self.late += u64::from(clock::now_ns() - due_ns > LATE_NS);
    }
}
