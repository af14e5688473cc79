//! Implements the relay: records a frame's arrival, does its work, and forwards the frame unchanged.

use std::collections::BTreeMap;

use crate::clock;
use crate::contract::{Publisher, Received, copies_made};
use crate::control::Tally;
use crate::error::{Error, Result};
use crate::recorder::{Record, Recorder};

use super::emit::offer_until_accepted;
use super::ends::{Inbox, Taker, listen, new_deadline};
use super::intake::Intake;
use super::work::Worker;
use super::{OpenEnds, RoleContext};

/// Runs the role of a relay between two pubsub links.
pub fn run(context: &RoleContext<'_>) -> Result<(Tally, OpenEnds)> {
    let (Some(from), Some(to)) = (context.me.inputs.first(), context.me.outputs.first()) else {
        return Err(Error::new("a relay needs a link to receive from and one to send to"));
    };
    let publisher = context.transport.publisher(&context.link_to_bind(to)?)?;
    context.report_bound(BTreeMap::from([(to.clone(), publisher.address())]));
    let limit = new_deadline(context.spec.drain_ns);
    let relay = Relay {
        intake: Intake::new(context, limit.clone()),
        recorder: context.recorder()?,
        worker: Worker::new(context)?,
        publisher,
        retry_ns: context.spec.retry_ns,
        failure: None,
    };
    let inbox = Inbox::connect(context.transport, &context.link_to_connect(from)?, context.wait(), relay)?;
    context.report_ready();
    let (relay, end) = listen(context, &limit, || inbox.run(context.wait(), &limit))?;
    relay.settle(end.map(|end| Box::new(end) as _))
}

/// The fields after `intake` that the relay needs for every message fill one more cache line.
#[repr(C)]
struct Relay {
    intake: Intake,
    publisher: Box<dyn Publisher>,
    worker: Worker,
    retry_ns: i64,
    recorder: Recorder,
    /// The first error of a send, which is reported at the end because a callback cannot return an error.
    failure: Option<Error>,
}

impl Taker for Relay {
    fn take(&mut self, received: Received<'_>) {
        let Some(arrival) = self.intake.admit(&received) else { return };
        self.worker.work_on(&arrival.header, received.payload);
        let forwarded_ns = clock::now_ns();
        let publisher = &mut self.publisher;
        let (mut refused, copied) = (0, copies_made());
        let passed_on = offer_until_accepted(self.retry_ns, &mut refused, || publisher.forward(&received));
        let passed_on = passed_on.unwrap_or_else(|error| {
            self.failure.get_or_insert(error);
            false
        });
        if arrival.header.is_sample() {
            self.intake.count_sending(refused, copies_made() - copied);
            self.record(arrival.header.seq, arrival.arrived_ns, passed_on.then_some(forwarded_ns));
        }
        self.intake.count(&arrival, &received);
        self.worker.prepare_next();
    }
}

impl Relay {
    fn record(&mut self, seq: u64, arrived_ns: i64, forwarded_ns: Option<i64>) {
        let mut record = Record { arrived_ns, ..Record::of(seq) };
        match forwarded_ns {
            Some(forwarded_ns) => {
                record.forwarded_ns = forwarded_ns;
                self.intake.tally.sent += 1;
            }
            None => self.intake.tally.abandoned += 1,
        }
        self.recorder.push(record);
    }

    fn settle(mut self, end: Option<Box<dyn std::any::Any + Send>>) -> Result<(Tally, OpenEnds)> {
        if let Some(failure) = self.failure {
            return Err(failure.within("forwarding"));
        }
        self.intake.write_log()?;
        let mut tally = self.worker.settle(self.intake.tally);
        tally.unrecorded = self.recorder.unrecorded_count();
        self.recorder.finish()?;
        let mut ends: OpenEnds = vec![Box::new(self.publisher)];
        ends.extend(end);
        Ok((tally, ends))
    }
}
