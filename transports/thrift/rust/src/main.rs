//! The adapter for Apache Thrift: calls of a service over sockets, with the messages of `../../idl/hopmeter.thrift`.

mod channel;
mod client;
mod idl;
mod message;
mod server;

use std::process::ExitCode;
use std::sync::Arc;

use hopmeter_instrument::prelude::*;
use hopmeter_streams::Endpoint;

use channel::{Channel, Stack};
use client::CallClient;
use idl::{Image, Timing};
use message::Shape;
use server::CallServer;

struct Thrift {
    stack: Stack,
    endpoint: Endpoint,
}

impl Thrift {
    fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
        let endpoint = Endpoint::read(setup, "thrift")?;
        Ok(Arc::new(Self { stack: Stack::of(setup)?, endpoint }))
    }
}

impl Transport for Thrift {
    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        let listener = self.endpoint.listen(link)?;
        let (stack, shape) = (self.stack, Shape::of(link.payload));
        Ok(Box::new(CallServer { listener, stack, shape, clients: Vec::new() }))
    }

    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        let channel = Channel::new(self.endpoint.connect(link)?, &self.stack);
        let shape = Shape::of(link.payload);
        Ok(match link.payload {
            PayloadKind::Image { .. } => Box::new(CallClient::<Image>::new(channel, shape)),
            PayloadKind::Timing | PayloadKind::Bytes => Box::new(CallClient::<Timing>::new(channel, shape)),
        })
    }

    fn facts(&self) -> Vec<(String, String)> {
        vec![("path".into(), self.endpoint.path())]
    }
}

fn main() -> ExitCode {
    node::main("thrift", "rust", Thrift::open, || format!("thrift {}", library_version!("thrift")))
}
