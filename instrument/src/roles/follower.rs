//! Implements the follower: sends a message or makes a call after messages of other flows have arrived at its node.
//!
//! Like a callback in a program, the thread that receives a triggering message also does the follower's work, sets the
//! timestamp and sends the message. The follower's own thread binds and tests its link, lends its sending end to the
//! receiving threads, and closes the end. If several calls may be in progress at once, the receiving thread does the
//! work, and lanes ([`super::lanes`]) make the calls.

use std::collections::BTreeMap;
use std::sync::mpsc::{Sender as Queue, channel};
use std::sync::{Arc, Mutex};

use crate::causes::{Cause, Causes};
use crate::clock;
use crate::contract::Publisher;
use crate::control::Tally;
use crate::error::{Error, Result};
use crate::frame::flags;
use crate::listen_limit::ListenLimit;
use crate::recorder::{Record, Recorder};
use crate::spec::Pattern;
use crate::sync::lock;

use super::calls::ClientEnd;
use super::client::Asker;
use super::emit::Emitter;
use super::ends::{listen, new_deadline};
use super::joining::CausedBy;
use super::lanes::Lanes;
use super::message_loop::Call;
use super::passed::Passed;
use super::{OpenEnds, RoleContext};

/// Runs the follower role.
pub fn run(context: &RoleContext<'_>) -> Result<(Tally, OpenEnds)> {
    if context.flow.pattern == Pattern::Rpc && context.me.outputs.len() > 1 {
        return run_lanes(context);
    }
    let id = context.me.outputs.first().ok_or_else(|| Error::new("a follower needs a link to send to"))?;
    let way = Way::open(context, id)?;
    let mut sender = Sender::new(context, way, Some(context.recorder()?))?;
    context.report_ready();
    context.prove_pair(|probe| sender.probe(probe))?;
    let (tally, ends) = lend(context, sender)?.close()?;
    Ok((context.triggers.settle(context.me.id, tally), ends))
}

/// Runs a follower that may have several calls in progress at once.
fn run_lanes(context: &RoleContext<'_>) -> Result<(Tally, OpenEnds)> {
    let mut lanes = Lanes::open(context)?;
    context.report_ready();
    context.prove_pair(|probe| lanes.probe(probe))?;
    let (queue, calls) = channel();
    let calls = Mutex::new(calls);
    let sender = Sender::new(context, Way::Queue(queue), None)?;
    let (tally, ends) = std::thread::scope(|scope| {
        let next = |_: &Asker| lock(&calls).recv().ok();
        let calling = scope.spawn(move || lanes.make_calls(context, &next));
        // Closing the sender closes the queue. The lanes then end after the remaining calls.
        let closed = lend(context, sender).and_then(Sender::close);
        let called = calling.join().map_err(|_| Error::new("the lanes of a follower panicked"))?;
        closed.and(called)
    })?;
    Ok((context.triggers.settle(context.me.id, tally), ends))
}

/// Lends the sending end to the receiving threads until the last message has been sent or the time of the trial is up.
fn lend(context: &RoleContext<'_>, sender: Sender) -> Result<Sender> {
    let limit = sender.limit.clone();
    context.triggers.lend(context, sender)?;
    listen(context, &limit, || {
        limit.sleep();
        Ok(())
    })?;
    let sender = context.triggers.take_back(context.me.id);
    sender.ok_or_else(|| Error::new("the sending end of a follower was lost"))
}

/// How a follower sends its messages or makes its calls.
enum Way {
    Publish {
        publisher: Box<dyn Publisher>,
        emitter: Emitter,
    },
    Ask(Box<Asker>),
    /// The follower puts its calls into a queue, and lanes make and record the calls.
    Queue(Queue<Call>),
}

/// A follower's sending end, with everything that a receiving thread needs to send a message. If several threads send
/// at once, they alternate.
pub struct Sender {
    way: Way,
    /// Whether the follower forwards the payloads that arrived instead of sending its own payloads.
    is_bridge: bool,
    /// The recorder is `None` if lanes record the calls.
    recorder: Option<Recorder>,
    causes: Causes,
    tally: Tally,
    samples: u64,
    warmups: u64,
    limit: Arc<ListenLimit>,
    /// The first error of a send, which is reported at the end because a receiving thread cannot return an error.
    failure: Option<Error>,
}

