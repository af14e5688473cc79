//! Provides the context of a role: its spec, its transport, and its connections to the node and the launcher.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use crate::codec::Codec;
use crate::contract::{Link, Transport};
use crate::control::{Control, Report, Tally};
use crate::error::{Error, Result};
use crate::frame::HEADER_BYTES;
use crate::payload::Content;
use crate::permits::Permits;
use crate::phase::Phase;
use crate::recorder::Recorder;
use crate::resources::Meter;
use crate::spec::{Begin, Endpoint, Flow, LinkSpec, Spec, Wait};

use super::triggers::Triggers;

/// A report from an endpoint to its node.
pub enum Progress {
    /// The addresses of the link ends that the endpoint has bound.
    Bound(BTreeMap<String, String>),
    /// All link ends of the endpoint are open.
    Ready,
    /// The endpoint has received its first sample.
    Arrived,
    /// The endpoint has finished measuring or has failed.
    Done(Box<Result<Tally>>),
}

/// Everything that an endpoint's role needs to run.
pub struct RoleContext<'a> {
    pub spec: &'a Spec,
    pub me: &'a Endpoint,
    /// The flow of this endpoint.
    pub flow: &'a Flow,
    pub run: u64,
    pub transport: &'a dyn Transport,
    /// Opens the empty transport that `empty_hop` measures, in this node's language.
    pub open_empty: &'a (dyn Fn() -> Result<Arc<dyn Transport>> + Sync),
    /// The codec, set only at the first and the last endpoint of a flow with a codec.
    pub codec: Option<Arc<dyn Codec>>,
    /// The payload content of this flow.
    pub content: Arc<Content>,
    pub phase: &'a Phase,
    /// The messages that arrivals at this node trigger.
    pub triggers: &'a Arc<Triggers>,
    /// The permits to handle messages.
    pub permits: &'a Arc<Permits>,
    pub meter: &'a Arc<Meter>,
    pub control: &'a Arc<Control>,
    pub node: Sender<Progress>,
}

impl RoleContext<'_> {
    /// Returns how this endpoint waits for messages.
    pub fn wait(&self) -> Wait {
        self.me.wait.unwrap_or(self.spec.wait)
    }

    /// Returns whether sources send as soon as their link ends are open, without testing their links with probes.
    pub fn begins_at_once(&self) -> bool {
        self.spec.begin == Begin::AtOnce
    }

    /// Opens a receiving end. If receivers of one process wait in different ways, they open their link ends in the
    /// order of the chain. A transport may serve receivers in the order in which they opened, and a callback delays the
    /// receivers that are served after it.
    pub fn open_one_by_one<T>(&self, open: impl FnOnce() -> Result<T>) -> Result<T> {
        let before = |other: &&Endpoint| self.me.wait.is_some() && other.wait.is_some() && other.id < self.me.id;
        for other in self.spec.endpoints.iter().filter(before) {
            self.phase.wait_until_open(other.id);
        }
        let opened = open();
        self.phase.mark_open(self.me.id);
        opened
    }

    /// Returns the link, as the link end that binds it needs it. The `wait` of the returned link is that of the link's
    /// receivers, because a publisher must know how its receivers wait.
    ///
    /// # Errors
    ///
    /// Fails if the spec does not list the link.
    pub fn link_to_bind(&self, id: &str) -> Result<Link> {
        self.link(id, String::new(), self.link_spec(id)?.wait)
    }

    /// Returns the link for a link end that connects, with this endpoint's `wait`. Waits until the link is bound.
    ///
    /// # Errors
    ///
    /// Fails if the spec does not list the link, or if no endpoint has bound the link.
    pub fn link_to_connect(&self, id: &str) -> Result<Link> {
        self.link(id, self.phase.wait_for_address(id)?, self.wait())
    }

    fn link(&self, id: &str, address: String, wait: Wait) -> Result<Link> {
        let link = self.link_spec(id)?;
        let (payload, frame_bytes) = (self.flow.payload, HEADER_BYTES + self.flow.payload_bytes);
        let (name, receivers, message) = (link.name.clone(), link.receivers, self.flow.message.clone());
        Ok(Link { name, address, receivers, payload, frame_bytes, wait, message })
    }

    fn link_spec(&self, id: &str) -> Result<&LinkSpec> {
        self.spec.links.get(id).ok_or_else(|| Error::new(format!("the spec lists no link {id}")))
    }

    /// Reports the addresses of the link ends that this endpoint has bound. Call `report_bound` even if the endpoint
    /// has bound no link ends.
    pub fn report_bound(&self, addresses: BTreeMap<String, String>) {
        let _ = self.node.send(Progress::Bound(addresses));
    }

    pub fn report_ready(&self) {
        let _ = self.node.send(Progress::Ready);
    }

    /// Creates the recorder for this endpoint's samples.
    pub fn recorder(&self) -> Result<Recorder> {
        Recorder::create(&self.me.samples, self.me.id, self.me.capacity)
    }

    /// Returns a tally in which all counts are 0.
    pub fn tally(&self) -> Tally {
        let role = format!("{:?}", self.me.role).to_lowercase();
        Tally { id: self.me.id, role, ..Tally::default() }
    }

    /// Sends probes one at a time until the launcher reports that messages arrive on every branch of this pair.
    pub fn prove_pair(&self, mut send_probe: impl FnMut(u64) -> Result<()>) -> Result<()> {
        self.phase.wait_for_probing();
        let pause = probe_pause(self.most_receivers());
        for probe in 0.. {
            send_probe(probe)?;
            if self.phase.wait_for_proof(self.me.flow, pause) {
                break;
            }
        }
        self.control.say(&Report::Quiet { pair: self.me.flow });
        Ok(())
    }

    /// Returns the number of receivers of the link with the most receivers, among the links that this endpoint sends
    /// to.
    fn most_receivers(&self) -> u32 {
        self.me.outputs.iter().filter_map(|id| self.spec.links.get(id)).map(|link| link.receivers).max().unwrap_or(1)
    }

    /// Returns the latest time at which the receivers of this trial stop listening.
    pub fn drained_ns(&self, start_ns: i64) -> i64 {
        start_ns + self.spec.limit_ns + self.spec.drain_ns
    }
}

/// Returns the pause between two probes. Each receiver reports each probe to the launcher, so the pause grows with the
/// number of receivers.
fn probe_pause(receivers: u32) -> Duration {
    Duration::from_millis(20) * (1 + receivers / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_receivers_do_not_report_more_probes_in_a_second_than_a_hundred() {
        let reports_per_s = |receivers: u32| f64::from(receivers) / probe_pause(receivers).as_secs_f64();
        assert_eq!(probe_pause(99), Duration::from_millis(20));
        assert!(reports_per_s(1000) < reports_per_s(99));
    }
}
