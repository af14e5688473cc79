//! The source: paces, stamps and sends. With `closed` it is also the end of the ring.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::clock;
use crate::contract::{Publisher, Received};
use crate::control::Tally;
use crate::error::{Error, Result};
use crate::frame::{Header, flags};
use crate::recorder::{Record, Recorder};
use crate::spec::Wait;
use crate::until::{Patience, Until};

use super::emit::{Emitter, Offered, Stamps};
use super::empty_hop;
use super::ends::{Inbox, LONGEST_BLOCK, Taker, until_drained};
use super::gate::{Arrival, Gate};
use super::schedule::{Call, Schedule};
use super::{Desk, OpenEnds};

/// Takes the role of the source.
///
/// # Errors
/// See [`super::take`].
pub fn run(desk: &Desk<'_>) -> Result<(Tally, OpenEnds)> {
    let id = desk.me.outputs.first().ok_or_else(|| Error::new("a source needs a link to send to"))?;
    let publisher = desk.transport.publisher(&desk.link_to_bind(id)?)?;
    desk.say_bound(BTreeMap::from([(id.clone(), publisher.address())]));
    let ring = desk.me.inputs.first().map(|id| Ring::connect(desk, id)).transpose()?;
    let recorder = desk.recorder()?;
    desk.link_to_connect(id)?;
    let tally = Tally { empty_hop_ns: empty_hop::measure(desk)?, ..desk.tally() };
    desk.say_ready();
    let mut source = Source { desk, emitter: Emitter::new(desk), publisher, ring, recorder, tally };
    desk.prove(|probe| source.probe(probe))?;
    source.measure(desk.stage.wait_for_go())?;
    source.close()
}

struct Source<'a> {
    desk: &'a Desk<'a>,
    emitter: Emitter,
    publisher: Box<dyn Publisher>,
    ring: Option<Ring>,
    recorder: Recorder,
    tally: Tally,
}

impl Source<'_> {
    /// A probe that the transport refuses is not offered again: the next one is.
    fn probe(&mut self, probe: u64) -> Result<()> {
        self.send(self.emitter.header(probe, flags::PROBE, clock::now_ns()))?;
        self.await_return(probe, Duration::from_millis(20))
    }

    fn measure(&mut self, start_ns: i64) -> Result<()> {
        let desk = self.desk;
        let spun_ns = Schedule::new(desk, start_ns).run(desk, |call| {
            self.message(call)?;
            Ok(self.emitter.lead_ns())
        })?;
        self.tally.pacing_ns = spun_ns + self.emitter.spun_ns();
        Ok(())
    }

    fn message(&mut self, call: Call) -> Result<()> {
        self.tally.limit_reached = call.cut_short;
        let stamps = self.send(self.emitter.header(call.seq, call.marks, call.intended_ns))?;
        if call.is_sample() {
            self.count(call.seq, call.intended_ns, stamps);
        }
        if self.desk.spec.pace.kind.awaits_return() {
            self.await_return(call.seq, self.desk.spec.patience())?;
        }
        Ok(())
    }

    fn send(&mut self, header: Header) -> Result<Option<Stamps>> {
        let publisher = &mut self.publisher;
        let offered = self.emitter.offer(header, &mut self.tally.busy, |bytes, fill| publisher.send(bytes, fill))?;
        Ok(match offered {
            Offered::Sent(stamps) => Some(stamps),
            Offered::Abandoned => None,
        })
    }

    fn count(&mut self, seq: u64, intended_ns: i64, stamps: Option<Stamps>) {
        let mut record = Record { intended_ns, ..Record::of(seq) };
        match stamps {
            Some(stamps @ Stamps { sent_ns, encoded_ns }) => {
                (record.sent_ns, record.encoded_ns) = (sent_ns, encoded_ns);
                self.tally.send_ns += clock::now_ns() - stamps.handed_over_ns();
                self.tally.sent += 1;
                self.tally.last_ns = sent_ns;
                if self.tally.first_ns == 0 {
                    self.tally.first_ns = sent_ns;
                }
            }
            None => self.tally.abandoned += 1,
        }
        self.recorder.push(record);
    }

    /// Waits until what was sent has come round the ring, if there is one.
    fn await_return(&mut self, seq: u64, patience: Duration) -> Result<()> {
        match &mut self.ring {
            Some(ring) => ring.wait_for(seq, patience),
            None => Ok(()),
        }
    }

    fn close(mut self) -> Result<(Tally, OpenEnds)> {
        let mut ends: OpenEnds = vec![Box::new(self.publisher)];
        self.tally.unrecorded = self.recorder.unrecorded();
        if let Some(ring) = self.ring {
            let (returns, end) = ring.close(self.desk.wait())?;
            returns.settle(&mut self.tally, &mut self.recorder);
            ends.extend(end);
        }
        self.recorder.finish()?;
        Ok((self.tally, ends))
    }
}

