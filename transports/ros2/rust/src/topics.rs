//! Publishers and subscribers of topics.

use std::future::ready;
use std::time::Duration;

use futures::{Stream, StreamExt};
use hopmeter_instrument::Context as _;
use hopmeter_instrument::prelude::*;
use r2r::Node;

use crate::called::Called;
use crate::messages::Carrier;
use crate::polled::Polled;
use crate::session::{Session, name_of};

/// The publisher of a topic. The publisher's node is never spun.
pub struct TopicPublisher<M: Carrier> {
    publisher: r2r::Publisher<M>,
    outgoing: M,
    _node: Node,
}

impl<M: Carrier> TopicPublisher<M> {
    pub fn open(session: &Session, link: &Link) -> Result<Self> {
        let (mut node, topic) = (session.node()?, name_of(link));
        let publisher = node.create_publisher(&topic, session.qos.clone());
        let publisher = publisher.context(format!("creating a publisher of {topic}"))?;
        Ok(Self { publisher, outgoing: M::with_shape(link.payload), _node: node })
    }

    fn publish(&self, message: &M) -> Result<Sent> {
        self.publisher.publish(message).context("publishing a message")?;
        Ok(Sent::Accepted)
    }
}

impl<M: Carrier> Publisher for TopicPublisher<M> {
    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        self.outgoing.fill(payload_bytes, fill)?;
        self.publish(&self.outgoing)
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        match received.native_as::<M>() {
            Some(message) => self.publish(message),
            None => copy_on(received, |payload_bytes, fill| self.send(payload_bytes, fill)),
        }
    }
}

/// Returns a subscription as a node and the stream of its messages.
fn messages<M: Carrier>(session: &Session, link: &Link) -> Result<(Node, impl Stream<Item = M> + Send + 'static)> {
    let (mut node, topic) = (session.node()?, name_of(link));
    let messages = node.subscribe::<M>(&topic, session.qos.clone());
    Ok((node, messages.context(format!("subscribing to {topic}"))?))
}

/// The polled subscriber.
pub struct TopicSubscriber<M: Carrier> {
    messages: Polled<M>,
    wait: Wait,
}

impl<M: Carrier> TopicSubscriber<M> {
    pub fn open(session: &Session, link: &Link) -> Result<Self> {
        let (node, messages) = messages(session, link)?;
        Ok(Self { messages: Polled::new(node, messages), wait: link.wait })
    }
}

impl<M: Carrier> Subscriber for TopicSubscriber<M> {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let message = self.messages.next(self.wait, timeout);
        Ok(message.map(|message| message.with_frame(&message, take)).iter().len())
    }
}

/// Opens a subscription that passes each received frame to `on_frame`.
pub fn subscribe<M: Carrier>(session: &Session, link: &Link, mut on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
    let (node, messages) = messages::<M>(session, link)?;
    let receive = messages.for_each(move |message| {
        message.with_frame(&message, |received| on_frame.call(received));
        ready(())
    });
    Called::start(node, receive)
}
