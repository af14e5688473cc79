//! The adapter for WebSocket in Rust, with tungstenite on blocking sockets. ../../README.md describes wire format and
//! choices.

mod acceptor;
mod connection;
mod rpc;
mod stream;
mod topics;

use std::process::ExitCode;
use std::sync::Arc;

use hopmeter_instrument::prelude::*;
use hopmeter_streams::Endpoint;

use crate::acceptor::Acceptor;
use crate::connection::{Connection, Limits, Outgoing};
use crate::rpc::{CallClient, CallServer};
use crate::stream::Encryption;
use crate::topics::{TopicPublisher, TopicSubscriber};

struct WebSockets {
    endpoint: Endpoint,
    encryption: Encryption,
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
            encryption: Encryption::read(setup)?,
            limits: Limits { frame_bytes: setup.largest_frame_bytes, read_buffer: setup.setting("read_buffer")? },
        })
    }

    fn acceptor(&self, link: &Link) -> Result<Acceptor> {
        Acceptor::open(self.endpoint.listen(link)?, self.limits, self.encryption.clone())
    }

    fn connection(&self, link: &Link) -> Result<Connection> {
        let host = if self.endpoint.is_unix() { "localhost" } else { &link.address };
        let scheme = if self.encryption.is_on() { "wss" } else { "ws" };
        let stream = self.encryption.client_stream(self.endpoint.connect(link)?, &link.address)?;
        Connection::connect(stream, &format!("{scheme}://{host}/{}", link.name), self.limits)
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
        let above = if self.encryption.is_on() { "TLS over " } else { "" };
        vec![("path".into(), format!("{above}{}", self.endpoint.path()))]
    }
}

fn main() -> ExitCode {
    let version = || format!("tungstenite {}", library_version!("tungstenite"));
    node::main("websocket", "rust", |setup| Ok(Arc::new(WebSockets::open(setup)?)), version)
}
