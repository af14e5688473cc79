//! A transport of known truth, to test hopmeter itself: what it does to which frame is a plan that anyone can compute.
//! It runs within one process, and reads nothing of a frame but whether it is a sample, which one, and the last.

mod ends;
mod plan;
mod queue;

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use hopmeter_instrument::spec::Wait;
use hopmeter_instrument::{Link, OnFrame, Publisher, Result, Setup, Subscriber, Subscription, Transport, node};

use ends::{Receivers, SyntheticPublisher, SyntheticSubscriber, SyntheticSubscription};
use plan::Plan;

struct Synthetic {
    plan: Plan,
    wait: Wait,
    links: Mutex<HashMap<String, Arc<Receivers>>>,
}

impl Synthetic {
    fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
        Ok(Arc::new(Self { plan: Plan::read(setup)?, wait: setup.wait, links: Mutex::default() }))
    }

    fn receivers(&self, link: &Link) -> Arc<Receivers> {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.entry(link.name.clone()).or_default().clone()
    }
}

impl Transport for Synthetic {
    fn version(&self) -> String {
        version()
    }

    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        Ok(Box::new(SyntheticPublisher::new(self.plan.clone(), self.receivers(link))))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        Ok(Box::new(SyntheticSubscriber::new(self.receivers(link), self.wait)))
    }

    fn subscribe(&self, link: &Link, on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
        Ok(Box::new(SyntheticSubscription::start(self.receivers(link), on_frame)?))
    }

    fn facts(&self) -> Vec<(String, String)> {
        vec![("path".into(), "memory of this process".into())]
    }
}

fn version() -> String {
    env!("CARGO_PKG_VERSION").into()
}

fn main() -> ExitCode {
    node::main("synthetic", "rust", Synthetic::open, version)
}
