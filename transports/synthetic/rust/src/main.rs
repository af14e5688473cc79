//! A transport with known behaviour, for testing hopmeter itself: a test can compute the plan for each frame from the
//! settings. The transport works within one process only. The transport reads only three things from a frame: whether
//! it is a sample, its number, and whether it is the last.

mod ends;
mod plan;
mod queue;

use std::process::ExitCode;
use std::sync::Arc;

use hopmeter_instrument::prelude::*;

use ends::{Receivers, SyntheticPublisher, SyntheticSubscriber};
use plan::Plan;

struct Synthetic {
    plan: Plan,
    wait: Wait,
    links: Links<Receivers>,
}

impl Synthetic {
    fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
        Ok(Arc::new(Self { plan: Plan::read(setup)?, wait: setup.wait, links: Links::default() }))
    }

    fn synthetic_subscriber(&self, link: &Link) -> Box<dyn Subscriber> {
        Box::new(SyntheticSubscriber::new(self.links.of(link), self.wait))
    }
}

impl Transport for Synthetic {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        Ok(Box::new(SyntheticPublisher::new(self.plan.clone(), self.links.of(link))))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        Ok(self.synthetic_subscriber(link))
    }

    fn subscribe(&self, link: &Link, on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
        subscribe_by_polling(self.synthetic_subscriber(link), on_frame)
    }

    fn facts(&self) -> Vec<(String, String)> {
        vec![("path".into(), "memory of this process".into())]
    }
}

fn main() -> ExitCode {
    node::main("synthetic", "rust", Synthetic::open, || env!("CARGO_PKG_VERSION").into())
}
