//! Implements the sink, which records when each message arrives.

use std::collections::BTreeMap;

use crate::clock;
use crate::contract::Received;
use crate::control::Tally;
use crate::error::{Error, Result};
use crate::frame::flags;
use crate::recorder::{NONE_NS, Record, Recorder};

use super::ends::{Inbox, Taker, listen, new_deadline};
use super::intake::{Arrival, Intake};
use super::triggers::Effects;
use super::work::Worker;
use super::{OpenEnds, RoleContext};

/// Runs the sink role.
pub fn run(context: &RoleContext<'_>) -> Result<(Tally, OpenEnds)> {
    let id = context.me.inputs.first().ok_or_else(|| Error::new("a sink needs a link to receive from"))?;
    let limit = new_deadline(context.spec.drain_ns);
    let worker = Worker::new(context)?;
    let sink = Sink {
        intake: Intake::last(context, limit.clone()),
        recorder: context.recorder()?,
        worker,
        effects: Effects::of(context),
    };
    context.report_bound(BTreeMap::new());
    let link = context.link_to_connect(id)?;
    let inbox = context.open_one_by_one(|| Inbox::connect(context.transport, &link, context.wait(), sink))?;
    let opened_ns = clock::now_ns();
    context.report_ready();
    let (sink, end) = listen(context, &limit, || inbox.run(context.wait(), &limit))?;
    let tally = Tally { opened_ns, ..sink.settle()? };
    Ok((tally, end.map(|end| Box::new(end) as _).into_iter().collect()))
}

struct Sink {
    intake: Intake,
    recorder: Recorder,
    worker: Worker,
    effects: Effects,
}

impl Taker for Sink {
    fn take(&mut self, received: Received<'_>) {
        let _permit = self.effects.permit();
        let received = self.effects.readmit(received);
        let Some(arrival) = self.intake.admit(&received) else { return };
        let header = &arrival.header;
        self.worker.work_on(header, received.payload);
        if header.is_sample() {
            let (due_ns, sent_ns) = (header.due_ns, header.sent_ns);
            let Arrival { arrived_ns, decoded_ns, .. } = arrival;
            let forwarded_ns = if self.worker.has_work() { clock::now_ns() } else { NONE_NS };
            let times = Record { due_ns, sent_ns, arrived_ns, decoded_ns, forwarded_ns, ..Record::of(header.seq) };
            self.recorder.push(times);
        }
        self.effects.handle(header, arrival.arrived_ns, received.payload);
        self.intake.count(&arrival, &received);
        if header.is(flags::PROBE) {
            self.intake.say_probed(header);
        }
        self.worker.prepare_next();
    }
}

impl Sink {
    fn settle(mut self) -> Result<Tally> {
        self.intake.write_log()?;
        let mut tally = self.worker.settle(self.intake.tally);
        tally.unrecorded = self.recorder.unrecorded_count();
        self.recorder.finish()?;
        Ok(tally)
    }
}
