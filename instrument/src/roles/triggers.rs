//! The effects of arrivals at a node: they cause messages of its followers and of its sources whose messages return,
//! and update the newest message of each flow.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::contract::Received;
use crate::control::Tally;
use crate::error::Result;
use crate::frame::{Header, flags};
use crate::permits::{Permit, Permits};
use crate::spec::{Endpoint, Spec};

use super::RoleContext;
use super::follower::Sender;
use super::following::Following;
use super::returning::Returning;

/// The value of `newest` before the first message has arrived.
const NOTHING: u64 = u64::MAX;

/// The followers of a node, its sources whose messages return, and the newest messages of its receivers; all endpoints
/// of the node share them.
#[derive(Default)]
pub struct Triggers {
    followers: BTreeMap<u32, Following>,
    /// The sources whose messages return, by the endpoint at which they return.
    returning: BTreeMap<u32, Vec<Arc<Returning>>>,
    /// The `seq` of the newest sample, by receiving endpoint; only for endpoints whose newest message a source uses.
    newest: BTreeMap<u32, AtomicU64>,
}

impl Triggers {
    pub fn new(spec: &Spec) -> Self {
        let follows = |me: &&Endpoint| !me.after.is_empty();
        let mut returning = BTreeMap::<u32, Vec<Arc<Returning>>>::new();
        for me in &spec.endpoints {
            if let Some(endpoint) = me.returns {
                returning.entry(endpoint).or_default().push(Arc::new(Returning::of(me.id)));
            }
        }
        Self {
            followers: spec.endpoints.iter().filter(follows).map(|me| (me.id, Following::new(me))).collect(),
            returning,
            newest: spec.endpoints.iter().filter_map(|me| Some((me.latest?, AtomicU64::new(NOTHING)))).collect(),
        }
    }

    /// Allows the receiving threads to send through `sender`.
    ///
    /// # Errors
    /// When this processor or this adapter does not support the follower's work.
    pub fn lend(&self, context: &RoleContext<'_>, sender: Sender) -> Result<()> {
        self.followers.get(&context.me.id).map_or(Ok(()), |found| found.lend(context, sender))
    }

    /// Returns the sender after the measurement; waits for a thread that is sending.
    pub fn take_back(&self, follower: u32) -> Option<Sender> {
        self.followers.get(&follower)?.take_back()
    }

    /// Adds the counts of a follower's work to `tally`.
    pub fn settle(&self, follower: u32, tally: Tally) -> Tally {
        match self.followers.get(&follower) {
            Some(found) => found.settle(tally),
            None => tally,
        }
    }

    /// Returns the source `id`, if its messages return.
    pub fn returning(&self, id: u32) -> Option<Arc<Returning>> {
        self.returning.values().flatten().find(|source| source.id() == id).cloned()
    }

    /// Sends everything that the arrival of a message at `endpoint` causes. `arrived_ns` is the arrival time.
    pub fn handle(&self, endpoint: u32, header: &Header, arrived_ns: i64, payload: &[u8]) {
        if header.is(flags::PROBE) {
            return;
        }
        if let Some(newest) = self.newest.get(&endpoint).filter(|_| header.is_sample()) {
            newest.store(header.seq, Ordering::Release);
        }
        for source in self.returning.get(&endpoint).into_iter().flatten() {
            source.send_next(arrived_ns);
        }
        for following in self.followers.values().filter(|each| each.follows(endpoint)) {
            following.handle(endpoint, header, arrived_ns, payload);
        }
    }

    /// Returns the `seq` of the newest sample at a receiving endpoint, if there is one.
    pub fn newest(&self, endpoint: u32) -> Option<u64> {
        let seq = self.newest.get(&endpoint)?.load(Ordering::Acquire);
        (seq != NOTHING).then_some(seq)
    }
}

/// The effects of arrivals at one receiving endpoint: the messages that they cause, and the permits that they need.
pub struct Effects {
    endpoint: u32,
    /// `None` if arrivals here cause nothing.
    triggers: Option<Arc<Triggers>>,
    permits: Arc<Permits>,
}

impl Effects {
    pub fn of(context: &RoleContext<'_>) -> Self {
        Self::with_permits(context, context.permits.clone())
    }

    /// Creates the effects for an endpoint that needs one of these permits to handle a message.
    pub fn with_permits(context: &RoleContext<'_>, permits: Arc<Permits>) -> Self {
        let id = context.me.id;
        let is_followed =
            |other: &Endpoint| other.after.contains(&id) || other.latest == Some(id) || other.returns == Some(id);
        let has_effects = context.spec.endpoints.iter().any(is_followed);
        let triggers = has_effects.then(|| context.triggers.clone());
        Self { endpoint: id, triggers, permits }
    }

    /// Waits for a permit to handle a message.
    #[inline]
    pub fn permit(&self) -> Permit<'_> {
        self.permits.wait_for_one()
    }

    pub fn permits(&self) -> Arc<Permits> {
        self.permits.clone()
    }

    /// In a node with limited threads, a message arrives when the node begins to handle it, not when a thread of the
    /// transport offers it. Clears the earlier arrival time in that case.
    #[inline]
    pub fn readmit<'a>(&self, received: Received<'a>) -> Received<'a> {
        if self.permits.is_limited() { Received { arrived_ns: 0, ..received } } else { received }
    }

    /// Sends the messages that the arrival causes.
    #[inline]
    pub fn handle(&self, header: &Header, arrived_ns: i64, payload: &[u8]) {
        if let Some(triggers) = &self.triggers {
            triggers.handle(self.endpoint, header, arrived_ns, payload);
        }
    }
}
