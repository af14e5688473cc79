//! The Rust adapter: implements hopmeter's contract with the sender and the receiver of `lib.rs`.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use hopmeter_synthetic::{Plan, Receiver, Sender};

struct Synthetic {
    plan: Plan,
    broker: String,
}

impl Synthetic {
    fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
        Ok(Arc::new(Self { plan: Plan::read(setup.settings.clone().into())?, broker: setup.broker.clone() }))
    }

    fn open_polled(&self, link: &Link, sleeps: bool) -> Result<Box<dyn Subscriber>> {
        let receiver = Receiver::connect(&link.address, &link.name, self.plan.clone(), sleeps)?;
        let receiver = receiver.with_broker(&self.broker)?;
        Ok(Box::new(SyntheticSubscriber { receiver, sleeps }))
    }
}

impl Transport for Synthetic {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        Ok(Box::new(SyntheticPublisher(Sender::open(&link.name, self.plan.clone(), link.frame_bytes)?)))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        self.open_polled(link, link.wait != Wait::Spin)
    }

    fn subscribe(&self, link: &Link, on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
        subscribe_by_polling(self.open_polled(link, true)?, on_frame)
    }

    fn facts(&self) -> Vec<(String, String)> {
        vec![("path".into(), "shared memory (memfd), held according to the plan".into())]
    }
}

struct SyntheticPublisher(Sender);

impl Publisher for SyntheticPublisher {
    fn address(&self) -> String {
        self.0.address().to_owned()
    }

    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let Some(frame) = self.0.reserve(payload_bytes)? else { return Ok(Sent::Busy) };
        fill.write(FrameMut::split(frame));
        self.0.publish(payload_bytes);
        Ok(Sent::Accepted)
    }
}

struct SyntheticSubscriber {
    receiver: Receiver,
    sleeps: bool,
}

impl Subscriber for SyntheticSubscriber {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let timeout = if self.sleeps { timeout } else { Duration::ZERO };
        let Some(frame) = self.receiver.next_frame(timeout)? else { return Ok(0) };
        take(Received::split(&frame));
        Ok(1)
    }
}

fn main() -> ExitCode {
    node::main("synthetic", "rust", Synthetic::open, || env!("CARGO_PKG_VERSION").into())
}
