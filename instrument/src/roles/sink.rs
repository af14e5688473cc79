//! The sink: records when each message arrives.

use std::collections::BTreeMap;

use crate::clock;
use crate::contract::Received;
use crate::control::Tally;
use crate::error::{Error, Result};
use crate::frame::flags;
use crate::recorder::{NONE_NS, Record, Recorder};

use super::ends::{Inbox, Taker, listen, until_drained};
use super::gate::{Arrival, Gate};
use super::work::Worker;
use super::{Desk, OpenEnds};

/// Takes the role of a sink.
///
/// # Errors
/// See [`super::take`].
pub fn run(desk: &Desk<'_>) -> Result<(Tally, OpenEnds)> {
    let id = desk.me.inputs.first().ok_or_else(|| Error::new("a sink needs a link to receive from"))?;
    let until = until_drained(desk.spec.drain_ns);
    let worker = Worker::new(desk)?;
    let sink = Sink { gate: Gate::last(desk, until.clone()), recorder: desk.recorder()?, worker };
    desk.say_bound(BTreeMap::new());
    let link = desk.link_to_connect(id)?;
    let inbox = desk.in_turn(|| Inbox::connect(desk.transport, &link, desk.wait(), sink))?;
    desk.say_ready();
    let (sink, end) = listen(desk, &until, || inbox.run(desk.wait(), &until))?;
    let tally = sink.settle()?;
    Ok((tally, end.map(|end| Box::new(end) as _).into_iter().collect()))
}

struct Sink {
    gate: Gate,
    recorder: Recorder,
    worker: Worker,
}

impl Taker for Sink {
    fn take(&mut self, received: Received<'_>) {
        let Some(arrival) = self.gate.admit(&received) else { return };
        let header = &arrival.header;
        self.worker.work_on(header, received.payload);
        if header.is_sample() {
            let (intended_ns, sent_ns) = (header.intended_ns, header.sent_ns);
            let Arrival { arrived_ns, decoded_ns, .. } = arrival;
            let forwarded_ns = if self.worker.works() { clock::now_ns() } else { NONE_NS };
            let times = Record { intended_ns, sent_ns, arrived_ns, decoded_ns, forwarded_ns, ..Record::of(header.seq) };
            self.recorder.push(times);
        }
        self.gate.count(&arrival, &received);
        if header.is(flags::PROBE) {
            self.gate.say_probed(header);
        }
        self.worker.rest();
    }
}

impl Sink {
    fn settle(self) -> Result<Tally> {
        let mut tally = self.worker.settle(self.gate.tally);
        tally.unrecorded = self.recorder.unrecorded();
        self.recorder.finish()?;
        Ok(tally)
    }
}
