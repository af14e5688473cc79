//! The ROS 2 node, which all link ends of a process share. The ROS 2 node uses a single network interface.

use std::net::Ipv4Addr;
use std::sync::Mutex;

use hopmeter_instrument::Context as _;
use hopmeter_instrument::prelude::*;
use ros2_client::dds::rustdds::{DomainParticipant, DomainParticipantBuilder, Topic, TopicKind};
use ros2_client::{Context, Node, NodeName, NodeOptions, Publisher, QosProfile, Subscription};
use serde::Serialize;

use crate::quality::{Quality, unsupported_settings};

/// Domain numbers below 99 use only ports below the system's ephemeral ports.
const DOMAINS: u64 = 99;

/// A topic, with its names in DDS.
pub struct Place {
    pub topic: String,
    pub type_name: String,
    pub qos: QosProfile,
}

pub struct Session {
    node: Mutex<Node>,
    participant: DomainParticipant,
    domain: u16,
    address: Ipv4Addr,
    device: String,
    pub quality: Quality,
    unheeded: Vec<String>,
}

impl Session {
    pub fn open(setup: &Setup) -> Result<Self> {
        let domain = domain_of(&setup.run)?;
        let participant = participant(domain, setup)?;
        let node = Mutex::new(node(participant.clone())?);
        Ok(Self {
            node,
            participant,
            domain,
            address: setup.advertised,
            device: setup.network_device(),
            quality: Quality::read(setup)?,
            unheeded: unsupported_settings(setup)?,
        })
    }

    pub fn publisher<M: Serialize>(&self, place: &Place) -> Result<Publisher<M>> {
        let topic = self.topic(place)?;
        lock(&self.node).create_publisher(&topic, None).context(format!("making a publisher of {}", place.topic))
    }

    pub fn subscription<M: 'static>(&self, place: &Place) -> Result<Subscription<M>> {
        let topic = self.topic(place)?;
        lock(&self.node).create_subscription(&topic, None).context(format!("making a subscription of {}", place.topic))
    }

    fn topic(&self, place: &Place) -> Result<Topic> {
        let (name, type_name) = (place.topic.clone(), place.type_name.clone());
        let topic = self.participant.create_topic(name, type_name, &(&place.qos).into(), TopicKind::NoKey);
        topic.context(format!("making the topic {}", place.topic))
    }

    pub fn facts(&self) -> Vec<(String, String)> {
        let mut facts = vec![
            ("domain".into(), self.domain.to_string()),
            ("interface".into(), self.address.to_string()),
            ("path".into(), format!("UDP on {}", self.device)),
            ("shared_memory".into(), "not used".into()),
        ];
        if !self.unheeded.is_empty() {
            facts.push(("fallback".into(), format!("RustDDS does not support {}", self.unheeded.join(" and "))));
        }
        facts
    }
}

/// Returns the domain of a trial. Adapters in other languages compute the same domain number from the run id.
fn domain_of(run: &str) -> Result<u16> {
    let digits = run.get(..8).unwrap_or(run);
    let number = u64::from_str_radix(digits, 16).context(format!("reading the run's name `{run}`"))?;
    Ok((1 + number % DOMAINS) as u16)
}

/// Creates the participant. By default, a RustDDS participant searches for peers at the ports of this machine's first
/// processes; this participant does the same.
fn participant(domain: u16, setup: &Setup) -> Result<DomainParticipant> {
    let (address, device) = (setup.advertised, setup.network_device());
    DomainParticipantBuilder::new(domain).with_only_networks([address]).build().map_err(|cause| {
        Error::new(format!("RustDDS could not join domain {domain} on {address}"))
            .remedy(format!("check that {device} is up and that fewer than 100 processes use this domain"))
            .because(cause)
    })
}

/// Creates the ROS 2 node without a spinner, because this adapter needs neither parameter services nor events.
fn node(participant: DomainParticipant) -> Result<Node> {
    let doing = "making a ROS 2 node";
    let context = Context::from_domain_participant(participant).context(doing)?;
    let name = NodeName::new("/", &format!("hopmeter_{}", std::process::id())).context(doing)?;
    context.new_node(name, NodeOptions::new().enable_rosout(false)).context(doing)
}
