//! The adapter for zenoh, whose peers connect by address, without a router or multicast.

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
use topics::{TopicPublisher, TopicSubscriber};

/// What a publisher does if zenoh's transmission queue is full.
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
    /// How many frames a blocking receiver's channel can hold.
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
    largest_frame_bytes: usize,
    device: String,
}

impl Zenoh {
    fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
        let shared_memory: SharedMemory = setup.setting("shared_memory")?;
        Ok(Arc::new(Self {
            sessions: Sessions::new(setup, shared_memory)?,
            quality: Quality::read(setup)?,
            shared_memory,
            arrivals: Arc::new(Arrivals::new(shared_memory)),
            largest_frame_bytes: setup.largest_frame_bytes,
            device: setup.network_device(),
        }))
    }

    fn memory(&self, link: &Link) -> Result<Memory> {
        Memory::new(self.shared_memory, link.frame_bytes)
    }
}

impl Drop for Zenoh {
    /// Removes the shared memory that zenoh's sessions leave behind. All shared memory that this process has mapped
    /// belongs to this trial, and the peers have finished measuring, so nobody else needs it.
    fn drop(&mut self) {
        if self.shared_memory != SharedMemory::Off {
            frames::remove_mapped_segments();
            zenoh::shm::cleanup_orphaned_shm_segments();
        }
    }
}

/// Returns the key of a link, which is the same in every language.
fn key(link: &Link) -> String {
    format!("hopmeter/{}", link.name)
}

impl Transport for Zenoh {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        Ok(Box::new(TopicPublisher::open(self, link)?))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        Ok(Box::new(TopicSubscriber::open(self, link)?))
    }

    fn subscribe(&self, link: &Link, on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
        topics::subscribe(self, link, on_frame)
    }

    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        Ok(Box::new(CallServer::open(self, link)?))
    }

    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        Ok(Box::new(CallClient::open(self, link)?))
    }

    fn facts(&self) -> Vec<(String, String)> {
        let way =
            if self.sessions.reach_others() { format!("tcp on {}", self.device) } else { "within one session".into() };
        self.arrivals.facts(&way, self.shared_memory.is_used_for(self.largest_frame_bytes))
    }
}

fn main() -> ExitCode {
    node::main("zenoh", "rust", Zenoh::open, || zenoh::GIT_VERSION.into())
}
