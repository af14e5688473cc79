//! Implements scatter: sends a request to each of N servers, concurrently or sequentially, and collects all replies.
//!
//! Every server has a lane, which is a thread with its own client. With lanes, a slow server does not delay the replies
//! of other servers, and every client can wait in a way that the transport supports. In the records, the cost of
//! passing requests to the lanes is part of `sent` minus `due`.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::control::Tally;
use crate::error::{Error, Result};
use crate::recorder::{Record, Recorder};
use crate::spec::Dispatch;

use super::client::Asker;
use super::lanes::{open_askers, probe_all, sum};
use super::message_loop::{Call, MessageLoop};
use super::{OpenEnds, RoleContext};

/// Runs the role of a client that calls several servers.
pub fn run(context: &RoleContext<'_>) -> Result<(Tally, OpenEnds)> {
    let mut askers = open_askers(context)?;
    let mut recorder = context.recorder()?;
    context.report_ready();
    context.prove_pair(|probe| probe_all(&mut askers, probe))?;
    let (tally, askers) = measure(context, askers, &mut recorder)?;
    recorder.finish()?;
    Ok((tally, askers.into_iter().map(|asker| Box::new(asker.client) as _).collect()))
}

/// The main thread's handle of one lane: its channels to the lane's thread.
struct Lane {
    calls: SyncSender<Call>,
    records: Receiver<Result<Record>>,
}

fn measure(context: &RoleContext<'_>, askers: Vec<Asker>, recorder: &mut Recorder) -> Result<(Tally, Vec<Asker>)> {
    let start_ns = context.phase.wait_for_go();
    let (mut limit_reached, mut pacing_ns) = (false, 0);
    let askers = std::thread::scope(|scope| -> Result<Vec<Asker>> {
        let mut lanes = Vec::new();
        let mut threads = Vec::new();
        for (index, asker) in askers.into_iter().enumerate() {
            let (calls, to_make) = sync_channel(1);
            let (results, records) = sync_channel(1);
            threads.push(scope.spawn(move || serve_lane(asker, index as u32, &to_make, &results)));
            lanes.push(Lane { calls, records });
        }
        pacing_ns = MessageLoop::new(context, start_ns).run(context, |call, _| {
            limit_reached = call.cut_short;
            let _permit = context.permits.wait_for_one();
            match context.flow.dispatch {
                Dispatch::Parallel => ask_at_once(&lanes, call, recorder)?,
                Dispatch::Sequential => ask_one_by_one(context, &lanes, call, recorder)?,
            }
            Ok(0)
        })?;
        drop(lanes);
        let broken = |_| Error::new("a scatter lane panicked");
        threads.into_iter().map(|thread| thread.join().map_err(broken)).collect()
    })?;
    let tally = sum(context.tally(), askers.iter().map(|asker| &asker.intake.tally));
    let tally = Tally { unrecorded: recorder.unrecorded_count(), limit_reached, pacing_ns, ..tally };
    Ok((tally, askers))
}

fn serve_lane(mut asker: Asker, copy: u32, calls: &Receiver<Call>, results: &SyncSender<Result<Record>>) -> Asker {
    while let Ok(call) = calls.recv() {
        let record = asker.ask(call).map(|record| Record { copy, ..record });
        if results.send(record).is_err() {
            break;
        }
    }
    asker
}

impl Lane {
    fn hand_over(&self, call: Call) -> Result<()> {
        self.calls.send(call).map_err(|_| lane_ended_error())
    }

    /// Waits for the call's record and stores it if the call is a sample.
    fn keep(&self, call: Call, recorder: &mut Recorder) -> Result<()> {
        let record = self.records.recv().map_err(|_| lane_ended_error())??;
        if call.is_sample() {
            recorder.push(record);
        }
        Ok(())
    }
}

fn lane_ended_error() -> Error {
    Error::new("a scatter lane ended early")
}

fn ask_at_once(lanes: &[Lane], call: Call, recorder: &mut Recorder) -> Result<()> {
    lanes.iter().try_for_each(|lane| lane.hand_over(call))?;
    lanes.iter().try_for_each(|lane| lane.keep(call, recorder))
}

/// Calls the servers sequentially. The threads and clients are the same as for concurrent calls, so that only the order
/// differs. After an order to end, the client calls no more servers, because the remaining servers may no longer exist.
fn ask_one_by_one(context: &RoleContext<'_>, lanes: &[Lane], call: Call, recorder: &mut Recorder) -> Result<()> {
    lanes.iter().take_while(|_| !context.phase.has_stopped()).try_for_each(|lane| {
        lane.hand_over(call)?;
        lane.keep(call, recorder)
    })
}
