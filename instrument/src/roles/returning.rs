//! Implements a source that sends its next message after a message of another flow has arrived at its node. The pace
//! `closed` between participants uses this role.
//!
//! The thread that receives a returning message sends the source's next message, like a callback in a program. The
//! source's own thread sends the first and the last message. If no message has returned in time, the source's own
//! thread sends the next message.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::clock;
use crate::contract::Publisher;
use crate::control::Tally;
use crate::error::{Error, Result};
use crate::frame::flags;
use crate::recorder::Recorder;
use crate::resources::Meter;
use crate::spec::Window;
use crate::sync::lock;

use super::emit::Emitter;
use super::message_loop::Call;
use super::{OpenEnds, RoleContext};

/// Runs the role of a source with returning messages.
pub fn run(context: &RoleContext<'_>) -> Result<(Tally, OpenEnds)> {
    let lost =
        || Error::new("a source whose messages return needs a link, a window, and the endpoint to which they return");
    let id = context.me.outputs.first().ok_or_else(lost)?;
    let window = context.flow.window.ok_or_else(lost)?;
    let returning = context.triggers.returning(context.me.id).ok_or_else(lost)?;
    let mut publisher = context.transport.publisher(&context.link_to_bind(id)?)?;
    context.report_bound(BTreeMap::from([(id.clone(), publisher.address())]));
    let (recorder, emitter) = (context.recorder()?, Emitter::new(context));
    context.link_to_connect(id)?;
    context.report_ready();
    context.prove_pair(|probe| {
        let header = emitter.header(probe, flags::PROBE, clock::now_ns());
        emitter.offer(header, &mut 0, |bytes, fill| publisher.send(bytes, fill)).map(drop)
    })?;
    let start_ns = context.phase.wait_for_go();
    let sender = Sender {
        publisher,
        emitter,
        recorder,
        tally: context.tally(),
        meter: context.meter.clone(),
        times: Times::of(window, start_ns),
        most: context.flow.messages,
        samples: 0,
        warmups: 0,
        sent_ns: start_ns,
        failure: None,
    };
    returning.lend(sender);
    watch(context, &returning, start_ns);
    returning.take_back().ok_or_else(lost)?.close()
}

/// Sends the first message at the start and the last message at the end. Between these two messages, sends a message
/// whenever no message has returned in time.
fn watch(context: &RoleContext<'_>, returning: &Returning, start_ns: i64) {
    let patience_ns = context.spec.call_ns;
    clock::sleep_until(start_ns);
    returning.send_next(start_ns);
    while let Some(check_ns) = returning.next_check_ns(patience_ns) {
        clock::sleep_until(check_ns);
        let _permit = context.permits.wait_for_one();
        returning.check(patience_ns);
    }
}

/// A source's state, shared with the receiving threads of its node.
pub struct Returning {
    id: u32,
    /// The sender is `None` before the start and after the end of the schedule.
    sender: Mutex<Option<Sender>>,
}

impl Returning {
    pub fn of(id: u32) -> Self {
        Self { id, sender: Mutex::new(None) }
    }

    /// Returns the endpoint number of the source.
    pub fn id(&self) -> u32 {
        self.id
    }

    fn lend(&self, sender: Sender) {
        *lock(&self.sender) = Some(sender);
    }

    fn take_back(&self) -> Option<Sender> {
        lock(&self.sender).take()
    }

    /// Sends the next message, which is due at `due_ns`.
    pub fn send_next(&self, due_ns: i64) {
        if let Some(sender) = lock(&self.sender).as_mut() {
            sender.send_next(due_ns);
        }
    }

    /// Returns the next time at which to check whether a message has returned in time, or `None` after the end of the
    /// schedule.
    fn next_check_ns(&self, patience_ns: i64) -> Option<i64> {
        let sender = lock(&self.sender);
        sender.as_ref().filter(|sender| !sender.times.is_over).map(|sender| sender.next_check_ns(patience_ns))
    }

    fn check(&self, patience_ns: i64) {
        if let Some(sender) = lock(&self.sender).as_mut() {
            sender.check(patience_ns, clock::now_ns());
        }
    }
}

/// The schedule of a source with returning messages.
struct Times {
    measured_ns: i64,
    end_ns: i64,
    is_over: bool,
}

impl Times {
    fn of(window: Window, start_ns: i64) -> Self {
        let measured_ns = start_ns + window.warmup_ns;
        Self { measured_ns, end_ns: measured_ns + window.length_ns, is_over: false }
    }
}

/// The sending end of a source with returning messages.
struct Sender {
    publisher: Box<dyn Publisher>,
    emitter: Emitter,
    recorder: Recorder,
    tally: Tally,
    meter: Arc<Meter>,
    times: Times,
    /// The maximum number of samples to send.
    most: u64,
    samples: u64,
    warmups: u64,
    /// The time when the latest message was sent.
    sent_ns: i64,
    /// The first error of a send, which is reported at the end because a receiving thread cannot return an error.
    failure: Option<Error>,
}

impl Sender {
    /// Sends the source's next message, unless the time is up or all samples have been sent.
    fn send_next(&mut self, due_ns: i64) {
        if due_ns >= self.times.end_ns || self.samples == self.most {
            return;
        }
        let is_sample = due_ns >= self.times.measured_ns;
        let count = if is_sample { &mut self.samples } else { &mut self.warmups };
        let seq = *count;
        *count += 1;
        if is_sample && seq == 0 {
            self.meter.begin();
        }
        self.send(seq, if is_sample { 0 } else { flags::WARMUP }, due_ns);
    }

    fn send(&mut self, seq: u64, marks: u16, due_ns: i64) {
        let call = Call { seq, marks, due_ns, cut_short: false };
        self.sent_ns = due_ns;
        match self.emitter.publish(self.publisher.as_mut(), call, None, &mut self.tally) {
            Ok(record) => {
                self.sent_ns = record.sent_ns.max(due_ns);
                if call.is_sample() {
                    self.recorder.push(record);
                }
            }
            Err(error) => drop(self.failure.get_or_insert(error)),
        }
    }

    fn next_check_ns(&self, patience_ns: i64) -> i64 {
        let is_done = self.samples == self.most;
        if is_done { self.times.end_ns } else { self.times.end_ns.min(self.sent_ns.saturating_add(patience_ns)) }
    }

    /// Sends the last message if the time is up, or the next message if the latest message has not returned in time.
    fn check(&mut self, patience_ns: i64, now_ns: i64) {
        if now_ns >= self.times.end_ns {
            self.times.is_over = true;
            self.send(self.warmups, flags::WARMUP | flags::LAST, now_ns);
        } else if now_ns >= self.sent_ns.saturating_add(patience_ns) {
            self.send_next(now_ns);
        }
    }

    fn close(self) -> Result<(Tally, OpenEnds)> {
        if let Some(failure) = self.failure {
            return Err(failure.within("sending the next message"));
        }
        let tally = Tally { unrecorded: self.recorder.unrecorded_count(), ..self.tally };
        self.recorder.finish()?;
        Ok((tally, vec![Box::new(self.publisher)]))
    }
}
