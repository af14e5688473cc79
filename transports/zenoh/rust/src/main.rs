//! zenoh: peers that find each other by address, without a router and without multicast.

mod calls;
mod frames;
mod sessions;
mod topics;

use std::process::ExitCode;
use std::sync::Arc;

use hopmeter_instrument::prelude::*;
use serde::Deserialize;
use zenoh::qos::CongestionControl;

use calls::{CallClient, CallServer};
use frames::{Arrivals, Memory, SharedMemory};
use sessions::Sessions;
use topics::{CallbackSubscription, TopicPublisher, TopicSubscriber};

/// The reason for lost messages; the Python adapter reports the same.
const DROPPED: &str = "zenoh drops what its transmission queue has no room for; congestion=block lets the sender wait";

/// The action of a publisher if zenoh's transmission queue is full.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Congestion {
    Drop,
    Block,
}

/// How messages are sent and queued.
#[derive(Clone, Copy)]
struct Quality {
    congestion: CongestionControl,
    express: bool,
    /// The number of frames that a blocking receiver's channel holds.
    channel: usize,
}

impl Quality {
    fn read(setup: &Setup) -> Result<Self> {
        let congestion = match setup.setting("congestion")? {
            Congestion::Drop => CongestionControl::Drop,
            Congestion::Block => CongestionControl::Block,
        };
        Ok(Self { congestion, express: setup.setting("express")?, channel: setup.setting("channel")? })
    }
}

struct Zenoh {
    sessions: Sessions,
    quality: Quality,
    shared_memory: SharedMemory,
    arrivals: Arc<Arrivals>,
    wait: Wait,
    frame_bytes: usize,
}

impl Zenoh {
    fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
        let shared_memory: SharedMemory = setup.setting("shared_memory")?;
        Ok(Arc::new(Self {
            sessions: Sessions::new(setup.setting("session")?, shared_memory),
            quality: Quality::read(setup)?,
            shared_memory,
            arrivals: Arc::new(Arrivals::new(shared_memory)),
            wait: setup.wait,
            frame_bytes: setup.frame_bytes,
        }))
    }

    fn memory(&self) -> Result<Memory> {
        Memory::new(self.shared_memory, self.frame_bytes)
    }
}

impl Drop for Zenoh {
    /// Removes the shared memory that zenoh's sessions leave. All shared memory that this process has mapped belongs to
    /// this trial, and the peers have finished measuring.
    fn drop(&mut self) {
        if self.shared_memory != SharedMemory::Off {
            frames::remove_mapped_segments();
            zenoh::shm::cleanup_orphaned_shm_segments();
        }
    }
}

/// The key of a link, the same in every language.
fn key(link: &Link) -> String {
    format!("hopmeter/{}", link.name)
}

impl Transport for Zenoh {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        Ok(Box::new(TopicPublisher::open(self.sessions.listening_session()?, key(link), self.quality, self.memory()?)?))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        let session = self.sessions.connected_session(&link.address)?;
        Ok(Box::new(TopicSubscriber::open(session, key(link), self.quality, self.arrivals.clone())?))
    }

    fn subscribe(&self, link: &Link, on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
        let session = self.sessions.connected_session(&link.address)?;
        Ok(Box::new(CallbackSubscription::open(session, key(link), self.arrivals.clone(), on_frame)?))
    }

    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        let (session, arrivals) = (self.sessions.listening_session()?, self.arrivals.clone());
        let polled = (self.wait != Wait::Callback).then_some(self.quality.channel);
        Ok(Box::new(CallServer::open(session, key(link), polled, self.memory()?, arrivals)?))
    }

    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        let session = self.sessions.connected_session(&link.address)?;
        Ok(Box::new(CallClient::open(session, key(link), self.quality, self.memory()?, self.arrivals.clone())?))
    }

    fn facts(&self) -> Vec<(String, String)> {
        let reach_others = self.sessions.reach_others();
        let mut told = self.arrivals.facts(reach_others, self.shared_memory.is_used_for(self.frame_bytes));
        if reach_others && self.quality.congestion == CongestionControl::Drop {
            told.push(("loss".into(), DROPPED.into()));
        }
        told
    }
}

fn main() -> ExitCode {
    node::main("zenoh", "rust", Zenoh::open, || zenoh::GIT_VERSION.into())
}
