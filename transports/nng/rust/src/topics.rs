//! Publish-subscribe with PUB and SUB, or with PUSH and PULL.

use hopmeter_instrument::prelude::*;
use nng::options::protocol::pubsub::Subscribe;
use nng::options::{Options, RecvBufferSize, SendBufferSize};
use nng::{Protocol, Socket};

use crate::sockets::{bind, connect, frame, open, send_outcome};

/// The publisher of a pubsub link.
pub struct TopicPublisher {
    socket: Socket,
    address: String,
}

impl TopicPublisher {
    pub fn open(setup: &Setup, link: &Link) -> Result<Self> {
        let pushes = pushes(setup)?;
        if pushes && link.receivers > 1 {
            let what = format!("PUSH sends each frame to only one receiver, but {} has several", link.name);
            return Err(Error::new(what).remedy("use protocol = \"pub\""));
        }
        let socket = open(if pushes { Protocol::Push0 } else { Protocol::Pub0 }, link)?;
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

/// Returns a connected SUB or PULL socket.
pub fn receiver(setup: &Setup, link: &Link) -> Result<Socket> {
    let pushes = pushes(setup)?;
    let socket = open(if pushes { Protocol::Pull0 } else { Protocol::Sub0 }, link)?;
    if !pushes {
        socket.set_opt::<Subscribe>(Vec::new()).context("subscribing")?;
        socket.set_opt::<RecvBufferSize>(setup.setting("receive_buffer")?).context("setting the receive buffer")?;
    }
    connect(&socket, link)?;
    Ok(socket)
}

fn pushes(setup: &Setup) -> Result<bool> {
    Ok(setup.setting::<String>("protocol")? == "push")
}
