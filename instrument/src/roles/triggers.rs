//! What the arrivals at a node cause: the messages of its followers, and the newest message of each flow.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::contract::Received;
use crate::frame::Header;
use crate::permits::{Permit, Permits};
use crate::spec::{Endpoint, Spec};
use crate::sync::lock;

use super::RoleContext;
use super::follower::Sender;
use super::joining::{Arrived, Joining};

/// The value of `newest` before the first message.
const NOTHING: u64 = u64::MAX;

/// The followers of a node and the newest messages of its receivers, shared by all its endpoints.
#[derive(Default)]
pub struct Triggers {
    followers: BTreeMap<u32, Following>,
    /// The `seq` of the newest sample at each receiving endpoint whose newest message a source uses.
    newest: BTreeMap<u32, AtomicU64>,
}

/// A follower, which is locked only by arrivals that it follows: its work does not delay other flows.
struct Following {
    after: Vec<u32>,
    follower: Mutex<Follower>,
}

struct Follower {
    joining: Joining,
    /// The sending end; absent before its endpoint has proved its link, and after the measurement.
    sender: Option<Sender>,
}

impl Triggers {
    pub fn new(spec: &Spec) -> Self {
        let follows = |me: &&Endpoint| !me.after.is_empty();
        let follower = |me: &Endpoint| Following {
            after: me.after.clone(),
            follower: Mutex::new(Follower { joining: Joining::new(me), sender: None }),
        };
        Self {
            followers: spec.endpoints.iter().filter(follows).map(|me| (me.id, follower(me))).collect(),
            newest: spec.endpoints.iter().filter_map(|me| Some((me.latest?, AtomicU64::new(NOTHING)))).collect(),
        }
    }

    /// The receiving threads may now send through `sender`.
    pub fn lend(&self, follower: u32, sender: Sender) {
        if let Some(found) = self.followers.get(&follower) {
            lock(&found.follower).sender = Some(sender);
        }
    }

    /// Takes the sender back after the measurement; waits while a thread sends.
    pub fn take_back(&self, follower: u32) -> Option<Sender> {
        self.followers.get(&follower).and_then(|found| lock(&found.follower).sender.take())
    }

    /// Sends everything that the arrival of a message at `endpoint` causes. `arrived_ns` is when the message arrived.
    pub fn handle(&self, endpoint: u32, header: &Header, arrived_ns: i64, payload: &[u8]) {
        if header.is_sample() {
            if let Some(newest) = self.newest.get(&endpoint) {
                newest.store(header.seq, Ordering::Release);
            }
        }
        for following in self.followers.values().filter(|each| each.after.contains(&endpoint)) {
            let mut follower = lock(&following.follower);
            let Follower { joining, sender } = &mut *follower;
            if let (Some(arrived), Some(sender)) = (joining.add(endpoint, header), sender) {
                match arrived {
                    Arrived::Nothing => {}
                    Arrived::Message { causes, is_last } => sender.follow(header, causes, is_last, arrived_ns, payload),
                    Arrived::End => sender.end(arrived_ns),
                }
            }
        }
    }

    /// The `seq` of the newest sample at a receiving endpoint, if there is one.
    pub fn newest(&self, endpoint: u32) -> Option<u64> {
        let seq = self.newest.get(&endpoint)?.load(Ordering::Acquire);
        (seq != NOTHING).then_some(seq)
    }
}

/// The effects of the arrivals at one receiving endpoint: what they cause, and whom they keep waiting.
pub struct Effects {
    endpoint: u32,
    /// None if an arrival here causes nothing.
    triggers: Option<Arc<Triggers>>,
    permits: Arc<Permits>,
}

impl Effects {
    pub fn of(context: &RoleContext<'_>) -> Self {
        let id = context.me.id;
        let is_followed = |other: &Endpoint| other.after.contains(&id) || other.latest == Some(id);
        let has_effects = context.spec.endpoints.iter().any(is_followed);
        let triggers = has_effects.then(|| context.triggers.clone());
        Self { endpoint: id, triggers, permits: context.permits.clone() }
    }

    /// Waits until this node may handle a message.
    #[inline]
    pub fn permit(&self) -> Permit<'_> {
        self.permits.wait_for_one()
    }

    /// A node that handles few messages at once receives a message when it begins to handle it, and not when a thread of
    /// the transport offers it.
    #[inline]
    pub fn readmit<'a>(&self, received: Received<'a>) -> Received<'a> {
        if self.permits.is_limited() { Received { arrived_ns: 0, ..received } } else { received }
    }

    /// Sends what the arrival causes.
    #[inline]
    pub fn handle(&self, header: &Header, arrived_ns: i64, payload: &[u8]) {
        if let Some(triggers) = &self.triggers {
            triggers.handle(self.endpoint, header, arrived_ns, payload);
        }
    }
}
