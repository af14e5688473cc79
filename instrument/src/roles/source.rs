//! Implements the source: waits for due times, sets the timestamps of messages and sends the messages. With the pace
//! `closed`, messages travel in a ring, and the source is also the last receiver of the ring.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::causes::{Cause, Causes};
use crate::clock;
use crate::contract::{Publisher, Received};
use crate::control::Tally;
use crate::error::{Error, Result};
use crate::frame::{Header, flags};
use crate::listen_limit::{ListenLimit, Patience};
use crate::recorder::{Record, Recorder};
use crate::spec::Wait;
use crate::thread_log::{Mark, ThreadLog};

use super::emit::{Emitter, Offered, Stamps};
use super::empty_hop;
use super::ends::{Inbox, LONGEST_BLOCK, Taker, new_deadline};
use super::intake::{Arrival, Intake};
use super::message_loop::{Call, MessageLoop};
use super::{OpenEnds, RoleContext};

/// Runs the source role.
pub fn run(context: &RoleContext<'_>) -> Result<(Tally, OpenEnds)> {
    let id = context.me.outputs.first().ok_or_else(|| Error::new("a source needs a link to send to"))?;
    let recorder = context.recorder()?;
    let publisher = context.transport.publisher(&context.link_to_bind(id)?)?;
    let opened_ns = clock::now_ns();
    context.report_bound(BTreeMap::from([(id.clone(), publisher.address())]));
    let ring = context.me.inputs.first().map(|id| Ring::connect(context, id)).transpose()?;
    let tally = Tally { opened_ns, empty_hop_ns: await_receivers(context, id)?, ..context.tally() };
    context.report_ready();
    let log = ThreadLog::new(context.me, context.flow);
    let (emitter, latest) = (Emitter::new(context), Latest::of(context)?);
    let mut source = Source { context, emitter, publisher, ring, recorder, tally, log, latest };
    let start_ns = source.start_ns(opened_ns)?;
    source.measure(start_ns)?;
    source.close()
}

/// Waits until every link is bound, and then measures the empty hop. A source that sends at once does not wait and does
/// not measure the empty hop.
fn await_receivers(context: &RoleContext<'_>, id: &str) -> Result<Option<i64>> {
    if context.begins_at_once() {
        return Ok(None);
    }
    context.link_to_connect(id)?;
    empty_hop::measure(context)
}

struct Source<'a> {
    context: &'a RoleContext<'a>,
    emitter: Emitter,
    publisher: Box<dyn Publisher>,
    ring: Option<Ring>,
    recorder: Recorder,
    tally: Tally,
    log: Option<Box<ThreadLog>>,
    latest: Option<Latest>,
}

/// A receiving end of this node. Each of the source's messages is based on the latest message that arrived at this
/// receiving end.
struct Latest {
    endpoint: u32,
    causes: Causes,
}

impl Latest {
    fn of(context: &RoleContext<'_>) -> Result<Option<Self>> {
        let Some(endpoint) = context.me.latest else { return Ok(None) };
        let path = context.me.causes.as_ref().ok_or_else(|| Error::new("`latest` needs a file for the causes"))?;
        Ok(Some(Self { endpoint, causes: Causes::create(path, context.me.id, context.me.capacity)? }))
    }
}

impl Source<'_> {
    /// Returns when the schedule starts: after probes have arrived at every receiver, or immediately if sources send at
    /// once.
    fn start_ns(&mut self, opened_ns: i64) -> Result<i64> {
        let context = self.context;
        if context.begins_at_once() {
            return Ok(opened_ns);
        }
        context.prove_pair(|probe| self.probe(probe))?;
        Ok(context.phase.wait_for_go())
    }

    /// Sends a probe. A refused probe is not retried, because the source sends another probe soon.
    fn probe(&mut self, probe: u64) -> Result<()> {
        self.send(self.emitter.header(probe, flags::PROBE, clock::now_ns()))?;
        self.await_return(probe, Duration::from_millis(20))
    }

    fn measure(&mut self, start_ns: i64) -> Result<()> {
        let context = self.context;
        let spun_ns = MessageLoop::new(context, start_ns).run(context, |call, next_bytes| {
            self.message(call)?;
            Ok(self.emitter.lead_ns(next_bytes))
        })?;
        self.tally.pacing_ns = spun_ns + self.emitter.spun_ns();
        Ok(())
    }

    fn message(&mut self, call: Call) -> Result<()> {
        self.tally.limit_reached = call.cut_short;
        let _permit = self.context.permits.wait_for_one();
        self.read_counters(call, Mark::Send);
        self.note_latest(call);
        let stamps = self.send(self.emitter.header(call.seq, call.marks, call.due_ns))?;
        if call.is_sample() {
            self.count(call.seq, call.due_ns, stamps);
        }
        self.read_counters(call, Mark::Sent);
        if self.context.flow.pace.kind.awaits_return() {
            self.await_return(call.seq, self.context.spec.patience())?;
        }
        Ok(())
    }

    /// Records which received message the message `call` is based on, if a message has been received.
    fn note_latest(&mut self, call: Call) {
        let Some(latest) = self.latest.as_mut().filter(|_| call.is_sample()) else { return };
        if let Some(seq) = self.context.triggers.newest(latest.endpoint) {
            latest.causes.push(Cause::of(call.seq, latest.endpoint, seq));
        }
    }

    /// Reads this thread's performance counters, if the trial requests readings.
    #[inline]
    fn read_counters(&mut self, call: Call, mark: Mark) {
        if let Some(log) = &mut self.log {
            log.read(call.is_sample().then_some(call.seq), mark, clock::now_ns());
        }
    }

    fn send(&mut self, header: Header) -> Result<Option<Stamps>> {
        let publisher = &mut self.publisher;
        let offered = self.emitter.offer(header, &mut self.tally.busy, |bytes, fill| publisher.send(bytes, fill))?;
        Ok(match offered {
            Offered::Sent(stamps) => Some(stamps),
            Offered::Abandoned => None,
        })
    }

    fn count(&mut self, seq: u64, due_ns: i64, stamps: Option<Stamps>) {
        let mut record = Record { due_ns, ..Record::of(seq) };
        match stamps {
            Some(stamps @ Stamps { sent_ns, encoded_ns }) => {
                (record.sent_ns, record.encoded_ns) = (sent_ns, encoded_ns);
                record.forwarded_ns = clock::now_ns();
                self.tally.send_ns += record.forwarded_ns - stamps.handed_over_ns();
                self.tally.count_sent(true, sent_ns);
            }
            None => self.tally.abandoned += 1,
        }
        self.recorder.push(record);
    }

    /// If messages travel in a ring, waits until the sent message has returned.
    fn await_return(&mut self, seq: u64, patience: Duration) -> Result<()> {
        match &mut self.ring {
            Some(ring) => ring.wait_for(seq, patience),
            None => Ok(()),
        }
    }

    fn close(mut self) -> Result<(Tally, OpenEnds)> {
        let mut ends: OpenEnds = vec![Box::new(self.publisher)];
        if let Some(log) = self.log.take() {
            log.finish()?;
        }
        if let Some(latest) = self.latest.take() {
            latest.causes.finish()?;
        }
        self.tally.unrecorded = self.recorder.unrecorded_count();
        if let Some(ring) = self.ring {
            let (returns, end) = ring.close(self.context.wait())?;
            returns.settle(&mut self.tally, &mut self.recorder);
            ends.extend(end);
        }
        self.recorder.finish()?;
        Ok((self.tally, ends))
    }
}

