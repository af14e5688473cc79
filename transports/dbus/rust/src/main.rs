//! The adapter for D-Bus, with zbus: signals and method calls through dbus-daemon. `../README.md` describes the
//! messages.

mod bodies;
mod ends;

use std::process::ExitCode;
use std::sync::Arc;

use hopmeter_instrument::prelude::*;
use hopmeter_tokio::Runtime;
use zbus::connection::Builder;
use zbus::message::Type;
use zbus::{Connection, MatchRule, MessageStream};

use bodies::Writer;
use ends::{CallServer, MessageReceiver, MessageSender};

/// The largest number of received messages that zbus stores for a link end.
const MAX_QUEUED: usize = 64;
pub const INTERFACE: &str = "org.hopmeter.Link";
pub const SIGNAL: &str = "Frame";
pub const METHOD: &str = "Call";

/// Returns the object path of a link.
pub fn object_path(link: &Link) -> String {
    format!("/org/hopmeter/{}", link.name)
}

/// Returns the bus name of a link's server.
pub fn bus_name(link: &Link) -> String {
    format!("org.hopmeter.link_{}", link.name)
}

/// The thread that runs the connections. Each link end has its own connection.
struct DBus {
    runtime: Runtime,
    address: String,
    is_memfd: bool,
}

impl DBus {
    fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
        let is_memfd = setup.setting::<String>("body")? == "memfd";
        Ok(Arc::new(Self { runtime: Runtime::start("dbus", 1)?, address: setup.broker.clone(), is_memfd }))
    }

    /// Connects to the broker, and requests a bus name if one is given.
    fn connect(&self, name: Option<String>) -> Result<Connection> {
        let connecting = async {
            let mut builder = Builder::address(self.address.as_str())?.max_queued(MAX_QUEUED);
            if let Some(name) = name {
                builder = builder.name(name)?;
            }
            builder.build().await
        };
        self.runtime.block_on(connecting).context(format!("connecting to dbus-daemon at {}", self.address))
    }

    fn receiver(&self, stream: MessageStream, kind: Type, link: &Link) -> MessageReceiver {
        MessageReceiver::new(self.runtime.clone(), stream, kind, link.wait)
    }

    /// Receives the signals of a link, for which the connection adds a match rule.
    fn receive_signals(&self, link: &Link) -> Result<MessageReceiver> {
        let connection = self.connect(None)?;
        let subscribing = async {
            let rule = MatchRule::builder().msg_type(Type::Signal).path(object_path(link))?.interface(INTERFACE)?;
            MessageStream::for_match_rule(rule.build(), &connection, Some(MAX_QUEUED)).await
        };
        let stream = self.runtime.block_on(subscribing).context("adding a match rule at dbus-daemon")?;
        Ok(self.receiver(stream, Type::Signal, link))
    }

    fn sender(&self, connection: Connection, link: &Link, destination: Option<String>) -> MessageSender {
        let writer = Writer::new(self.is_memfd);
        MessageSender { runtime: self.runtime.clone(), connection, path: object_path(link), destination, writer }
    }
}

impl Transport for DBus {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        Ok(Box::new(self.sender(self.connect(None)?, link, None)))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        Ok(Box::new(self.receive_signals(link)?))
    }

    fn subscribe(&self, link: &Link, mut on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
        let receiving = self.receive_signals(link)?;
        let call = move |message: &zbus::Message| bodies::read(message, &mut |received| on_frame.call(received));
        Ok(Box::new(receiving.call(call)))
    }

    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        let connection = self.connect(Some(bus_name(link)))?;
        let requests = self.receiver(MessageStream::from(&connection), Type::MethodCall, link);
        let writer = Writer::new(self.is_memfd);
        Ok(Box::new(CallServer::new(self.runtime.clone(), connection, requests, writer)))
    }

    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        let connection = self.connect(None)?;
        let replies = self.receiver(MessageStream::from(&connection), Type::MethodReturn, link);
        Ok(Box::new(DuplexClient { requests: self.sender(connection, link, Some(bus_name(link))), replies }))
    }

    fn facts(&self) -> Vec<(String, String)> {
        let body = if self.is_memfd { "sealed memory whose file descriptor passes" } else { "byte arrays" };
        vec![("path".into(), format!("{body} through dbus-daemon over Unix sockets"))]
    }
}

fn main() -> ExitCode {
    node::main("dbus", "rust", DBus::open, || library_version!("zbus"))
}