/// The end of the ring at the source: it sees its own messages come back.
struct Ring {
    inbox: Inbox<Returns>,
    wait: Wait,
    until: Arc<Until>,
    /// The seq that came back last, for a wait by callback.
    returned: Arc<AtomicI64>,
    waiter: std::thread::Thread,
}

impl Ring {
    fn connect(desk: &Desk<'_>, id: &str) -> Result<Self> {
        let link = desk.link_to_connect(id)?;
        let until = until_drained(desk.spec.drain_ns);
        let returned = Arc::new(AtomicI64::new(-1));
        let waiter = std::thread::current();
        let capacity = (desk.spec.messages as usize).saturating_mul(2);
        let returns = Returns {
            gate: Gate::last(desk, until.clone()),
            records: Vec::with_capacity(capacity),
            returned: returned.clone(),
            waiter: waiter.clone(),
        };
        let inbox = Inbox::connect(desk.transport, &link, desk.wait(), returns)?;
        Ok(Self { inbox, wait: desk.wait(), until, returned, waiter })
    }

    fn wait_for(&mut self, seq: u64, patience: Duration) -> Result<()> {
        debug_assert_eq!(self.waiter.id(), std::thread::current().id());
        let mut patience = Patience::new(patience);
        // Capped, it is the same for every message: an adapter that has to tell the kernel tells it once.
        while let Some(left) = patience.left(LONGEST_BLOCK) {
            self.look(left)?;
            if self.returned.load(Ordering::Acquire) == seq as i64 {
                break;
            }
            patience.looked_in_vain();
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
        self.until.drain(clock::now_ns());
        let (returns, end) = self.inbox.run(wait, &self.until)?;
        Ok((returns, end.map(|end| Box::new(end) as _).into_iter().collect()))
    }
}

/// What came back round the ring.
struct Returns {
    gate: Gate,
    records: Vec<Record>,
    returned: Arc<AtomicI64>,
    waiter: std::thread::Thread,
}

impl Taker for Returns {
    fn take(&mut self, received: Received<'_>) {
        let Some(arrival) = self.gate.admit(&received) else { return };
        let header = &arrival.header;
        if header.is_sample() && self.records.len() < self.records.capacity() {
            let (intended_ns, sent_ns) = (header.intended_ns, header.sent_ns);
            let Arrival { arrived_ns, decoded_ns, .. } = arrival;
            self.records.push(Record { intended_ns, sent_ns, arrived_ns, decoded_ns, ..Record::of(header.seq) });
        }
        self.gate.count(&arrival, &received);
        if header.is(flags::PROBE) {
            self.gate.say_probed(header);
        }
        self.returned.store(header.seq as i64, Ordering::Release);
        self.waiter.unpark();
    }
}

impl Returns {
    /// Adds what came back to what was sent.
    fn settle(self, tally: &mut Tally, recorder: &mut Recorder) {
        let back = self.gate.tally;
        tally.received = back.received;
        tally.malformed = back.malformed;
        tally.foreign = back.foreign;
        tally.content_checks = back.content_checks;
        tally.content_errors = back.content_errors;
        self.records.iter().for_each(|record| recorder.push(*record));
        tally.unrecorded = recorder.unrecorded() + (back.received - self.records.len() as u64);
    }
}
