//! The server: records a request's arrival, works (or calls the next server), and replies.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::clock;
use crate::contract::{Client, Fill, FrameMut, Received, Replier, Sent, copies_made};
use crate::control::Tally;
use crate::error::{Error, Result};
use crate::frame::Header;
use crate::listen_limit::{ListenLimit, Patience};
use crate::recorder::{Record, Recorder};
use crate::spec::{Reply, Wait};

use super::calls::{ServerEnd, await_reply};
use super::emit::offer_until_accepted;
use super::ends::new_deadline;
use super::intake::Intake;
use super::triggers::Effects;
use super::work::Worker;
use super::{OpenEnds, RoleContext};

/// Runs the role of the last server.
pub fn run(context: &RoleContext<'_>) -> Result<(Tally, OpenEnds)> {
    let id = context.me.inputs.first().ok_or_else(|| Error::new("a server needs a link to serve"))?;
    let mut bound = BTreeMap::new();
    let end = ServerEnd::bind(context, id, &mut bound)?;
    context.report_bound(bound);
    end.run(context, Answerer::new(context, new_deadline(context.spec.drain_ns), None)?)
}

/// The client with which a relay calls the next server.
pub struct Onward {
    pub client: Box<dyn Client>,
    pub wait: Wait,
    pub patience: Duration,
}

/// Answers requests from the server's poll loop or from its callback.
pub struct Answerer {
    intake: Intake,
    recorder: Recorder,
    worker: Worker,
    onward: Option<Onward>,
    reply: Reply,
    retry_ns: i64,
    limit: Arc<ListenLimit>,
    failure: Option<Error>,
    effects: Effects,
}

impl Answerer {
    pub fn new(context: &RoleContext<'_>, limit: Arc<ListenLimit>, onward: Option<Onward>) -> Result<Self> {
        Ok(Self {
            intake: Intake::new(context, limit.clone()),
            recorder: context.recorder()?,
            worker: Worker::new(context)?,
            onward,
            reply: context.flow.reply,
            retry_ns: context.spec.retry_ns,
            limit,
            failure: None,
            effects: Effects::of(context),
        })
    }

    pub fn limit(&self) -> Arc<ListenLimit> {
        self.limit.clone()
    }

    /// Handles one request. `forwarded` is the time right before the call of the next server or, in the last server,
    /// right before the reply.
    pub fn answer(&mut self, received: Received<'_>, replier: &mut dyn Replier) {
        let received = self.effects.readmit(received);
        let Some(arrival) = self.intake.admit(&received) else { return };
        self.worker.work_on(&arrival.header, received.payload);
        self.effects.handle(&arrival.header, arrival.arrived_ns, received.payload);
        let copied = copies_made();
        let forwarded_ns = clock::now_ns();
        let answered = match self.onward {
            Some(_) => self.ask_onward(&arrival.header, &received, replier),
            None => self.answer_now(&received, replier),
        };
        let answered = answered.unwrap_or_else(|error| {
            self.failure.get_or_insert(error);
            false
        });
        if arrival.header.is_sample() {
            self.intake.count_sending(0, copies_made() - copied);
            self.intake.tally.sent += u64::from(answered);
            self.intake.tally.abandoned += u64::from(!answered);
            let arrived_ns = arrival.arrived_ns;
            self.recorder.push(Record { arrived_ns, forwarded_ns, ..Record::of(arrival.header.seq) });
        }
        self.intake.count(&arrival, &received);
        self.worker.prepare_next();
    }

    fn answer_now(&mut self, received: &Received<'_>, replier: &mut dyn Replier) -> Result<bool> {
        let reply = self.reply;
        offer_until_accepted(self.retry_ns, &mut self.intake.tally.busy, || match reply {
            Reply::Echo => replier.forward(received),
            Reply::Header => reply_header(received, replier),
        })
    }

    fn ask_onward(&mut self, header: &Header, received: &Received<'_>, replier: &mut dyn Replier) -> Result<bool> {
        let Some(onward) = &mut self.onward else { return Ok(false) };
        let busy = &mut self.intake.tally.busy;
        if !offer_until_accepted(self.retry_ns, busy, || onward.client.forward(received))? {
            return Ok(false);
        }
        let mut answered = Ok(false);
        await_reply(onward.client.as_mut(), onward.wait, Patience::new(onward.patience), header.seq, |reply| {
            if is_reply_to(reply, header) {
                answered = offer_until_accepted(self.retry_ns, busy, || replier.forward(reply));
            }
        })?;
        answered
    }

    pub fn settle(mut self, end: Option<Box<dyn std::any::Any + Send>>) -> Result<(Tally, OpenEnds)> {
        if let Some(failure) = self.failure {
            return Err(failure.within("answering"));
        }
        self.intake.write_log()?;
        let mut tally = self.worker.settle(self.intake.tally);
        tally.unrecorded = self.recorder.unrecorded_count();
        self.recorder.finish()?;
        let mut ends: OpenEnds = Vec::new();
        ends.extend(self.onward.map(|onward| Box::new(onward.client) as _));
        ends.extend(end);
        Ok((tally, ends))
    }
}

/// Whether a frame is the reply to this request. A late reply to an earlier request of another phase is not such a
/// reply.
fn is_reply_to(reply: &Received<'_>, request: &Header) -> bool {
    let same = |header: Header| header.seq == request.seq && header.is_sample() == request.is_sample();
    Header::read(reply.header, reply.payload.len()).is_ok_and(same)
}

/// Replies with the header alone; the length and the checksum in it are those of an empty payload.
fn reply_header(received: &Received<'_>, replier: &mut dyn Replier) -> Result<Sent> {
    let Ok(mut header) = Header::read(received.header, received.payload.len()) else {
        return Err(Error::new("the request's header changed while it was answered"));
    };
    header.length = 0;
    header.checksum = 0;
    replier.reply(0, Fill::copied_message(&mut |frame: FrameMut<'_>| header.write(frame.header)))
}
