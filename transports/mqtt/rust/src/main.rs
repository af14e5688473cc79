//! The adapter for MQTT, with rumqttc: messages are published on topics and pass through a broker. `../README.md`
//! describes the wire format.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use rumqttc::{
    Client, ClientError, Connection, Event, MqttOptions, NetworkOptions, Outgoing, Packet, QoS, RecvTimeoutError,
    TlsConfiguration,
};

/// The maximum number of messages in the connection thread's queue. If the queue is full, a send returns busy.
const QUEUE: usize = 64;
/// The pause before the library tries again to connect to a broker that is down.
const RECONNECT_PAUSE: Duration = Duration::from_millis(10);
/// How many times a closing publisher tries, once per millisecond, to put its last request into the queue.
const CLOSING_TRIES: u32 = 1000;
/// Room for the packet's own header and its topic.
const ENVELOPE_BYTES: usize = 1024;

struct Mqtt {
    setup: Setup,
    tls: Option<TlsConfiguration>,
    qos: QoS,
    receivers: AtomicU64,
}

impl Mqtt {
    fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
        let qos = match setup.setting::<u8>("qos")? {
            0 => QoS::AtMostOnce,
            1 => QoS::AtLeastOnce,
            _ => QoS::ExactlyOnce,
        };
        Ok(Arc::new(Self {
            setup: setup.clone(),
            tls: hopmeter_tls::client(setup)?.map(Into::into),
            qos,
            receivers: AtomicU64::new(0),
        }))
    }

    /// Creates a connection for one link end, which is idle until polled.
    fn connect(&self, id: String) -> Result<(Client, Connection)> {
        let (credentials, place) = match self.setup.broker.rsplit_once('@') {
            Some((credentials, place)) => (credentials.split_once(':'), place),
            None => (None, self.setup.broker.as_str()),
        };
        let place = place.split_once(':');
        let (host, port) = place.ok_or_else(|| Error::new("the broker's address has no port"))?;
        let mut options = MqttOptions::new(id, host, port.parse().context("the broker's port")?);
        if let Some((user, password)) = credentials {
            options.set_credentials(user, password);
        }
        if let Some(tls) = &self.tls {
            options.set_transport(rumqttc::Transport::tls_with_config(tls.clone()));
        }
        let packet_bytes = self.setup.largest_frame_bytes + ENVELOPE_BYTES;
        options.set_keep_alive(Duration::from_secs(600)).set_max_packet_size(packet_bytes, packet_bytes);
        let inflight = self.setup.setting("inflight")?;
        options.set_inflight(if inflight == 0 { u16::MAX } else { inflight });
        let (client, mut connection) = Client::new(options, QUEUE);
        let mut network = NetworkOptions::new();
        network.set_tcp_nodelay(self.setup.setting("nodelay")?);
        connection.eventloop.set_network_options(network);
        Ok((client, connection))
    }
}

impl Transport for Mqtt {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        let (client, connection) = self.connect(format!("{}.out", link.name))?;
        let spawned = std::thread::Builder::new().name("mqtt".into()).spawn(move || attend(connection));
        let thread = spawned.context("starting the thread of an MQTT connection")?;
        Ok(Box::new(TopicPublisher { client, topic: link.name.clone(), qos: self.qos, thread: Some(thread) }))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        // The broker disconnects a client if another client connects with the same name.
        let number = self.receivers.fetch_add(1, Ordering::Relaxed);
        let id = format!("{}.in.{}.{number}", link.name, std::process::id());
        let (client, connection) = self.connect(id)?;
        Ok(Box::new(TopicSubscriber { client, connection, topic: link.name.clone(), qos: self.qos }))
    }

    fn facts(&self) -> Vec<(String, String)> {
        let below = self.setup.connection_kind().unwrap_or_default();
        vec![("path".into(), format!("{below} through mosquitto"))]
    }
}

/// Writes the client's queued messages until the client disconnects. If the broker disconnects or is down, the library
/// connects again. If the first connection fails, the function returns, and every send then fails.
fn attend(mut connection: Connection) {
    let mut was_accepted = false;
    for event in connection.iter() {
        match event {
            Ok(Event::Incoming(Packet::ConnAck(_))) => was_accepted = true,
            Ok(Event::Outgoing(Outgoing::Disconnect)) => return,
            Err(_) if was_accepted => std::thread::sleep(RECONNECT_PAUSE),
            Err(_) => return,
            Ok(_) => {}
        }
    }
}

struct TopicPublisher {
    client: Client,
    topic: String,
    qos: QoS,
    thread: Option<JoinHandle<()>>,
}

impl Publisher for TopicPublisher {
    /// The library requires a new buffer for each message.
    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        match self.client.try_publish(&self.topic, self.qos, false, fill.to_vec(payload_bytes)) {
            Ok(()) => Ok(Sent::Accepted),
            Err(ClientError::TryRequest(_)) if self.is_served() => Ok(Sent::Busy),
            Err(cause) => Err(Error::new("publishing at mosquitto").because(cause)),
        }
    }
}

impl TopicPublisher {
    fn is_served(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }
}

impl Drop for TopicPublisher {
    fn drop(&mut self) {
        let mut tries = 0..CLOSING_TRIES;
        while self.is_served() && self.client.try_disconnect().is_err() {
            if tries.next().is_none() {
                return; // the broker is down, so the thread ends with the process
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // The thread ends only on request, so its result carries no information.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

struct TopicSubscriber {
    /// The subscription ends when the client is dropped.
    client: Client,
    connection: Connection,
    topic: String,
    qos: QoS,
}

impl Subscriber for TopicSubscriber {
    /// Each poll also does the connection's other work, such as sending acknowledgements. Whenever the broker accepts
    /// the connection, the client subscribes, because a restarted broker knows no subscriptions.
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        match self.connection.recv_timeout(timeout) {
            Ok(Ok(Event::Incoming(Packet::Publish(message)))) => {
                take(Received::split(&message.payload));
                Ok(1)
            }
            Ok(Ok(Event::Incoming(Packet::ConnAck(_)))) => {
                self.client.try_subscribe(&self.topic, self.qos).context("subscribing at mosquitto")?;
                Ok(0)
            }
            Ok(Ok(_)) | Err(RecvTimeoutError::Timeout) => Ok(0),
            Ok(Err(cause)) => Err(Error::new("receiving from mosquitto").because(cause)),
            Err(RecvTimeoutError::Disconnected) => Err(Error::new("the connection to mosquitto has ended")),
        }
    }
}

fn main() -> ExitCode {
    node::main("mqtt", "rust", Mqtt::open, || library_version!("rumqttc"))
}
