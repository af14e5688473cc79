//! The client of an rpc link. Each call has a sending and a receiving half, so that a client can start a call without
//! waiting for the reply.

use std::thread;
use std::time::Duration;

use hopmeter_instrument::prelude::*;

use crate::channel::Channel;
use crate::message::{Message, Shape};

pub struct CallClient<M> {
    channel: Channel,
    shape: Shape,
    sequence: i32,
    request: M,
}

impl<M: Message> CallClient<M> {
    pub fn new(channel: Channel, shape: Shape) -> Self {
        Self { channel, shape, sequence: 0, request: M::default() }
    }
}

impl<M: Message> Client for CallClient<M> {
    fn start(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        self.request.write(payload_bytes, fill, self.shape);
        self.sequence = self.sequence.wrapping_add(1);
        match self.request.send_request(self.sequence, self.channel.output.as_mut()) {
            // If the server has disconnected, the request is lost.
            Err(cause) if !self.channel.has_ended() => Err(Error::new("sending a call").because(cause)),
            _ => Ok(Sent::Accepted),
        }
    }

    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        if self.channel.has_ended() {
            // The server does not reconnect. Without this pause, the role would poll in a busy loop.
            thread::sleep(timeout);
            return Ok(0);
        }
        self.channel.begin_message(timeout)?;
        match M::receive_reply(self.channel.input.as_mut()) {
            Ok(Some(reply)) => reply.read(take),
            Ok(None) => return Ok(0),
            // No reply has arrived yet, or the server has disconnected.
            Err(_) if self.channel.is_waiting() || self.channel.has_ended() => return Ok(0),
            Err(cause) => return Err(Error::new("receiving a reply").because(cause)),
        }
        Ok(1)
    }
}