impl Sender {
    fn new(context: &RoleContext<'_>, way: Way, recorder: Option<Recorder>) -> Result<Self> {
        let me = context.me;
        let path = me.causes.as_ref().ok_or_else(|| Error::new("a follower needs a file for the causes"))?;
        let most = me.capacity.saturating_mul(me.after.len() as u64);
        Ok(Self {
            way,
            is_bridge: context.flow.bridge,
            recorder,
            causes: Causes::create(path, me.id, most)?,
            tally: context.tally(),
            samples: 0,
            warmups: 0,
            limit: new_deadline(context.spec.drain_ns),
            failure: None,
        })
    }

    fn probe(&mut self, probe: u64) -> Result<()> {
        match &mut self.way {
            Way::Queue(_) => Ok(()),
            Way::Ask(asker) => asker.probe(probe),
            Way::Publish { publisher, emitter } => {
                let header = emitter.header(probe, flags::PROBE, clock::now_ns());
                emitter.offer(header, &mut 0, |bytes, fill| publisher.send(bytes, fill)).map(drop)
            }
        }
    }

    /// Sends the message or makes the call that the arrivals in `causes` trigger. `passed` is the payload of the latest
    /// triggering arrival.
    pub fn send(&mut self, marks: u16, causes: &CausedBy, due_ns: i64, passed: Option<Passed<'_>>) {
        let call = self.next_call(marks, due_ns);
        if call.is_sample() {
            causes.iter().for_each(|(endpoint, seq)| self.causes.push(Cause::of(call.seq, *endpoint, *seq)));
        }
        let passed = passed.filter(|_| self.is_bridge);
        match (self.way.send(call, passed, &mut self.tally), &mut self.recorder) {
            (Ok(Some(record)), Some(recorder)) if call.is_sample() => recorder.push(record),
            (Ok(_), _) => {}
            (Err(error), _) => drop(self.failure.get_or_insert(error)),
        }
        if marks & flags::LAST != 0 {
            self.limit.limit_to(0);
        }
    }

    /// Returns whether the time of the trial is up.
    pub fn is_over(&self) -> bool {
        self.limit.is_over()
    }

    fn next_call(&mut self, marks: u16, due_ns: i64) -> Call {
        let count = if marks & flags::WARMUP == 0 { &mut self.samples } else { &mut self.warmups };
        let seq = *count;
        *count += 1;
        Call { seq, marks, due_ns, cut_short: false }
    }

    fn close(self) -> Result<(Tally, OpenEnds)> {
        if let Some(failure) = self.failure {
            return Err(failure.within("following"));
        }
        self.causes.finish()?;
        let unrecorded = self.recorder.as_ref().map_or(0, Recorder::unrecorded_count);
        self.recorder.map_or(Ok(()), Recorder::finish)?;
        let (tally, ends): (Tally, OpenEnds) = match self.way {
            Way::Ask(asker) => (asker.intake.tally.clone(), vec![Box::new(asker.client)]),
            Way::Publish { publisher, .. } => (self.tally, vec![Box::new(publisher)]),
            Way::Queue(_) => (self.tally, Vec::new()),
        };
        Ok((Tally { unrecorded, ..tally }, ends))
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

    /// Sends the message or makes the call, and returns its record. Returns `None` if a lane makes the call and records
    /// it.
    fn send(&mut self, call: Call, passed: Option<Passed<'_>>, tally: &mut Tally) -> Result<Option<Record>> {
        match self {
            Self::Ask(asker) => asker.ask_with(call, passed).map(Some),
            Self::Publish { publisher, emitter } => emitter.publish(publisher.as_mut(), call, passed, tally).map(Some),
            Self::Queue(calls) => {
                calls.send(call).map_err(|_| Error::new("the lanes of a follower ended early"))?;
                Ok(None)
            }
        }
    }
}
