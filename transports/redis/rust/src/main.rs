//! The adapter for Redis, with redis-rs: messages are published on channels and pass through a broker. `../README.md`
//! describes the wire format.

mod streams;

use std::mem::ManuallyDrop;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use redis::{Client, Connection, PubSub, TlsCertificates};

use streams::{StreamReader, StreamWriter, Streams};

const PARSING: &str = "parsing the address of redis-server";

struct Redis {
    client: Client,
    path: String,
    /// The settings of the streams, if the broker stores messages.
    streams: Option<Streams>,
}

impl Redis {
    fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
        let (tcp, unix) =
            setup.broker.split_once(' ').ok_or_else(|| Error::new("the broker's address is incomplete"))?;
        let is_unix = setup.setting::<String>("endpoint")? == "unix";
        let is_secure = setup.uses_tls()?;
        let credentials = tcp.rsplit_once('@').and_then(|(credentials, _)| credentials.split_once(':'));
        let place = match credentials {
            _ if is_secure => format!("rediss://{tcp}"),
            _ if !is_unix => format!("redis://{tcp}"),
            Some((user, password)) => format!("redis+unix://{unix}?user={user}&pass={password}"),
            None => format!("redis+unix://{unix}"),
        };
        let client = if is_secure { secure_client(setup, place)? } else { Client::open(place).context(PARSING)? };
        let streams = if setup.setting("durable")? { Some(Streams::new(setup)?) } else { None };
        let socket = if is_unix { "Unix socket" } else { setup.connection_kind()? };
        let stream = if streams.is_some() { "a stream of " } else { "" };
        Ok(Arc::new(Self { client, path: format!("{socket} through {stream}redis-server"), streams }))
    }

    fn connect(&self) -> Result<Connection> {
        self.client.get_connection().context("connecting to redis-server")
    }
}

/// Returns a client that encrypts its connections, and trusts only brokers with a certificate of this trial.
fn secure_client(setup: &Setup, place: String) -> Result<Client> {
    let trusted = TlsCertificates { client_tls: None, root_cert: Some(setup.read_credential("ca.pem")?) };
    Client::build_with_tls(place, trusted).context(PARSING)
}

impl Transport for Redis {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        if let Some(streams) = &self.streams {
            return Ok(Box::new(StreamWriter::new(self.connect()?, link, streams)));
        }
        Ok(Box::new(TopicPublisher { connection: self.connect()?, channel: link.name.clone(), frame: Vec::new() }))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        if let Some(streams) = &self.streams {
            return Ok(Box::new(StreamReader::open(self.connect()?, link, streams)?));
        }
        let mut connection = self.connect()?;
        as_pubsub(&mut connection).subscribe(&link.name).context("subscribing at redis-server")?;
        Ok(Box::new(TopicSubscriber { connection, timeout: None }))
    }

    fn facts(&self) -> Vec<(String, String)> {
        vec![("path".into(), self.path.clone())]
    }
}

/// Publishes with PUBLISH. Each send waits for the broker's answer, because redis-rs always waits for it.
struct TopicPublisher {
    connection: Connection,
    channel: String,
    frame: Vec<u8>,
}

fn publish(connection: &mut Connection, channel: &str, frame: &[u8]) -> Result<Sent> {
    redis::cmd("PUBLISH").arg(channel).arg(frame).exec(connection).context("publishing at redis-server")?;
    Ok(Sent::Accepted)
}

impl Publisher for TopicPublisher {
    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        fill.write_into(&mut self.frame, payload_bytes);
        publish(&mut self.connection, &self.channel, &self.frame)
    }

    /// Sends the received bytes without a copy.
    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        let whole = received.native_as::<redis::Msg>();
        let whole = whole.ok_or_else(|| {
            Error::new("this frame did not arrive through Redis, so it cannot be forwarded by reference")
        })?;
        publish(&mut self.connection, &self.channel, whole.get_payload_bytes())
    }
}

/// Creates a `PubSub` that is used for one operation only. The `PubSub` is never dropped, because redis-rs's `PubSub`
/// borrows its connection and unsubscribes on drop. No message is lost if the connection subscribes to nothing while
/// messages arrive.
fn as_pubsub(connection: &mut Connection) -> ManuallyDrop<PubSub<'_>> {
    ManuallyDrop::new(connection.as_pubsub())
}

struct TopicSubscriber {
    connection: Connection,
    /// The timeout that is currently set on the socket.
    timeout: Option<Duration>,
}

impl Subscriber for TopicSubscriber {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        // A socket timeout of zero would wait forever.
        let timeout = Some(timeout.max(Duration::from_millis(1)));
        if timeout != self.timeout {
            self.connection.set_read_timeout(timeout).context("setting a socket's timeout")?;
            self.timeout = timeout;
        }
        match as_pubsub(&mut self.connection).get_message() {
            Ok(message) => {
                take(Received::split(message.get_payload_bytes()).with_native(&message));
                Ok(1)
            }
            Err(cause) if cause.is_timeout() => Ok(0),
            Err(cause) => Err(Error::new("receiving from redis-server").because(cause)),
        }
    }
}

fn main() -> ExitCode {
    node::main("redis", "rust", Redis::open, || library_version!("redis"))
}
