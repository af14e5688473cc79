//! The adapter for NATS, with async-nats: messages are published on subjects and pass through a broker. `../README.md`
//! describes the wire format.

mod jetstream;
mod server;
mod topics;

use std::process::ExitCode;
use std::sync::Arc;

use async_nats::Client as Connection;
use async_nats::ConnectOptions;
use hopmeter_instrument::prelude::*;
use hopmeter_tokio::Runtime;
use hopmeter_tokio::frames::{Frames, as_received};

use jetstream::Streams;
use server::{CallReplier, CallServer};
use topics::{TopicPublisher, TopicSubscriber};

/// One connection for all link ends of the node, as NATS recommends, and one thread that runs the
/// connection.
struct Nats {
    runtime: Runtime,
    connection: Connection,
    /// `TCP` or `TLS`.
    connection_kind: &'static str,
    /// The streams of the links, if the broker stores messages.
    streams: Option<Streams>,
}

impl Nats {
    fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
        let runtime = Runtime::start("nats", 1)?;
        let (credentials, place) = match setup.broker.rsplit_once('@') {
            Some((credentials, place)) => (credentials.split_once(':'), place),
            None => (None, setup.broker.as_str()),
        };
        let options = credentials.map_or_else(ConnectOptions::new, |(user, password)| {
            ConnectOptions::with_user_and_password(user.into(), password.into())
        });
        let options = if setup.uses_tls()? {
            options.require_tls(true).add_root_certificates(setup.credential("ca.pem"))
        } else {
            options
        };
        let connecting = options.connect(place);
        let connection = runtime.block_on(connecting).context(format!("connecting to nats-server at {place}"))?;
        let is_durable = setup.setting("durable")?;
        let streams = if is_durable { Some(Streams::open(&runtime, &connection, setup)?) } else { None };
        Ok(Arc::new(Self { runtime, connection, connection_kind: setup.connection_kind()?, streams }))
    }

    fn open_receiver(&self, subject: String, wait: Wait) -> Result<TopicSubscriber> {
        TopicSubscriber::open(self.runtime.clone(), &self.connection, subject, wait)
    }

    fn open_sender(&self, link: &Link, inbox: Option<String>) -> TopicPublisher {
        let (connection, subject) = (self.connection.clone(), link.name.as_str().into());
        TopicPublisher { connection, subject, inbox: inbox.map(Into::into), frames: Frames::default() }
    }
}

impl Transport for Nats {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        match &self.streams {
            Some(streams) => Ok(Box::new(streams.publisher(link)?)),
            None => Ok(Box::new(self.open_sender(link, None))),
        }
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        match &self.streams {
            Some(streams) => Ok(Box::new(streams.subscriber(link)?)),
            None => Ok(Box::new(self.open_receiver(link.name.clone(), link.wait)?)),
        }
    }

    fn subscribe(&self, link: &Link, mut on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
        if let Some(streams) = &self.streams {
            return Ok(Box::new(streams.subscriber(link)?.call(on_frame)));
        }
        let receiving = self.open_receiver(link.name.clone(), link.wait)?;
        Ok(Box::new(receiving.call(move |message| on_frame.call(as_received(&message.payload)))))
    }

    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        let requests = self.open_receiver(link.name.clone(), link.wait)?;
        let replier = CallReplier { connection: self.connection.clone(), inbox: None, frames: Frames::default() };
        Ok(Box::new(CallServer { requests, replier }))
    }

    /// All calls of a client receive their replies in one inbox.
    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        let inbox = self.connection.new_inbox();
        let replies = self.open_receiver(inbox.clone(), link.wait)?;
        Ok(Box::new(DuplexClient { requests: self.open_sender(link, Some(inbox)), replies }))
    }

    fn facts(&self) -> Vec<(String, String)> {
        let server = self.connection.server_info();
        let stream = if self.streams.is_some() { "a stream of " } else { "" };
        let below = self.connection_kind;
        vec![("path".into(), format!("{below} through {stream}nats-server {}", server.version))]
    }
}

fn main() -> ExitCode {
    node::main("nats", "rust", Nats::open, || library_version!("async-nats"))
}
