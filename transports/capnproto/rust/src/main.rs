//! The adapter for Cap'n Proto RPC with capnp-rpc: a capability call for each message. `../README.md` describes the
//! interfaces.

mod calls;
mod event_loop;
mod network;
mod topics;
mod window;

use std::process::ExitCode;
use std::sync::Arc;

use hopmeter_instrument::prelude::*;

use calls::{CallClient, CallServer};
use network::Network;
use topics::{TopicPublisher, TopicSubscriber, TopicSubscription};

/// The code that capnpc generates from the schema. The generated code refers to itself as `crate::hopmeter_capnp`.
#[allow(clippy::all, clippy::pedantic)]
mod hopmeter_capnp {
    include!(concat!(env!("OUT_DIR"), "/hopmeter_capnp.rs"));
}

struct CapnProto {
    network: Network,
}

impl CapnProto {
    fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
        Ok(Arc::new(Self { network: Network::read(setup)? }))
    }
}

impl Transport for CapnProto {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        Ok(Box::new(TopicPublisher::open(&self.network, link)?))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        Ok(Box::new(TopicSubscriber::open(&self.network, link)?))
    }

    fn subscribe(&self, link: &Link, on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
        Ok(Box::new(TopicSubscription::open(&self.network, link, on_frame)?))
    }

    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        Ok(Box::new(CallServer::open(&self.network, link)?))
    }

    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        Ok(Box::new(CallClient::open(&self.network, link)?))
    }

    fn facts(&self) -> Vec<(String, String)> {
        vec![("path".into(), format!("Cap'n Proto RPC over {}", self.network.endpoint.path()))]
    }
}

fn main() -> ExitCode {
    node::main("capnproto", "rust", CapnProto::open, || format!("capnp-rpc {}", library_version!("capnp-rpc")))
}
