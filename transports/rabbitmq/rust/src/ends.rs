//! Publishers, subscribers and servers, each with its own channel.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use hopmeter_instrument::prelude::*;
use hopmeter_tokio::Task;
use lapin::message::Delivery;
use lapin::options::{BasicAckOptions, BasicPublishOptions};
use lapin::types::ShortString;
use lapin::{BasicProperties, Consumer};

use crate::REPLIES;
use crate::queues::Channel;

impl Channel {
    /// Returns when lapin has written the message to the socket. If the channel requested confirms, the function also
    /// waits for the broker's confirmation. lapin copies the frame.
    fn publish(&self, exchange: &ShortString, key: &ShortString, frame: &[u8], with: &BasicProperties) -> Result<Sent> {
        let publishing = async {
            let (options, with) = (BasicPublishOptions::default(), with.clone());
            self.raw.basic_publish(exchange.clone(), key.clone(), options, frame, with).await?.await
        };
        match self.runtime.finish(publishing) {
            Ok(confirmation) if confirmation.is_nack() => Err(Error::new("RabbitMQ did not accept a message")),
            Ok(_) => Ok(Sent::Accepted),
            Err(cause) => Err(Error::new("publishing to RabbitMQ").because(cause)),
        }
    }
}

/// The publisher of a topic, or the sender of a client's requests.
pub struct TopicPublisher {
    pub channel: Channel,
    pub exchange: ShortString,
    pub key: ShortString,
    pub properties: BasicProperties,
}

impl Publisher for TopicPublisher {
    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let frame = fill.to_vec(payload_bytes);
        self.channel.publish(&self.exchange, &self.key, &frame, &self.properties)
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        match received.native_as::<Vec<u8>>() {
            Some(frame) => self.channel.publish(&self.exchange, &self.key, frame, &self.properties),
            None => copy_on(received, |payload_bytes, fill| self.send(payload_bytes, fill)),
        }
    }
}

/// A receiver of a queue.
pub struct TopicSubscriber {
    channel: Channel,
    consumer: Consumer,
    acknowledges: bool,
    spins: bool,
}

impl TopicSubscriber {
    /// Opens a receiver. RabbitMQ requires that clients do not acknowledge replies.
    pub fn open(channel: Channel, setup: &Setup, queue: &str, wait: Wait) -> Result<Self> {
        let acknowledges = queue != REPLIES && setup.setting("acknowledge")?;
        let prefetch = if acknowledges { setup.setting("prefetch")? } else { 0 };
        let consumer = channel.consume(queue, acknowledges, prefetch)?;
        Ok(Self { channel, consumer, acknowledges, spins: wait == Wait::Spin })
    }

    /// Passes the next message to `call`, and then acknowledges the message. Returns 0 after the timeout.
    fn receive(&mut self, timeout: Duration, call: impl FnOnce(&Channel, &Delivery)) -> Result<usize> {
        let next = self.consumer.next();
        let next = if self.spins || timeout.is_zero() {
            next.now_or_never()
        } else {
            self.channel.runtime.wait_for(timeout, next)
        };
        let Some(delivery) = next else { return Ok(0) };
        let delivery = delivery.ok_or_else(|| Error::new("RabbitMQ has ended a subscription"))?;
        let delivery = delivery.context("receiving from RabbitMQ")?;
        call(&self.channel, &delivery);
        if self.acknowledges {
            let acknowledging = delivery.ack(BasicAckOptions::default());
            self.channel.runtime.block_on(acknowledging).context("acknowledging a message")?;
        }
        Ok(1)
    }

    /// Passes every message to `call`, in a task of the runtime, and then acknowledges the message.
    fn call(self, mut call: impl FnMut(&Channel, &Delivery) + Send + 'static) -> Task {
        let Self { channel, mut consumer, acknowledges, .. } = self;
        channel.runtime.clone().call(async move {
            while let Some(Ok(delivery)) = consumer.next().await {
                call(&channel, &delivery);
                if acknowledges && delivery.ack(BasicAckOptions::default()).await.is_err() {
                    break;
                }
            }
        })
    }

    pub fn subscribe(self, mut on_frame: OnFrame) -> Task {
        self.call(move |_, delivery| on_frame.call(as_received(delivery)))
    }
}

impl Subscriber for TopicSubscriber {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        self.receive(timeout, |_, delivery| take(as_received(delivery)))
    }
}

/// Converts a message to the instrument's type, whose bytes a relay forwards by reference.
fn as_received(delivery: &Delivery) -> Received<'_> {
    Received::split(&delivery.data).with_native(&delivery.data)
}

pub struct CallServer(pub TopicSubscriber);

impl Server for CallServer {
    fn poll(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize> {
        self.0.receive(timeout, |channel, request| answer(channel, request, handle))
    }

    fn serve(self: Box<Self>, mut on_request: OnRequest) -> Result<Box<dyn Subscription>> {
        // The handler may wait for another server, so the runtime continues on another thread.
        let call = move |channel: &Channel, request: &Delivery| {
            tokio::task::block_in_place(|| answer(channel, request, &mut *on_request));
        };
        Ok(Box::new(self.0.call(call)))
    }
}

fn answer(channel: &Channel, request: &Delivery, handle: Handle<'_>) {
    let to = request.properties.reply_to().clone();
    handle(as_received(request), &mut CallReplier { channel: channel.clone(), to });
}

struct CallReplier {
    channel: Channel,
    /// The address to which the reply is sent; a request without such an address gets no reply.
    to: Option<ShortString>,
}

impl Replier for CallReplier {
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let Some(to) = &self.to else { return Ok(Sent::Accepted) };
        self.channel.publish(&"".into(), to, &fill.to_vec(payload_bytes), &BasicProperties::default())
    }
}
