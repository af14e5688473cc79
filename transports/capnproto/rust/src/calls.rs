//! Calls: a client calls the capability that its server offers.

use std::rc::Rc;
use std::sync::mpsc::{Receiver as Queue, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use capnp_rpc::new_client;
use hopmeter_instrument::prelude::*;
use hopmeter_streams::endpoint::SocketFile;
use hopmeter_tokio::frames::{Frames, as_received};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::event_loop::{EventLoop, Hosted};
use crate::hopmeter_capnp::service;
use crate::network::Network;

pub struct CallClient {
    frames: Frames,
    requests: UnboundedSender<Bytes>,
    replies: Queue<Bytes>,
    _hosted: Hosted,
}

impl CallClient {
    /// Opens a client, which has its own event loop, because a server's callback may wait for the reply.
    pub fn open(network: &Network, link: &Link) -> Result<Self> {
        let (network, socket) = (network.clone(), network.endpoint.connect(link)?);
        let (requests, mut queue) = unbounded_channel::<Bytes>();
        let (sender, replies) = channel();
        let hosted = EventLoop::start()?.host(move || async move {
            let Ok((service, system)) = network.connect::<service::Client>(socket) else { return };
            let mut calls = JoinSet::new();
            calls.spawn_local(async move { drop(system.await) });
            while let Some(frame) = queue.recv().await {
                let mut request = service.call_request();
                request.get().set_request(&frame);
                calls.spawn_local(receive(request.send(), sender.clone()));
                while calls.try_join_next().is_some() {}
            }
        });
        Ok(Self { frames: Frames::default(), requests, replies, _hosted: hosted })
    }
}

/// Waits for the reply to a call, and passes the reply to the endpoint's thread. A call that fails because its server
/// has disconnected counts as unanswered.
async fn receive(call: capnp::capability::RemotePromise<service::call_results::Owned>, replies: Sender<Bytes>) {
    let Ok(response) = call.promise.await else { return };
    if let Ok(reply) = response.get().and_then(|results| results.get_reply()) {
        drop(replies.send(Bytes::copy_from_slice(reply)));
    }
}

impl Client for CallClient {
    fn start(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let request = self.frames.write(payload_bytes, fill);
        self.requests.send(request).map_err(|_| Error::new("the client's event loop has ended"))?;
        Ok(Sent::Accepted)
    }

    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let Ok(reply) = self.replies.recv_timeout(timeout) else { return Ok(0) };
        take(as_received(&reply));
        Ok(1)
    }
}

/// A request for the endpoint's thread, and the channel for its reply.
type PendingCall = (Bytes, oneshot::Sender<Bytes>);

/// What happens to a server's requests on the event loop.
enum Handler {
    Queue(Sender<PendingCall>),
    Callback(OnRequest),
    Closed,
}

struct Service(Arc<Mutex<Handler>>);

impl Service {
    /// Calls the callback, which writes the reply into `results`. If the endpoint polls, instead queues the request and
    /// returns a channel for the reply.
    fn handle(
        &self,
        request: &[u8],
        results: &mut service::CallResults,
    ) -> capnp::Result<Option<oneshot::Receiver<Bytes>>> {
        match &mut *lock(&self.0) {
            Handler::Queue(requests) => {
                let (answer, answered) = oneshot::channel();
                drop(requests.send((Bytes::copy_from_slice(request), answer)));
                return Ok(Some(answered));
            }
            Handler::Callback(on_request) => {
                let mut replier = InlineReplier(Some(results));
                on_request(Received::split(request), &mut replier);
                if replier.0.is_none() {
                    return Ok(None);
                }
            }
            Handler::Closed => {}
        }
        Err(capnp::Error::failed("not answered".into()))
    }
}

impl service::Server for Service {
    async fn call(self: Rc<Self>, call: service::CallParams, mut results: service::CallResults) -> capnp::Result<()> {
        if let Some(answered) = self.handle(call.get()?.get_request()?, &mut results)? {
            let reply = answered.await.map_err(|_| capnp::Error::failed("not answered".into()))?;
            results.get().set_reply(&reply);
        }
        Ok(())
    }
}

/// Lets the handler write the reply into the message that is sent.
struct InlineReplier<'a>(Option<&'a mut service::CallResults>);

impl Replier for InlineReplier<'_> {
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let results = self.0.take().ok_or_else(|| Error::new("this request has already been answered"))?;
        fill.write(FrameMut::split(results.get().init_reply((HEADER_BYTES + payload_bytes) as u32)));
        Ok(Sent::Accepted)
    }
}

struct QueuedReplier(Option<oneshot::Sender<Bytes>>);

impl Replier for QueuedReplier {
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let answer = self.0.take().ok_or_else(|| Error::new("this request has already been answered"))?;
        // A client that has disconnected receives no reply.
        drop(answer.send(fill.to_vec(payload_bytes).into()));
        Ok(Sent::Accepted)
    }
}

pub struct CallServer {
    address: String,
    requests: Queue<PendingCall>,
    handler: Arc<Mutex<Handler>>,
    hosted: Hosted,
    file: Option<SocketFile>,
}

impl CallServer {
    /// Opens a server, which has its own event loop, because its callback may wait for another server.
    pub fn open(network: &Network, link: &Link) -> Result<Self> {
        let (network, listener) = (network.clone(), network.listen(link)?);
        let (sender, requests) = channel();
        let handler = Arc::new(Mutex::new(Handler::Queue(sender)));
        let (offered, socket) = (handler.clone(), listener.socket);
        let hosted = EventLoop::start()?.host(move || async move {
            let offer: service::Client = new_client(Service(offered));
            network.serve(socket, offer.client).await;
        });
        Ok(Self { address: listener.address, requests, handler, hosted, file: listener.file })
    }
}

impl Server for CallServer {
    fn address(&self) -> String {
        self.address.clone()
    }

    fn poll(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize> {
        let Ok((request, answer)) = self.requests.recv_timeout(timeout) else { return Ok(0) };
        handle(as_received(&request), &mut QueuedReplier(Some(answer)));
        Ok(1)
    }

    fn serve(self: Box<Self>, on_request: OnRequest) -> Result<Box<dyn Subscription>> {
        let Self { handler, hosted, file, .. } = *self;
        *lock(&handler) = Handler::Callback(on_request);
        Ok(Box::new(Serving { handler, _hosted: hosted, _file: file }))
    }
}

struct Serving {
    handler: Arc<Mutex<Handler>>,
    _hosted: Hosted,
    _file: Option<SocketFile>,
}

impl Subscription for Serving {}

impl Drop for Serving {
    /// Waits for a running callback, and drops the callback on this thread.
    fn drop(&mut self) {
        let handler = std::mem::replace(&mut *lock(&self.handler), Handler::Closed);
        drop(handler);
    }
}
