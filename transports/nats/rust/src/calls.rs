//! Request and reply: a request names the inbox its reply goes to.

use std::time::Duration;

use async_nats::{Client as Connection, Message, Subject};
use bytes::Bytes;
use hopmeter_instrument::{
    Client, Fill, Handle, OnRequest, Received, Replier, Result, Sent, Server, Subscription, Take, copy_on,
};

use crate::frames::{Frames, passed_on, received};
use crate::topics::{Called, Receiving, handed_over};

/// The asking end; the replies of all its calls come to one inbox.
pub struct Asking {
    connection: Connection,
    subject: Subject,
    inbox: Subject,
    replies: Receiving,
    frames: Frames,
}

impl Asking {
    pub fn new(connection: Connection, subject: Subject, inbox: Subject, replies: Receiving) -> Self {
        Self { connection, subject, inbox, replies, frames: Frames::default() }
    }

    fn ask(&self, frame: Bytes) -> Result<Sent> {
        handed_over(self.connection.publish_with_reply(self.subject.clone(), self.inbox.clone(), frame))
    }
}

impl Client for Asking {
    fn start(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let frame = self.frames.written(payload_bytes, fill);
        self.ask(frame)
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        match passed_on(received) {
            Some(frame) => self.ask(frame),
            None => copy_on(received, |payload_bytes, fill| self.start(payload_bytes, fill)),
        }
    }

    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let Some(reply) = self.replies.next(timeout) else { return Ok(0) };
        take(received(&reply.payload));
        Ok(1)
    }
}

/// The answering end.
pub struct Answering {
    requests: Receiving,
    replier: Replying,
}

impl Answering {
    pub fn new(connection: Connection, requests: Receiving) -> Self {
        Self { requests, replier: Replying { connection, inbox: None, frames: Frames::default() } }
    }
}

impl Server for Answering {
    fn poll(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize> {
        let Some(request) = self.requests.next(timeout) else { return Ok(0) };
        self.replier.answer(request, handle);
        Ok(1)
    }

    fn serve(self: Box<Self>, mut on_request: OnRequest) -> Result<Box<dyn Subscription>> {
        let Self { requests, mut replier } = *self;
        // The handler may block and may wait for another server: the runtime goes on with another thread meanwhile.
        let call = move |request| tokio::task::block_in_place(|| replier.answer(request, &mut *on_request));
        Ok(Box::new(Called::by(requests, call)))
    }
}

struct Replying {
    connection: Connection,
    /// Where the reply to the present request goes; a request that wants none is answered to nobody.
    inbox: Option<Subject>,
    frames: Frames,
}

impl Replying {
    fn answer(&mut self, request: Message, handle: Handle<'_>) {
        self.inbox = request.reply;
        handle(received(&request.payload), self);
    }
}

impl Replier for Replying {
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let Some(inbox) = self.inbox.clone() else { return Ok(Sent::Accepted) };
        let frame = self.frames.written(payload_bytes, fill);
        handed_over(self.connection.publish(inbox, frame))
    }
}
