//! Does the configured work of a relay or server before it forwards a message, or of a sink after an arrival.

use std::hint::black_box;

use crate::alarm::Alarm;
use crate::clock;
use crate::control::Tally;
use crate::copying::Copier;
use crate::error::Result;
use crate::frame::{Header, flags};
use crate::spec::Work;

use super::RoleContext;

/// Work counts as late if it takes longer than requested, and the difference exceeds this time.
const LATE_NS: i64 = 100_000;

/// The work that an endpoint does for each message, if any work is configured. Without configured work, the worker
/// costs only one comparison per message.
pub struct Worker(Option<Box<Job>>);

/// The configured work and its memory, which is allocated only once.
struct Job {
    work: Work,
    /// The memory that copies read from, unless the work copies the payload itself.
    from: Vec<u8>,
    copier: Option<Copier>,
    alarm: Alarm,
    /// The time that the work spent spinning, summed over all samples.
    spun_ns: i64,
    /// The number of times that the work took over 100 us longer than requested.
    late: u64,
}

impl Worker {
    /// Creates the worker of an endpoint.
    ///
    /// # Errors
    ///
    /// Fails if this processor or this adapter does not support the requested copy method.
    pub fn new(context: &RoleContext<'_>) -> Result<Self> {
        let (work, flow) = (context.me.work, context.flow);
        let (mut from, mut copier) = (Vec::new(), None);
        match work {
            Work::None => return Ok(Self(None)),
            Work::Copy { bytes, way, into } => {
                from = vec![1; bytes.unwrap_or(0)];
                copier = Some(Copier::new(way, into, bytes.unwrap_or(flow.payload_bytes))?);
            }
            Work::Sleep { .. } | Work::Spin { .. } => {}
        }
        let alarm = Alarm::new(flow.pace.spin_ns);
        Ok(Self(Some(Box::new(Job { work, from, copier, alarm, spun_ns: 0, late: 0 }))))
    }

    /// Adds the counts of the work to the counts of its endpoint.
    pub fn settle(&self, tally: Tally) -> Tally {
        let Some(job) = &self.0 else { return tally };
        let (late_work, pacing_ns) = (tally.late_work + job.late, tally.pacing_ns + job.spun_ns);
        Tally { late_work, pacing_ns, ..tally }
    }

    /// Returns whether any work is configured.
    #[inline]
    pub fn has_work(&self) -> bool {
        self.0.is_some()
    }

    /// Does the work for one message. Probes cause no work, because a probe only tests whether the link delivers, and
    /// the probe's sender does not wait for long work.
    #[inline]
    pub fn work_on(&mut self, header: &Header, payload: &[u8]) {
        if let Some(job) = self.0.as_mut().filter(|_| !header.is(flags::PROBE)) {
            job.work_on(header.is_sample(), payload);
        }
    }

    /// Prepares the work for the next message. The role calls `prepare_next` after forwarding the current message.
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
            Work::Sleep { ns } => self.work_until_due(ns, |me, due_ns| me.alarm.wait_until(due_ns)),
            Work::Spin { ns } => self.work_until_due(ns, |_, due_ns| _ = clock::spin_until(due_ns)),
            Work::Copy { bytes, .. } => {
                if let Some(copier) = &mut self.copier {
                    copier.copy(black_box(if bytes.is_some() { &self.from } else { payload }));
                }
            }
        }
    }

    fn work_until_due(&mut self, ns: i64, wait_until: impl Fn(&mut Self, i64)) {
        let due_ns = clock::now_ns() + ns;
        wait_until(self, due_ns);
        self.late += u64::from(clock::now_ns() - due_ns > LATE_NS);
    }
}
