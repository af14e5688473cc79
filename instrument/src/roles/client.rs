//! Implements the client: sends a request, waits for the reply, and records both times. A client with several links
//! makes that many calls concurrently.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use crate::clock;
use crate::contract::Client;
use crate::control::Tally;
use crate::error::{Error, Result};
use crate::frame::{Header, flags};
use crate::listen_limit::Patience;
use crate::recorder::{NONE_NS, Record, Recorder};
use crate::spec::Wait;
use crate::sync::lock;
use crate::thread_log::Mark;

use super::calls::{ClientEnd, await_reply};
use super::emit::{Emitter, Offered, Stamps};
use super::ends::new_deadline;
use super::intake::{Arrival, Intake};
use super::lanes::Lanes;
use super::message_loop::{Call, MessageLoop};
use super::passed::Passed;
use super::{OpenEnds, RoleContext};

/// Runs the client role.
pub fn run(context: &RoleContext<'_>) -> Result<(Tally, OpenEnds)> {
    if context.me.outputs.len() > 1 {
        return run_lanes(context);
    }
    let id = context.me.outputs.first().ok_or_else(|| Error::new("a client needs a link to call"))?;
    let mut bound = BTreeMap::new();
    let end = ClientEnd::bind(context, id, &mut bound)?;
    context.report_bound(bound);
    let mut asker = Asker::new(context, end.connect(context)?);
    let mut recorder = context.recorder()?;
    context.report_ready();
    context.prove_pair(|probe| asker.probe(probe))?;
    let tally = measure(context, &mut asker, &mut recorder)?;
    recorder.finish()?;
    Ok((tally, vec![Box::new(asker.client)]))
}

/// Makes several calls concurrently. One free lane waits for the next due time, and the other free lanes wait until
/// that lane has taken its call.
fn run_lanes(context: &RoleContext<'_>) -> Result<(Tally, OpenEnds)> {
    let mut lanes = Lanes::open(context)?;
    context.report_ready();
    context.prove_pair(|probe| lanes.probe(probe))?;
    let schedule = Mutex::new(MessageLoop::new(context, context.phase.wait_for_go()));
    let (tally, ends) = lanes.make_calls(context, &|asker: &Asker| {
        let mut schedule = lock(&schedule);
        let lead_ns = asker.lead_ns(schedule.next_bytes(context));
        schedule.next(context, lead_ns)
    })?;
    let schedule = lock(&schedule);
    let pacing_ns = tally.pacing_ns + schedule.spun_ns();
    Ok((Tally { limit_reached: schedule.is_cut_short(), pacing_ns, ..tally }, ends))
}

fn measure(context: &RoleContext<'_>, asker: &mut Asker, recorder: &mut Recorder) -> Result<Tally> {
    let mut limit_reached = false;
    let message_loop = MessageLoop::new(context, context.phase.wait_for_go());
    let spun_ns = message_loop.run(context, |call, next_bytes| {
        limit_reached = call.cut_short;
        let _permit = context.permits.wait_for_one();
        let record = asker.ask(call)?;
        if call.is_sample() {
            recorder.push(record);
        }
        Ok(asker.lead_ns(next_bytes))
    })?;
    asker.intake.write_log()?;
    let pacing_ns = spun_ns + asker.spun_ns();
    Ok(Tally { unrecorded: recorder.unrecorded_count(), limit_reached, pacing_ns, ..asker.intake.tally.clone() })
}

/// The send times of a request, and the arrival and decoding times of its reply. The second value is `None` if no reply
/// arrived.
type Asked = (Stamps, Option<(i64, i64)>);

/// A client and the state that the client keeps between calls.
pub struct Asker {
    pub client: Box<dyn Client>,
    pub intake: Intake,
    emitter: Emitter,
    wait: Wait,
    patience: Duration,
}

