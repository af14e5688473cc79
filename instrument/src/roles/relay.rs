//! The relay: records arrival, works, and sends the frame on unaltered.

use std::collections::BTreeMap;

use crate::clock;
use crate::contract::{Publisher, Received, copies_made};
use crate::control::Tally;
use crate::error::{Error, Result};
use crate::recorder::{Record, Recorder};

use super::emit::insist;
use super::ends::{Inbox, Taker, listen, until_drained};
use super::gate::Gate;
use super::work::Worker;
use super::{Desk, OpenEnds};

/// Takes the role of a relay between two pubsub links.
///
/// # Errors
/// See [`super::take`].
pub fn run(desk: &Desk<'_>) -> Result<(Tally, OpenEnds)> {
    let (Some(from), Some(to)) = (desk.me.inputs.first(), desk.me.outputs.first()) else {
        return Err(Error::new("a relay needs a link to receive from and one to send to"));
    };
    let publisher = desk.transport.publisher(&desk.link_to_bind(to)?)?;
    desk.say_bound(BTreeMap::from([(to.clone(), publisher.address())]));
    let until = until_drained(desk.spec.drain_ns);
    let relay = Relay {
        gate: Gate::new(desk, until.clone()),
        recorder: desk.recorder()?,
        worker: Worker::new(desk)?,
        publisher,
        busy_ns: desk.spec.busy_ns,
        failure: None,
    };
    let inbox = Inbox::connect(desk.transport, &desk.link_to_connect(from)?, desk.wait(), relay)?;
    desk.say_ready();
    let (relay, end) = listen(desk, &until, || inbox.run(desk.wait(), &until))?;
    relay.settle(end.map(|end| Box::new(end) as _))
}

/// After the gate comes what else each message needs, in one more line of the cache.
#[repr(C)]
struct Relay {
    gate: Gate,
    publisher: Box<dyn Publisher>,
    worker: Worker,
    busy_ns: i64,
    recorder: Recorder,
    /// The first failure to send; told at the end, since a callback has nobody to tell.
    failure: Option<Error>,
}

impl Taker for Relay {
    fn take(&mut self, received: Received<'_>) {
        let Some(arrival) = self.gate.admit(&received) else { return };
        self.worker.work_on(&arrival.header, received.payload);
        let forwarded_ns = clock::now_ns();
        let publisher = &mut self.publisher;
        let (mut refused, copied) = (0, copies_made());
        let passed_on = insist(self.busy_ns, &mut refused, || publisher.forward(&received));
        let passed_on = passed_on.unwrap_or_else(|error| {
            self.failure.get_or_insert(error);
            false
        });
        if arrival.header.is_sample() {
            self.gate.count_sending(refused, copies_made() - copied);
            self.record(arrival.header.seq, arrival.arrived_ns, passed_on.then_some(forwarded_ns));
        }
        self.gate.count(&arrival, &received);
        self.worker.rest();
    }
}

impl Relay {
    fn record(&mut self, seq: u64, arrived_ns: i64, forwarded_ns: Option<i64>) {
        let mut record = Record { arrived_ns, ..Record::of(seq) };
        match forwarded_ns {
            Some(forwarded_ns) => {
                record.forwarded_ns = forwarded_ns;
                self.gate.tally.sent += 1;
            }
            None => self.gate.tally.abandoned += 1,
        }
        self.recorder.push(record);
    }

    fn settle(self, end: Option<Box<dyn std::any::Any + Send>>) -> Result<(Tally, OpenEnds)> {
        if let Some(failure) = self.failure {
            return Err(failure.within("forwarding"));
        }
        let mut tally = self.worker.settle(self.gate.tally);
        tally.unrecorded = self.recorder.unrecorded();
        self.recorder.finish()?;
        let mut ends: OpenEnds = vec![Box::new(self.publisher)];
        ends.extend(end);
        Ok((tally, ends))
    }
}
