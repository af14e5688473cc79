//! WebSocket in Rust, with tungstenite on blocking sockets. Wire format and choices: ../../README.md.

mod connection;
mod door;
mod endpoint;
mod rpc;
mod topics;

use std::process::ExitCode;
use std::sync::Arc;

use hopmeter_instrument::{Client, Error, Link, Publisher, Result, Server, Setup, Subscriber, Transport, node};

use crate::connection::{Connection, Limits};
use crate::door::Door;
use crate::endpoint::{Listener, connect};

struct WebSockets {
    setup: Setup,
    unix: bool,
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
            unix: setup.setting::<String>("endpoint")? == "unix",
            limits: Limits { frame_bytes: setup.frame_bytes, read_buffer: setup.setting("read_buffer")? },
        })
    }

    fn door(&self, link: &Link) -> Result<Door> {
        let listener = match self.unix {
            true => Listener::unix(self.setup.directory.join(format!("{}.ws", link.name)))?,
            false => Listener::tcp()?,
        };
        Door::open(listener, self.limits)
    }

    fn connection(&self, link: &Link) -> Result<Connection> {
        let host = if self.unix { "localhost" } else { &link.address };
        let url = format!("ws://{host}/{}", link.name);
        Connection::asking(connect(&link.address, self.unix)?, &url, self.limits)
    }
}

impl Transport for WebSockets {
    fn version(&self) -> String {
        version()
    }

    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        Ok(Box::new(topics::Sender::new(self.door(link)?)))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        Ok(Box::new(topics::Receiver::new(self.connection(link)?, self.setup.wait)))
    }

    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        Ok(Box::new(rpc::Polled::new(self.door(link)?, self.setup.wait)))
    }

    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        Ok(Box::new(rpc::Asking::new(self.connection(link)?, self.setup.wait)))
    }

    fn facts(&self) -> Vec<(String, String)> {
        let path = if self.unix { "Unix sockets" } else { "TCP on the loopback device" };
        vec![("path".to_owned(), path.to_owned())]
    }
}

fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
    Ok(Arc::new(WebSockets::open(setup)?))
}

/// The crate has no word for its version; Cargo.toml asks for exactly this one.
fn version() -> String {
    "tungstenite 0.30.0".to_owned()
}

fn main() -> ExitCode {
    node::main("websocket", "rust", open, version)
}
