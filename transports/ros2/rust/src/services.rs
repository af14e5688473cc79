//! The clients and servers of services.

use std::future::ready;
use std::mem::take as take_out;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{FuturesUnordered, StreamExt};
use hopmeter_instrument::Context as _;
use hopmeter_instrument::prelude::*;
use r2r::{Node, QosProfile, ServiceRequest};

use crate::called::Called;
use crate::messages::{Carrier, Envelope};
use crate::polled::{Polled, spin};
use crate::session::{Session, name_of};

/// The client of an rpc link. Each call is a future, which the client's node completes.
pub struct CallClient<M: Carrier> {
    client: r2r::Client<M::Service>,
    replies: FuturesUnordered<BoxFuture<'static, r2r::Result<M::Response>>>,
    outgoing: M::Request,
    node: Node,
    wait: Wait,
}

impl<M: Carrier> CallClient<M> {
    pub fn open(session: &Session, link: &Link) -> Result<Self> {
        let (mut node, service) = (session.node()?, name_of(link));
        let client = node.create_client(&service, QosProfile::services_default());
        let client = client.context(format!("creating a client of {service}"))?;
        let outgoing = M::Request::of(M::with_shape(link.payload));
        Ok(Self { client, replies: FuturesUnordered::new(), outgoing, node, wait: link.wait })
    }

    fn call(&self, request: &M::Request) -> Result<Sent> {
        self.replies.push(self.client.request(request).context("sending a request")?.boxed());
        Ok(Sent::Accepted)
    }
}

impl<M: Carrier> Client for CallClient<M> {
    fn start(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        self.outgoing.it_mut().fill(payload_bytes, fill)?;
        self.call(&self.outgoing)
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        match received.native_as::<M::Request>() {
            Some(request) => self.call(request),
            None => copy_on(received, |payload_bytes, fill| self.start(payload_bytes, fill)),
        }
    }

    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        spin(&mut self.node, self.wait, timeout);
        let Some(reply) = self.replies.next().now_or_never().flatten() else { return Ok(0) };
        let reply = reply.context("receiving a reply")?;
        reply.it().with_frame(&reply, take);
        Ok(1)
    }
}

/// The server of an rpc link, which is polled unless `serve` is called.
pub struct CallServer<M: Carrier> {
    requests: Polled<ServiceRequest<M::Service>>,
    link: Link,
}

impl<M: Carrier> CallServer<M> {
    pub fn open(session: &Session, link: &Link) -> Result<Self> {
        let (mut node, service) = (session.node()?, name_of(link));
        let requests = node.create_service::<M::Service>(&service, QosProfile::services_default());
        let requests = requests.context(format!("creating the service {service}"))?;
        Ok(Self { requests: Polled::new(node, requests), link: link.clone() })
    }
}

impl<M: Carrier> Server for CallServer<M> {
    fn poll(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize> {
        let Some(request) = self.requests.next(self.link.wait, timeout) else { return Ok(0) };
        answer::<M>(request, self.link.payload, handle);
        Ok(1)
    }

    fn serve(self: Box<Self>, mut on_request: OnRequest) -> Result<Box<dyn Subscription>> {
        let (Polled { node, arrivals }, payload) = (self.requests, self.link.payload);
        let serve = arrivals.for_each(move |request| {
            answer::<M>(request, payload, &mut *on_request);
            ready(())
        });
        Called::start(node, serve)
    }
}

/// Lets the handler answer a request, which may stay unanswered.
fn answer<M: Carrier>(mut request: ServiceRequest<M::Service>, payload: PayloadKind, handle: Handle<'_>) {
    let message = take_out(&mut request.message);
    let mut replier = CallReplier::<M> { request: Some(request), payload };
    message.it().with_frame(&message, |received| handle(received, &mut replier));
}

/// Replies to one request.
struct CallReplier<M: Carrier> {
    /// The request without its message, or `None` after the reply.
    request: Option<ServiceRequest<M::Service>>,
    payload: PayloadKind,
}

impl<M: Carrier> Replier for CallReplier<M> {
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let request = self.request.take().ok_or_else(|| Error::new("a request was answered twice"))?;
        let mut message = M::with_shape(self.payload);
        message.fill(payload_bytes, fill)?;
        request.respond(M::Response::of(message)).context("sending a response")?;
        Ok(Sent::Accepted)
    }
}
