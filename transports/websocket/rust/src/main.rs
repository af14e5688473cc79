//! The adapter for WebSocket in Rust, with tungstenite on blocking sockets. ../../README.md describes wire format and
//! choices.

mod acceptor;
mod connection;
mod rpc;
mod topics;

use std::process::ExitCode;
use std::sync::Arc;

use hopmeter_instrument::prelude::*;
use hopmeter_streams::Endpoint;

use crate::acceptor::Acceptor;
use crate::connection::{Connection, Limits, Outgoing};
use crate::rpc::{CallClient, CallServer};
use crate::topics::{TopicPublisher, TopicSubscriber};

struct WebSockets {
    endpoint: Endpoint,
    limits: Limits,
}

impl WebSockets {
    fn open(setup: &Setup) -> Result<Self> {
        if setup.setting::<String>("compression")? != "off" {
            return Err(Error::new("tungstenite has no permessage-deflate")
                .remedy("leave compression = \"off\", or measure compression only in Python"));
        }
        Ok(Self {
            endpoint: Endpoint::read(setup, "ws")?,
            limits: Limits { frame_bytes: setup.largest_frame_bytes, read_buffer: setup.setting("read_buffer")? },
        })
    }

    fn acceptor(&self, link: &Link) -> Result<Acceptor> {
        Acceptor::open(self.endpoint.listen(link)?, self.limits)
    }

    fn connection(&self, link: &Link) -> Result<Connection> {
        let host = if self.endpoint.is_unix() { "localhost" } else { &link.address };
        let url = format!("ws://{host}/{}", link.name);
        Connection::connect(self.endpoint.connect(link)?, &url, self.limits)
    }
}

impl Transport for WebSockets {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        Ok(Box::new(TopicPublisher { acceptor: self.acceptor(link)?, outgoing: Outgoing::default() }))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        Ok(Box::new(TopicSubscriber { connection: self.connection(link)?, spins: link.wait == Wait::Spin }))
    }

    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        let (acceptor, outgoing, spins) = (self.acceptor(link)?, Outgoing::default(), link.wait == Wait::Spin);
        Ok(Box::new(CallServer { acceptor, clients: Vec::new(), outgoing, spins }))
    }

    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        let (connection, outgoing, spins) = (self.connection(link)?, Outgoing::default(), link.wait == Wait::Spin);
        Ok(Box::new(CallClient { connection, outgoing, spins }))
    }

    fn facts(&self) -> Vec<(String, String)> {
        vec![("path".into(), self.endpoint.path())]
    }
}

fn main() -> ExitCode {
    let version = || format!("tungstenite {}", library_version!("tungstenite"));
    node::main("websocket", "rust", |setup| Ok(Arc::new(WebSockets::open(setup)?)), version)
}
