//! The client: a call in two halves, so that starting a call does not wait for its reply.

use std::thread;
use std::time::Duration;

use hopmeter_instrument::prelude::*;

use crate::channel::Channel;
use crate::idl::Unanswered;
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
        let mut request = std::mem::take(&mut self.request);
        request.write(payload_bytes, fill, self.shape);
        self.sequence = self.sequence.wrapping_add(1);
        match request.send_request(self.channel.output.as_mut(), self.sequence) {
            Ok(request) => self.request = request,
            // The server has gone, so the request is lost.
            Err(_) if self.channel.has_ended() => {}
            Err(cause) => return Err(Error::new("sending a call").because(cause)),
        }
        Ok(Sent::Accepted)
    }

    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        if self.channel.has_ended() {
            // The server does not return; without this pause the role would poll in a busy loop.
            thread::sleep(timeout);
            return Ok(0);
        }
        self.channel.begin_message(timeout)?;
        match M::receive_reply(self.channel.input.as_mut()) {
            Ok(reply) => reply.read(take),
            // No reply has arrived yet, or none will: the server has gone, or has reported that it did not answer.
            Err(_) if self.channel.is_waiting() || self.channel.has_ended() => return Ok(0),
            Err(thrift::Error::User(told)) if told.is::<Unanswered>() => return Ok(0),
            Err(cause) => return Err(Error::new("receiving a reply").because(cause)),
        }
        Ok(1)
    }
}
