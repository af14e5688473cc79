//! Apache Thrift: calls of a service over sockets, with messages that the Thrift compiler made.

mod channel;
mod client;
mod endpoint;
mod idl;
mod message;
mod server;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use hopmeter_instrument::spec::PayloadKind;
use hopmeter_instrument::{Client, Link, Result, Server, Setup, Transport, node};

use channel::{Channel, Stack};
use client::Caller;
use endpoint::{Listener, connect};
use idl::{Image, Timing};
use message::Shape;
use server::Polled;

struct Thrift {
    stack: Stack,
    /// The folder of the sockets' files, where they are Unix sockets.
    files: Option<PathBuf>,
    payload: PayloadKind,
}

impl Thrift {
    fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
        let unix = setup.setting::<String>("endpoint")? == "unix";
        let files = unix.then(|| setup.directory.clone());
        Ok(Arc::new(Self { stack: Stack::of(setup)?, files, payload: setup.payload }))
    }
}

impl Transport for Thrift {
    fn version(&self) -> String {
        version()
    }

    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        let listener = match &self.files {
            Some(folder) => Listener::unix(folder.join(format!("{}.thrift", link.name)))?,
            None => Listener::tcp()?,
        };
        let (stack, shape) = (self.stack, Shape::of(self.payload));
        Ok(Box::new(Polled { listener, stack, shape, clients: Vec::new() }))
    }

    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        let channel = Channel::over(connect(link, self.files.is_some())?, &self.stack);
        let shape = Shape::of(self.payload);
        Ok(match self.payload {
            PayloadKind::Image { .. } => Box::new(Caller::<Image>::new(channel, shape)),
            PayloadKind::Timing | PayloadKind::Bytes => Box::new(Caller::<Timing>::new(channel, shape)),
        })
    }

    fn facts(&self) -> Vec<(String, String)> {
        let path = if self.files.is_some() { "Unix sockets" } else { "TCP on the loopback device" };
        vec![("path".to_owned(), path.to_owned())]
    }
}

/// The crate has no word for its version; Cargo.toml asks for exactly this one.
fn version() -> String {
    "thrift 0.17.0".to_owned()
}

fn main() -> ExitCode {
    node::main("thrift", "rust", Thrift::open, version)
}