impl Asker {
    pub fn new(context: &RoleContext<'_>, client: Box<dyn Client>) -> Self {
        let intake = Intake::last(context, new_deadline(context.spec.drain_ns));
        let (wait, patience) = (context.wait(), context.spec.patience());
        Self { client, intake, emitter: Emitter::new(context), wait, patience }
    }

    /// See [`Emitter::lead_ns`].
    pub fn lead_ns(&self, next_bytes: usize) -> i64 {
        self.emitter.lead_ns(next_bytes)
    }

    /// See [`Emitter::spun_ns`].
    pub fn spun_ns(&self) -> i64 {
        self.emitter.spun_ns()
    }

    /// Sends a probe, and reports the probe when its reply has arrived.
    pub fn probe(&mut self, probe: u64) -> Result<()> {
        if let Some(header) = self.try_probe(probe)? {
            self.intake.say_probed(&header);
        }
        Ok(())
    }

    /// Sends a probe. Returns the probe's header when the reply has arrived, or `None` if no reply arrived in time.
    pub fn try_probe(&mut self, probe: u64) -> Result<Option<Header>> {
        let header = self.emitter.header(probe, flags::PROBE, clock::now_ns());
        let asked = self.exchange(header, None, Duration::from_millis(500))?;
        Ok(asked.and_then(|(_, reply)| reply).map(|_| header))
    }

    /// Sends a request and waits for the reply. The record has no sent time if the request was abandoned, and no
    /// arrival time if no reply arrived.
    pub fn ask(&mut self, call: Call) -> Result<Record> {
        self.ask_with(call, None)
    }

    /// Makes a call like [`Self::ask`], but sends the payload in `passed` if `passed` is not `None`.
    pub fn ask_with(&mut self, call: Call, passed: Option<Passed<'_>>) -> Result<Record> {
        let header = self.emitter.header(call.seq, call.marks, call.due_ns);
        self.intake.read_counters_now(&header, Mark::Send);
        let asked = self.exchange(header, passed, self.patience)?;
        let mut record = Record { due_ns: call.due_ns, ..Record::of(call.seq) };
        if let Some((Stamps { sent_ns, encoded_ns }, reply)) = asked {
            let (arrived_ns, decoded_ns) = reply.unwrap_or((NONE_NS, NONE_NS));
            record = Record { sent_ns, encoded_ns, arrived_ns, decoded_ns, ..record };
        }
        if call.is_sample() {
            self.intake.tally.sent += u64::from(asked.is_some());
            self.intake.tally.abandoned += u64::from(asked.is_none());
        }
        Ok(record)
    }

    /// Returns the record of a call that was not made.
    pub fn abandon(&mut self, call: Call) -> Record {
        self.intake.tally.abandoned += u64::from(call.is_sample());
        Record { due_ns: call.due_ns, ..Record::of(call.seq) }
    }

    /// Sends a request and waits for its reply. Returns `None` if the transport refused the request until the retry
    /// time expired.
    fn exchange(&mut self, header: Header, passed: Option<Passed<'_>>, patience: Duration) -> Result<Option<Asked>> {
        let (client, busy) = (self.client.as_mut(), &mut self.intake.tally.busy);
        let offered = self.emitter.offer_or_pass(header, passed, busy, |bytes, fill| client.start(bytes, fill))?;
        let Offered::Sent(stamps) = offered else { return Ok(None) };
        let intake = &mut self.intake;
        intake.read_counters_now(&header, Mark::Sent);
        let mut came = None;
        await_reply(client, self.wait, Patience::new(patience), header.seq, |reply| {
            let Some(arrival) = intake.admit(reply) else { return };
            if arrival.header.seq == header.seq && arrival.header.is_sample() == header.is_sample() {
                let Arrival { arrived_ns, decoded_ns, .. } = arrival;
                came.get_or_insert((arrived_ns, decoded_ns));
            }
            intake.count(&arrival, reply);
        })?;
        Ok(Some((stamps, came)))
    }
}
