//! Publish-subscribe: PUB and SUB, or PUSH and PULL.

use std::time::Duration;

use hopmeter_instrument::prelude::*;
use nng::options::protocol::pubsub::Subscribe;
use nng::options::{Options, RecvBufferSize, SendBufferSize};
use nng::{Protocol, Socket};
use serde::Deserialize;

use crate::inbox::Inbox;
use crate::sockets::{bind, connect, frame, open, send_outcome};

/// The kind of the publisher's socket.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Sender {
    Pub,
    Push,
}

/// The publisher of a pubsub link.
pub struct TopicPublisher {
    socket: Socket,
    address: String,
}

impl TopicPublisher {
    pub fn open(setup: &Setup, link: &Link) -> Result<Self> {
        let pushes = setup.setting::<Sender>("protocol")? == Sender::Push;
        if pushes && link.receivers > 1 {
            let what = format!("PUSH gives each frame to one receiver, and {} has several", link.name);
            return Err(Error::new(what).remedy("use protocol = \"pub\""));
        }
        let socket = open(if pushes { Protocol::Push0 } else { Protocol::Pub0 })?;
        let frames: i32 = setup.setting("send_buffer")?;
        if frames >= 0 {
            socket.set_opt::<SendBufferSize>(frames).context("setting the send buffer")?;
        }
        let address = bind(&socket, setup, link)?;
        Ok(Self { socket, address })
    }
}

impl Publisher for TopicPublisher {
    fn address(&self) -> String {
        self.address.clone()
    }

    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        send_outcome(self.socket.try_send(frame(payload_bytes, fill)))
    }
}

/// A SUB or PULL socket, connected.
pub fn receiver(setup: &Setup, link: &Link) -> Result<Socket> {
    let socket = match setup.setting("protocol")? {
        Sender::Push => open(Protocol::Pull0)?,
        Sender::Pub => subscriber_socket(setup)?,
    };
    connect(&socket, link)?;
    Ok(socket)
}

fn subscriber_socket(setup: &Setup) -> Result<Socket> {
    let socket = open(Protocol::Sub0)?;
    socket.set_opt::<Subscribe>(Vec::new()).context("subscribing")?;
    socket.set_opt::<RecvBufferSize>(setup.setting("receive_buffer")?).context("setting the receive buffer")?;
    Ok(socket)
}

/// The polled receiver.
pub struct TopicSubscriber(Inbox);

impl TopicSubscriber {
    pub fn open(setup: &Setup, link: &Link) -> Result<Self> {
        Ok(Self(Inbox::new(receiver(setup, link)?, setup.wait)?))
    }
}

impl Subscriber for TopicSubscriber {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let Some(message) = self.0.receive(timeout)? else { return Ok(0) };
        take(Received::split(&message));
        Ok(1)
    }
}
