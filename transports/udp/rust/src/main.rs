//! The adapter for UDP: one datagram is one frame. ../../README.md describes the wire format.

mod calls;
mod datagrams;
mod drops;
mod places;
mod pubsub;

use std::process::ExitCode;
use std::sync::Arc;

use hopmeter_instrument::prelude::*;

use crate::places::Places;

struct Udp {
    places: Arc<Places>,
}

impl Transport for Udp {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        Ok(Box::new(pubsub::UdpPublisher::open(&self.places, link)?))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        Ok(Box::new(pubsub::UdpSubscriber::open(&self.places, link)?))
    }

    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        Ok(Box::new(calls::UdpServer::open(&self.places, link)?))
    }

    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        Ok(Box::new(calls::UdpClient::open(&self.places, link)?))
    }

    fn facts(&self) -> Vec<(String, String)> {
        let mut facts = vec![("path".to_owned(), self.places.path())];
        if let Some(loss) = self.places.drops.as_sentence() {
            facts.push(("loss".to_owned(), loss));
        }
        facts
    }
}

fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
    Ok(Arc::new(Udp { places: Arc::new(Places::read(setup)?) }))
}

fn main() -> ExitCode {
    node::main("udp", "rust", open, hopmeter_streams::version)
}
