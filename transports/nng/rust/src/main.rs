//! The adapter for nng with its Rust crate: PUB and SUB or PUSH and PULL, REQ and REP. ../README.md describes the wire
//! format.

mod calls;
mod inbox;
mod sockets;
mod topics;

use std::ffi::CStr;
use std::process::ExitCode;
use std::sync::Arc;

use hopmeter_instrument::prelude::*;

use calls::{CallClient, CallServer};
use inbox::{CallbackSubscription, Inbox};
use sockets::Endpoint;
use topics::{TopicPublisher, receiver};

struct Nng {
    setup: Setup,
    endpoint: Endpoint,
}

impl Nng {
    fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
        Ok(Arc::new(Self { endpoint: setup.setting("endpoint")?, setup: setup.clone() }))
    }
}

impl Transport for Nng {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        Ok(Box::new(TopicPublisher::open(&self.setup, link)?))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        Ok(Box::new(Inbox::new(receiver(&self.setup, link)?, link.wait)?))
    }

    fn subscribe(&self, link: &Link, on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
        Ok(Box::new(CallbackSubscription::open(receiver(&self.setup, link)?, on_frame)?))
    }

    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        Ok(Box::new(CallServer::open(&self.setup, link)?))
    }

    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        Ok(Box::new(CallClient::open(link)?))
    }

    fn facts(&self) -> Vec<(String, String)> {
        vec![("path".into(), self.endpoint.path(&self.setup))]
    }
}

fn version() -> String {
    // SAFETY: nng returns a string that is valid as long as the program runs.
    let version = unsafe { CStr::from_ptr(nng::ffi::nng_version()) };
    format!("libnng {}", version.to_string_lossy())
}

fn main() -> ExitCode {
    node::main("nng", "rust", Nng::open, version)
}
