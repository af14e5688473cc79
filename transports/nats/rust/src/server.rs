//! The server of an rpc link. Each request to the server names the inbox for its reply.

use std::time::Duration;

use async_nats::{Client as Connection, Message, Subject};
use hopmeter_instrument::prelude::*;
use hopmeter_tokio::frames::{Frames, as_received};

use crate::topics::{TopicSubscriber, hand_over};

pub struct CallServer {
    pub requests: TopicSubscriber,
    pub replier: CallReplier,
}

impl Server for CallServer {
    fn poll(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize> {
        let Some(request) = self.requests.next(timeout) else { return Ok(0) };
        self.replier.answer(request, handle);
        Ok(1)
    }

    fn serve(self: Box<Self>, mut on_request: OnRequest) -> Result<Box<dyn Subscription>> {
        let Self { requests, mut replier } = *self;
        // The handler may wait for another server, so the runtime continues on another thread.
        let call = move |request| tokio::task::block_in_place(|| replier.answer(request, &mut *on_request));
        Ok(Box::new(requests.call(call)))
    }
}

pub struct CallReplier {
    pub connection: Connection,
    /// The inbox for the reply to the current request; a request without an inbox gets no reply.
    pub inbox: Option<Subject>,
    pub frames: Frames,
}

impl CallReplier {
    fn answer(&mut self, request: Message, handle: Handle<'_>) {
        self.inbox = request.reply;
        handle(as_received(&request.payload), self);
    }
}

impl Replier for CallReplier {
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let Some(inbox) = self.inbox.clone() else { return Ok(Sent::Accepted) };
        let frame = self.frames.write(payload_bytes, fill);
        hand_over(self.connection.publish(inbox, frame))
    }
}
