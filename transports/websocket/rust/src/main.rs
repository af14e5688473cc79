//! WebSocket in Rust, with tungstenite on blocking sockets. ../../README.md describes wire format and choices.

mod acceptor;
mod connection;
mod rpc;
mod topics;

use std::process::ExitCode;
use std::sync::Arc;

use hopmeter_instrument::prelude::*;
use hopmeter_streams::Endpoint;

use crate::acceptor::Acceptor;
use crate::connection::{Connection, Limits};

struct WebSockets {
    setup: Setup,
    endpoint: Endpoint,
    limits: Limits,
}

impl WebSockets {
    fn open(setup: &Setup) -> Result<Self> {
        if setup.setting::<String>("compression")? != "off" {
            return Err(Error::new("tungstenite has no permessage-deflate")
                .remedy("leave compression = \"off\", or measure it in Python only"));
        }
        Ok(Self {
            setup: setup.clone(),
            endpoint: Endpoint::read(setup, "ws")?,
            limits: Limits { frame_bytes: setup.frame_bytes, read_buffer: setup.setting("read_buffer")? },
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
        Ok(Box::new(topics::TopicPublisher::new(self.acceptor(link)?)))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        Ok(Box::new(topics::TopicSubscriber::new(self.connection(link)?, self.setup.wait)))
    }

    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        Ok(Box::new(rpc::CallServer::new(self.acceptor(link)?, self.setup.wait)))
    }

    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        Ok(Box::new(rpc::CallClient::new(self.connection(link)?, self.setup.wait)))
    }

    fn facts(&self) -> Vec<(String, String)> {
        vec![("path".into(), self.endpoint.path().into())]
    }
}

fn version() -> String {
    format!("tungstenite {}", library_version!("tungstenite"))
}

fn main() -> ExitCode {
    node::main("websocket", "rust", |setup| Ok(Arc::new(WebSockets::open(setup)?)), version)
}
