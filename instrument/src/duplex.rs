//! Implements requests and replies over two pubsub links, one in each direction, for transports without rpc.

use std::time::Duration;

use crate::contract::*;
use crate::error::Result;

/// A client that sends requests on one link and receives the replies on the other link.
pub struct DuplexClient<P, S> {
    pub requests: P,
    pub replies: S,
}

impl<P: Publisher, S: Subscriber> Client for DuplexClient<P, S> {
    fn start(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        self.requests.send(payload_bytes, fill)
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        self.requests.forward(received)
    }

    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        self.replies.poll(timeout, take)
    }
}

/// A server that polls for requests on one link and replies on the other link.
pub struct DuplexServer {
    pub requests: Box<dyn Subscriber>,
    pub replies: Box<dyn Publisher>,
}

impl Server for DuplexServer {
    fn poll(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize> {
        let replies = &mut self.replies;
        self.requests.poll(timeout, &mut |received| handle(received, &mut Answer(replies.as_mut())))
    }
}

/// Converts a request handler to the callback of the request link.
pub fn on_request_frame(mut on_request: OnRequest, mut replies: Box<dyn Publisher>) -> OnFrame {
    OnFrame::new(move |received| on_request(received, &mut Answer(replies.as_mut())))
}

struct Answer<'a>(&'a mut dyn Publisher);

impl Replier for Answer<'_> {
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        self.0.send(payload_bytes, fill)
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        self.0.forward(received)
    }
}