/// The source's receiver in a ring, where the source's own messages return.
struct Ring {
    inbox: Inbox<Returns>,
    wait: Wait,
    limit: Arc<ListenLimit>,
    /// The `seq` of the last message that returned, for a receiver that waits by callback.
    returned: Arc<AtomicI64>,
    waiter: std::thread::Thread,
}

impl Ring {
    fn connect(context: &RoleContext<'_>, id: &str) -> Result<Self> {
        let link = context.link_to_connect(id)?;
        let limit = new_deadline(context.spec.drain_ns);
        let returned = Arc::new(AtomicI64::new(-1));
        let waiter = std::thread::current();
        let capacity = (context.flow.messages as usize).saturating_mul(2);
        let returns = Returns {
            intake: Intake::last(context, limit.clone()),
            records: Vec::with_capacity(capacity),
            returned: returned.clone(),
            waiter: waiter.clone(),
        };
        let inbox = Inbox::connect(context.transport, &link, context.wait(), returns)?;
        Ok(Self { inbox, wait: context.wait(), limit, returned, waiter })
    }

    fn wait_for(&mut self, seq: u64, patience: Duration) -> Result<()> {
        debug_assert_eq!(self.waiter.id(), std::thread::current().id());
        let mut patience = Patience::new(patience);
        // The timeout is capped and thus the same for every message. An adapter that sets the timeout in the kernel
        // therefore sets the timeout only once.
        while let Some(left) = patience.time_left(LONGEST_BLOCK) {
            self.look(left)?;
            if self.returned.load(Ordering::Acquire) == seq as i64 {
                break;
            }
            patience.count_empty_look();
        }
        self.returned.store(-1, Ordering::Release);
        Ok(())
    }

    fn look(&mut self, left: Duration) -> Result<()> {
        match &mut self.inbox {
            Inbox::Pull { subscriber, taker } => {
                let timeout = if self.wait == Wait::Spin { Duration::ZERO } else { left };
                subscriber.poll(timeout, &mut |received| taker.take(received)).map(drop)
            }
            Inbox::Push { .. } => {
                std::thread::park_timeout(left);
                Ok(())
            }
        }
    }

    fn close(self, wait: Wait) -> Result<(Returns, OpenEnds)> {
        self.limit.drain(clock::now_ns());
        let (returns, end) = self.inbox.run(wait, &self.limit)?;
        Ok((returns, end.map(|end| Box::new(end) as _).into_iter().collect()))
    }
}

/// The messages that returned through the ring.
struct Returns {
    intake: Intake,
    records: Vec<Record>,
    returned: Arc<AtomicI64>,
    waiter: std::thread::Thread,
}

impl Taker for Returns {
    fn take(&mut self, received: Received<'_>) {
        let Some(arrival) = self.intake.admit(&received) else { return };
        let header = &arrival.header;
        if header.is_sample() && self.records.len() < self.records.capacity() {
            let (due_ns, sent_ns) = (header.due_ns, header.sent_ns);
            let Arrival { arrived_ns, decoded_ns, .. } = arrival;
            self.records.push(Record { due_ns, sent_ns, arrived_ns, decoded_ns, ..Record::of(header.seq) });
        }
        self.intake.count(&arrival, &received);
        if header.is(flags::PROBE) {
            self.intake.say_probed(header);
        }
        self.returned.store(header.seq as i64, Ordering::Release);
        self.waiter.unpark();
    }
}

impl Returns {
    /// Adds the counts of the returned messages to the counts of the sent messages.
    fn settle(self, tally: &mut Tally, recorder: &mut Recorder) {
        let back = self.intake.tally;
        tally.received = back.received;
        tally.malformed = back.malformed;
        tally.foreign = back.foreign;
        tally.content_checks = back.content_checks;
        tally.content_errors = back.content_errors;
        self.records.iter().for_each(|record| recorder.push(*record));
        tally.unrecorded = recorder.unrecorded_count() + (back.received - self.records.len() as u64);
    }
}
