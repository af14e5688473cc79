//! The follower: sends a message, or makes a call, because messages of other flows have arrived at its node.
//!
//! The thread that receives such a message also works, stamps and sends, as a callback of a program does. The follower's
//! own thread only binds and proves its link, lends its sending end to the receiving threads, and closes it at the end.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::causes::{Cause, Causes};
use crate::clock;
use crate::contract::Publisher;
use crate::control::Tally;
use crate::error::{Error, Result};
use crate::frame::{Header, flags};
use crate::listen_limit::ListenLimit;
use crate::recorder::{Record, Recorder};
use crate::spec::Pattern;

use super::calls::ClientEnd;
use super::client::Asker;
use super::emit::{Emitter, Offered, Passed, Stamps};
use super::ends::{listen, new_deadline};
use super::message_loop::Call;
use super::work::Worker;
use super::{OpenEnds, RoleContext};

/// Runs the role of a follower.
pub fn run(context: &RoleContext<'_>) -> Result<(Tally, OpenEnds)> {
    let id = context.me.outputs.first().ok_or_else(|| Error::new("a follower needs a link to send to"))?;
    let limit = new_deadline(context.spec.drain_ns);
    let mut sender = Sender::open(context, id, limit.clone())?;
    context.report_ready();
    context.prove_pair(|probe| sender.probe(probe))?;
    context.triggers.lend(context.me.id, sender);
    listen(context, &limit, || {
        limit.sleep();
        Ok(())
    })?;
    let sender = context.triggers.take_back(context.me.id);
    sender.ok_or_else(|| Error::new("the sending end of a follower was lost"))?.close()
}

/// How a follower sends.
enum Way {
    Publish { publisher: Box<dyn Publisher>, emitter: Emitter },
    Ask(Box<Asker>),
}

/// The sending end of a follower, and everything that a receiving thread needs to send.
pub struct Sender {
    way: Way,
    /// Whether it passes the payloads of its causes on, instead of sending its own.
    is_bridge: bool,
    recorder: Recorder,
    causes: Causes,
    worker: Worker,
    tally: Tally,
    samples: u64,
    warmups: u64,
    limit: Arc<ListenLimit>,
    /// The first error of a send. The error is reported at the end, because a receiving thread cannot return it.
    failure: Option<Error>,
}

impl Sender {
    fn open(context: &RoleContext<'_>, id: &str, limit: Arc<ListenLimit>) -> Result<Self> {
        let me = context.me;
        let path = me.causes.as_ref().ok_or_else(|| Error::new("a follower needs a file for the causes"))?;
        let most = me.capacity.saturating_mul(me.after.len() as u64);
        Ok(Self {
            way: Way::open(context, id)?,
            is_bridge: context.flow.bridge,
            recorder: context.recorder()?,
            causes: Causes::create(path, me.id, most)?,
            worker: Worker::new(context)?,
            tally: context.tally(),
            samples: 0,
            warmups: 0,
            limit,
            failure: None,
        })
    }

    fn probe(&mut self, probe: u64) -> Result<()> {
        match &mut self.way {
            Way::Ask(asker) => asker.probe(probe),
            Way::Publish { publisher, emitter } => {
                let header = emitter.header(probe, flags::PROBE, clock::now_ns());
                emitter.offer(header, &mut 0, |bytes, fill| publisher.send(bytes, fill)).map(drop)
            }
        }
    }

    /// Works, and sends the message that the arrival of `header` caused; it was due when `header` arrived.
    pub fn follow(&mut self, header: &Header, causes: &[(u32, u64)], is_last: bool, due_ns: i64, payload: &[u8]) {
        self.worker.work_on(header, payload);
        let marks = header.flags & flags::WARMUP | if is_last { flags::LAST } else { 0 };
        let call = self.next_call(marks, due_ns);
        if call.is_sample() {
            causes.iter().for_each(|(endpoint, seq)| self.causes.push(Cause::of(call.seq, *endpoint, *seq)));
        }
        self.send(call, Some(Passed::of(header, payload)).filter(|_| self.is_bridge));
        self.worker.prepare_next();
        if is_last {
            self.limit.limit_to(0);
        }
    }

    /// Tells the receivers that no further message comes, with a message that is no sample.
    pub fn end(&mut self, due_ns: i64) {
        let call = self.next_call(flags::WARMUP | flags::LAST, due_ns);
        self.send(call, None);
        self.limit.limit_to(0);
    }

    fn next_call(&mut self, marks: u16, intended_ns: i64) -> Call {
        let count = if marks & flags::WARMUP == 0 { &mut self.samples } else { &mut self.warmups };
        let seq = *count;
        *count += 1;
        Call { seq, marks, intended_ns, cut_short: false }
    }

    fn send(&mut self, call: Call, passed: Option<Passed<'_>>) {
        let sent = match &mut self.way {
            Way::Ask(asker) => asker.ask_with(call, passed),
            Way::Publish { publisher, emitter } => publish(publisher.as_mut(), emitter, call, passed, &mut self.tally),
        };
        match sent {
            Ok(record) if call.is_sample() => self.recorder.push(record),
            Ok(_) => {}
            Err(error) => drop(self.failure.get_or_insert(error)),
        }
    }

    fn close(self) -> Result<(Tally, OpenEnds)> {
        if let Some(failure) = self.failure {
            return Err(failure.within("following"));
        }
        let (tally, end): (Tally, Box<dyn std::any::Any + Send>) = match self.way {
            Way::Ask(asker) => (asker.intake.tally.clone(), Box::new(asker.client)),
            Way::Publish { publisher, .. } => (self.tally, Box::new(publisher)),
        };
        let tally = Tally { unrecorded: self.recorder.unrecorded_count(), ..self.worker.settle(tally) };
        self.recorder.finish()?;
        self.causes.finish()?;
        Ok((tally, vec![end]))
    }
}

impl Way {
    /// Binds and connects the sending end.
    fn open(context: &RoleContext<'_>, id: &str) -> Result<Self> {
        let mut bound = BTreeMap::new();
        if context.flow.pattern != Pattern::Pubsub {
            let end = ClientEnd::bind(context, id, &mut bound)?;
            context.report_bound(bound);
            return Ok(Self::Ask(Box::new(Asker::new(context, end.connect(context)?))));
        }
        let publisher = context.transport.publisher(&context.link_to_bind(id)?)?;
        context.report_bound(BTreeMap::from([(id.to_owned(), publisher.address())]));
        context.link_to_connect(id)?;
        Ok(Self::Publish { publisher, emitter: Emitter::new(context) })
    }
}

fn publish(
    publisher: &mut dyn Publisher,
    emitter: &Emitter,
    call: Call,
    passed: Option<Passed<'_>>,
    tally: &mut Tally,
) -> Result<Record> {
    let header = emitter.header(call.seq, call.marks, call.intended_ns);
    let offered = emitter.offer_or_pass(header, passed, &mut tally.busy, |bytes, fill| publisher.send(bytes, fill))?;
    let mut record = Record { intended_ns: call.intended_ns, ..Record::of(call.seq) };
    match offered {
        Offered::Sent(Stamps { sent_ns, encoded_ns }) => {
            (record.sent_ns, record.encoded_ns) = (sent_ns, encoded_ns);
            tally.count_sent(call.is_sample(), sent_ns);
        }
        Offered::Abandoned => tally.abandoned += u64::from(call.is_sample()),
    }
    Ok(record)
}
