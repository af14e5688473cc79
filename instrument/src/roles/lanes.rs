//! Makes several calls of one flow concurrently, like a program with a thread pool.
//!
//! Each lane is a thread with its own client and link, because with most transports a client makes one call at a time.
//! A free lane itself waits for the next due call, so no other thread has to pass a call to the lane. If all lanes are
//! busy, due calls wait.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::clock;
use crate::control::Tally;
use crate::error::{Error, Result};
use crate::frame::flags;
use crate::recorder::Recorder;
use crate::sync::lock;

use super::calls::ClientEnd;
use super::client::Asker;
use super::message_loop::Call;
use super::{OpenEnds, RoleContext};

/// Waits until a lane should make its next call. Returns `None` after the last call.
pub trait NextCall: Fn(&Asker) -> Option<Call> + Sync {}

impl<F: Fn(&Asker) -> Option<Call> + Sync> NextCall for F {}

/// The lanes of a flow, and the recorder that they share.
pub struct Lanes {
    askers: Vec<Asker>,
    recorder: Recorder,
}

impl Lanes {
    /// Binds and connects a client for each link of the endpoint.
    pub fn open(context: &RoleContext<'_>) -> Result<Self> {
        Ok(Self { askers: open_askers(context)?, recorder: context.recorder()? })
    }

    /// Sends one probe over every link, and reports the probe when all replies have arrived.
    pub fn probe(&mut self, probe: u64) -> Result<()> {
        probe_all(&mut self.askers, probe)
    }

    /// Makes calls until none remain. A final call then tells the server that no more calls follow, although the lanes
    /// may still be waiting for replies.
    pub fn make_calls(self, context: &RoleContext<'_>, next: &impl NextCall) -> Result<(Tally, OpenEnds)> {
        let recorder = Mutex::new(self.recorder);
        let mut askers = run_all(context, self.askers, &recorder, next)?;
        if let Some(asker) = askers.first_mut() {
            let (seq, marks) = (context.flow.warmup, flags::WARMUP | flags::LAST);
            asker.ask(Call { seq, marks, due_ns: clock::now_ns(), cut_short: false })?;
        }
        let recorder = recorder.into_inner().unwrap_or_else(|broken| broken.into_inner());
        let tally = sum(context.tally(), askers.iter().map(|asker| &asker.intake.tally));
        let pacing_ns = askers.iter().map(Asker::spun_ns).sum();
        let tally = Tally { unrecorded: recorder.unrecorded_count(), pacing_ns, ..tally };
        recorder.finish()?;
        Ok((tally, askers.into_iter().map(|asker| Box::new(asker.client) as _).collect()))
    }
}

fn run_all(
    context: &RoleContext<'_>,
    askers: Vec<Asker>,
    recorder: &Mutex<Recorder>,
    next: &impl NextCall,
) -> Result<Vec<Asker>> {
    std::thread::scope(|scope| {
        let run = |asker| scope.spawn(move || run_lane(context, asker, recorder, next));
        let lanes: Vec<_> = askers.into_iter().map(run).collect();
        let panicked = |_| Error::new("a lane panicked; the log shows where");
        lanes.into_iter().map(|lane| lane.join().map_err(panicked)?).collect()
    })
}

/// Makes calls on one lane. When the time of the trial is up, the remaining calls are abandoned.
fn run_lane(
    context: &RoleContext<'_>,
    mut asker: Asker,
    recorder: &Mutex<Recorder>,
    next: &impl NextCall,
) -> Result<Asker> {
    let over_ns = context.drained_ns(context.phase.wait_for_go());
    while let Some(call) = next(&asker) {
        let call = Call { marks: call.marks & !flags::LAST, ..call };
        let _permit = context.permits.wait_for_one();
        let record = if clock::now_ns() < over_ns { asker.ask(call)? } else { asker.abandon(call) };
        if call.is_sample() {
            lock(recorder).push(record);
        }
    }
    Ok(asker)
}

/// Opens a client for each link of an endpoint.
pub fn open_askers(context: &RoleContext<'_>) -> Result<Vec<Asker>> {
    let mut bound = BTreeMap::new();
    let ends: Result<Vec<_>> = context.me.outputs.iter().map(|id| ClientEnd::bind(context, id, &mut bound)).collect();
    let ends = ends?;
    context.report_bound(bound);
    ends.into_iter().map(|end| Ok(Asker::new(context, end.connect(context)?))).collect()
}

/// Sends one probe over every link, and reports the probe when all replies have arrived.
pub fn probe_all(askers: &mut [Asker], probe: u64) -> Result<()> {
    let mut proved = None;
    for asker in askers.iter_mut() {
        proved = asker.try_probe(probe)?;
        if proved.is_none() {
            return Ok(());
        }
    }
    if let (Some(asker), Some(header)) = (askers.first(), proved) {
        asker.intake.say_probed(&header);
    }
    Ok(())
}

/// Adds the counts of several lanes to the counts of one endpoint.
pub fn sum<'a>(tally: Tally, lanes: impl Iterator<Item = &'a Tally>) -> Tally {
    lanes.fold(tally, |all, one| Tally {
        sent: all.sent + one.sent,
        received: all.received + one.received,
        received_bytes: all.received_bytes + one.received_bytes,
        abandoned: all.abandoned + one.abandoned,
        busy: all.busy + one.busy,
        malformed: all.malformed + one.malformed,
        foreign: all.foreign + one.foreign,
        unrecorded: all.unrecorded + one.unrecorded,
        content_checks: all.content_checks + one.content_checks,
        content_errors: all.content_errors + one.content_errors,
        copies: all.copies + one.copies,
        late_work: all.late_work + one.late_work,
        pacing_ns: all.pacing_ns + one.pacing_ns,
        first_ns: earlier(all.first_ns, one.first_ns),
        last_ns: all.last_ns.max(one.last_ns),
        ..all
    })
}

/// Returns the earlier of two times. The value 0 means that there is no time.
fn earlier(one: i64, other: i64) -> i64 {
    if one == 0 || other == 0 { one.max(other) } else { one.min(other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_of_lanes_add_up_and_the_first_message_is_that_of_all() {
        let lanes = [
            Tally { sent: 2, received: 1, first_ns: 50, last_ns: 90, late_work: 1, ..Tally::default() },
            Tally::default(),
            Tally { sent: 3, received: 3, first_ns: 40, last_ns: 80, busy: 4, ..Tally::default() },
        ];
        let whole =
            Tally { sent: 5, received: 4, first_ns: 40, last_ns: 90, busy: 4, late_work: 1, ..Tally::default() };
        assert_eq!(sum(Tally { id: 7, ..Tally::default() }, lanes.iter()), Tally { id: 7, ..whole });
    }
}
