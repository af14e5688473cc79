//! Implements the server: records a request's arrival, does its work or calls the next server, and replies.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::clock;
use crate::contract::{Client, Fill, FrameMut, Received, Replier, Sent, copies_made};
use crate::control::Tally;
use crate::error::{Error, Result};
use crate::frame::Header;
use crate::listen_limit::{ListenLimit, Patience};
use crate::permits::Permits;
use crate::recorder::{Record, Recorder};
use crate::spec::{Reply, Wait};
use crate::sync::lock;

use super::calls::{OpenServer, ServerEnd, StoppedServer, await_reply};
use super::emit::offer_until_accepted;
use super::ends::{listen, new_deadline};
use super::intake::Intake;
use super::lanes::sum;
use super::triggers::Effects;
use super::work::Worker;
use super::{OpenEnds, RoleContext};

/// Runs the role of the last server.
pub fn run(context: &RoleContext<'_>) -> Result<(Tally, OpenEnds)> {
    let mut bound = BTreeMap::new();
    let bind = |id: &String| ServerEnd::bind(context, id, &mut bound);
    let ends = context.me.inputs.iter().map(bind).collect::<Result<Vec<_>>>()?;
    context.report_bound(bound);
    if ends.len() > 1 {
        return run_several(context, ends);
    }
    let end = ends.into_iter().next().ok_or_else(|| Error::new("a server needs a link to serve"))?;
    end.run(context, Answerer::new(context, new_deadline(context.spec.drain_ns), None)?)
}

/// Serves several links, each on its own thread. If the node's threads are not limited, the node handles one call of a
/// flow at a time.
fn run_several(context: &RoleContext<'_>, ends: Vec<ServerEnd>) -> Result<(Tally, OpenEnds)> {
    let limit = new_deadline(context.spec.drain_ns);
    let permits = if context.permits.is_limited() { context.permits.clone() } else { Arc::new(Permits::new(1)) };
    let recorder = Arc::new(Mutex::new(context.recorder()?));
    let open = |end: ServerEnd| {
        let shared = Records::Shared(recorder.clone());
        end.open(context, Answerer::recording(context, limit.clone(), None, shared, permits.clone())?)
    };
    let servers = ends.into_iter().map(open).collect::<Result<Vec<_>>>()?;
    context.report_ready();
    let stopped = listen(context, &limit, || serve_all(servers, context.wait(), &limit))?;
    drop(recorder);
    let settled = stopped.into_iter().map(StoppedServer::settle).collect::<Result<Vec<_>>>()?;
    let tally = sum(context.tally(), settled.iter().map(|(tally, _)| tally));
    Ok((tally, settled.into_iter().flat_map(|(_, ends)| ends).collect()))
}

fn serve_all(servers: Vec<OpenServer>, wait: Wait, limit: &ListenLimit) -> Result<Vec<StoppedServer>> {
    std::thread::scope(|scope| {
        let serve = |server: OpenServer| {
            let stopped = server.run(wait, limit);
            if stopped.is_err() {
                limit.limit_to(0);
            }
            stopped
        };
        let threads: Vec<_> = servers.into_iter().map(|server| scope.spawn(move || serve(server))).collect();
        let panicked = |_| Error::new("a thread of a server panicked; the log shows where");
        threads.into_iter().map(|thread| thread.join().map_err(panicked)?).collect()
    })
}

/// The destination of a server's samples: its own file, or a file that several servers share.
pub enum Records {
    Own(Recorder),
    Shared(Arc<Mutex<Recorder>>),
}

impl Records {
    #[inline]
    fn push(&mut self, record: Record) {
        match self {
            Self::Own(recorder) => recorder.push(record),
            Self::Shared(recorder) => lock(recorder).push(record),
        }
    }

    /// Writes the file, unless other servers still use the file. Returns the number of records that were lost because
    /// the recorder's memory was full.
    fn finish(self) -> Result<u64> {
        let recorder = match self {
            Self::Own(recorder) => recorder,
            Self::Shared(recorder) => match Arc::into_inner(recorder) {
                Some(last) => last.into_inner().unwrap_or_else(|broken| broken.into_inner()),
                None => return Ok(0),
            },
        };
        let unrecorded = recorder.unrecorded_count();
        recorder.finish().map(|()| unrecorded)
    }
}

/// The client that a relay uses to call the next server.
pub struct Onward {
    pub client: Box<dyn Client>,
    pub wait: Wait,
    pub patience: Duration,
}

/// Answers requests from the server's poll loop or from its callback.
pub struct Answerer {
    intake: Intake,
    records: Records,
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
        Self::recording(context, limit, onward, Records::Own(context.recorder()?), context.permits.clone())
    }

    fn recording(
        context: &RoleContext<'_>,
        limit: Arc<ListenLimit>,
        onward: Option<Onward>,
        records: Records,
        permits: Arc<Permits>,
    ) -> Result<Self> {
        Ok(Self {
            intake: Intake::new(context, limit.clone()),
            records,
            worker: Worker::new(context)?,
            onward,
            reply: context.flow.reply,
            retry_ns: context.spec.retry_ns,
            limit,
            failure: None,
            effects: Effects::with_permits(context, permits),
        })
    }

    /// Returns the permits that limit how many requests the node handles at once.
    pub fn permits(&self) -> Arc<Permits> {
        self.effects.permits()
    }

    pub fn limit(&self) -> Arc<ListenLimit> {
        self.limit.clone()
    }

    /// Handles one request. `forwarded` is the time immediately before the call of the next server or, in the last
    /// server, before the reply.
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
            self.records.push(Record { arrived_ns, forwarded_ns, ..Record::of(arrival.header.seq) });
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
        tally.unrecorded = self.records.finish()?;
        let mut ends: OpenEnds = Vec::new();
        ends.extend(self.onward.map(|onward| Box::new(onward.client) as _));
        ends.extend(end);
        Ok((tally, ends))
    }
}

/// Returns whether a frame is the reply to this request. Late replies to requests from an earlier phase of the trial do
/// not match.
fn is_reply_to(reply: &Received<'_>, request: &Header) -> bool {
    let same = |header: Header| header.seq == request.seq && header.is_sample() == request.is_sample();
    Header::read(reply.header, reply.payload.len()).is_ok_and(same)
}

/// Replies with the header alone. The header contains the length and the checksum of an empty payload.
fn reply_header(received: &Received<'_>, replier: &mut dyn Replier) -> Result<Sent> {
    let Ok(mut header) = Header::read(received.header, received.payload.len()) else {
        return Err(Error::new("the request's header changed while it was answered"));
    };
    header.length = 0;
    header.checksum = 0;
    replier.reply(0, Fill::copied_message(&mut |frame: FrameMut<'_>| header.write(frame.header)))
}
