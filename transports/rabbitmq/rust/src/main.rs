//! The adapter for RabbitMQ, with lapin: messages pass through exchanges and queues of a broker. `../README.md`
//! describes the wire format.

mod ends;
mod queues;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use hopmeter_tokio::Runtime;
use lapin::{BasicProperties, Connection, ConnectionProperties};

use ends::{CallServer, TopicPublisher, TopicSubscriber};
use queues::Channel;

const PERSISTENT: u8 = 2;
/// The pseudo-queue through which RabbitMQ sends replies to the channel that sent the request (direct reply-to).
const REPLIES: &str = "amq.rabbitmq.reply-to";
const CLOSING: Duration = Duration::from_secs(5);

/// Two connections for all link ends of the node, one to send and one to receive, as RabbitMQ recommends. Each link end
/// has its own channel.
struct RabbitMq {
    setup: Setup,
    sending: Connection,
    receiving: Connection,
    runtime: Runtime,
}

impl RabbitMq {
    fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
        let runtime = Runtime::start("rabbitmq", 1)?;
        let url = format!("amqp://{}/%2f", setup.broker);
        let connect = || {
            let place = setup.broker.rsplit_once('@').map_or(setup.broker.as_str(), |(_, place)| place);
            let connecting = async { Connection::connect(&url, ConnectionProperties::default()).await };
            runtime.block_on(connecting).context(format!("connecting to RabbitMQ at {place}"))
        };
        let (sending, receiving) = (connect()?, connect()?);
        Ok(Arc::new(Self { setup: setup.clone(), sending, receiving, runtime }))
    }

    fn open_channel(&self, connection: &Connection) -> Result<Channel> {
        let raw = self.runtime.block_on(connection.create_channel()).context("opening a channel")?;
        Ok(Channel { runtime: self.runtime.clone(), raw })
    }

    /// Subscribes to a link, with a separate queue for this receiver.
    fn open_receiver(&self, link: &Link) -> Result<TopicSubscriber> {
        let channel = self.open_channel(&self.receiving)?;
        let durable = self.setup.setting("persistent")?;
        channel.declare_exchange(&link.name, durable)?;
        let queue = channel.declare_queue("", durable)?;
        channel.bind(&queue, &link.name)?;
        TopicSubscriber::open(channel, &self.setup, &queue, link.wait)
    }
}

impl Transport for RabbitMq {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        let channel = self.open_channel(&self.sending)?;
        let durable = self.setup.setting("persistent")?;
        channel.declare_exchange(&link.name, durable)?;
        if self.setup.setting("confirms")? {
            channel.request_confirms()?;
        }
        let properties = BasicProperties::default();
        let properties = if durable { properties.with_delivery_mode(PERSISTENT) } else { properties };
        Ok(Box::new(TopicPublisher { channel, exchange: link.name.as_str().into(), key: "".into(), properties }))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        Ok(Box::new(self.open_receiver(link)?))
    }

    fn subscribe(&self, link: &Link, on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
        Ok(Box::new(self.open_receiver(link)?.subscribe(on_frame)))
    }

    /// Receives requests in a queue with the link's name.
    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        let channel = self.open_channel(&self.receiving)?;
        channel.declare_queue(&link.name, false)?;
        Ok(Box::new(CallServer(TopicSubscriber::open(channel, &self.setup, &link.name, link.wait)?)))
    }

    /// Receives replies on the channel that sends the requests, as direct reply-to requires.
    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        let channel = self.open_channel(&self.receiving)?;
        let replies = TopicSubscriber::open(channel.clone(), &self.setup, REPLIES, link.wait)?;
        let properties = BasicProperties::default().with_reply_to(REPLIES.into());
        let requests = TopicPublisher { channel, exchange: "".into(), key: link.name.as_str().into(), properties };
        Ok(Box::new(DuplexClient { requests, replies }))
    }

    fn facts(&self) -> Vec<(String, String)> {
        vec![("path".into(), "TCP through RabbitMQ".into())]
    }
}

impl Drop for RabbitMq {
    /// Closes the connections. If the broker does not answer, the results do not change.
    fn drop(&mut self) {
        for connection in [&self.sending, &self.receiving] {
            let _ = self.runtime.wait_for(CLOSING, connection.close(200, "".into()));
        }
    }
}

fn main() -> ExitCode {
    node::main("rabbitmq", "rust", RabbitMq::open, || library_version!("lapin"))
}
