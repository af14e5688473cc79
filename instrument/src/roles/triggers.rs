//! Handles the effects of arrivals at a node. Arrivals trigger messages of followers and of sources with returning
//! messages. Arrivals also update the latest message of each flow.

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

/// The value in `newest` before the first message has arrived.
const NOTHING: u64 = u64::MAX;

/// The followers of a node, its sources with returning messages, and the latest messages of its receivers. All
/// endpoints of the node share the `Triggers` value.
#[derive(Default)]
pub struct Triggers {
    followers: BTreeMap<u32, Following>,
    /// The sources with returning messages, keyed by the endpoint to which the messages return.
    returning: BTreeMap<u32, Vec<Arc<Returning>>>,
    /// The `seq` of the latest sample by receiving endpoint. The list includes only endpoints that provide a source's
    /// latest message.
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

    /// Lets the receiving threads send through `sender`.
    ///
    /// # Errors
    ///
    /// Fails if this processor or this adapter does not support the follower's work.
    pub fn lend(&self, context: &RoleContext<'_>, sender: Sender) -> Result<()> {
        self.followers.get(&context.me.id).map_or(Ok(()), |found| found.lend(context, sender))
    }

    /// Takes the sender back from the receiving threads after the measurement. If a thread is still sending, waits
    /// until that thread has finished.
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

    /// Returns the source with this id, if its messages return.
    pub fn returning(&self, id: u32) -> Option<Arc<Returning>> {
        self.returning.values().flatten().find(|source| source.id() == id).cloned()
    }

    /// Sends every message that an arrival at `endpoint` triggers. `arrived_ns` is the arrival time.
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

    /// Returns the `seq` of the latest sample at a receiving endpoint, or `None` if no sample has arrived.
    pub fn newest(&self, endpoint: u32) -> Option<u64> {
        let seq = self.newest.get(&endpoint)?.load(Ordering::Acquire);
        (seq != NOTHING).then_some(seq)
    }
}

/// The effects of arrivals at one receiving endpoint: the messages that these arrivals trigger, and the permits that
/// the node needs to handle them.
pub struct Effects {
    endpoint: u32,
    /// `None` if arrivals at this endpoint trigger nothing.
    triggers: Option<Arc<Triggers>>,
    permits: Arc<Permits>,
}

impl Effects {
    pub fn of(context: &RoleContext<'_>) -> Self {
        Self::with_permits(context, context.permits.clone())
    }

    /// Creates the effects for an endpoint that needs one of `permits` to handle each message.
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

    /// Clears the arrival time if the node's threads are limited. With limited threads, a message counts as arrived
    /// when the node begins to handle the message, not when the transport delivers the message.
    #[inline]
    pub fn readmit<'a>(&self, received: Received<'a>) -> Received<'a> {
        if self.permits.is_limited() { Received { arrived_ns: 0, ..received } } else { received }
    }

    /// Sends the messages that the arrival triggers.
    #[inline]
    pub fn handle(&self, header: &Header, arrived_ns: i64, payload: &[u8]) {
        if let Some(triggers) = &self.triggers {
            triggers.handle(self.endpoint, header, arrived_ns, payload);
        }
    }
}
