//! The adapter for ZeroMQ with the crate zmq: PUB and SUB, DEALER and ROUTER. ../README.md describes the wire format.

mod message;
mod pool;
mod socket;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use zmq::SocketType;

use message::Message;
use socket::{Endpoint, Socket};

/// All link ends of a process share one context.
struct Zeromq {
    setup: Setup,
    context: zmq::Context,
}

impl Zeromq {
    fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
        let context = zmq::Context::new();
        context.set_io_threads(setup.setting("io_threads")?).context("preparing ZeroMQ's I/O threads")?;
        Ok(Arc::new(Self { setup: setup.clone(), context }))
    }

    fn socket(&self, kind: SocketType, link: &Link) -> Result<Socket> {
        Socket::open(&self.context, kind, &self.setup, link)
    }
}

impl Transport for Zeromq {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        let mut socket = self.socket(zmq::PUB, link)?;
        socket.set_nodrop(self.setup.setting("nodrop")?).context("setting ZMQ_XPUB_NODROP")?;
        Ok(Box::new(socket.bind(&self.setup, link)?))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        let socket = self.socket(zmq::SUB, link)?;
        socket.raw().set_subscribe(b"").context("subscribing")?;
        Ok(Box::new(socket.connect(&self.setup, link)?))
    }

    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        let socket = self.socket(zmq::ROUTER, link)?;
        // If the queue is full, ZeroMQ refuses a reply with this option, and would drop the reply without this option.
        socket.raw().set_router_mandatory(true).context("setting ZMQ_ROUTER_MANDATORY")?;
        Ok(Box::new(Router(socket.bind(&self.setup, link)?)))
    }

    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        Ok(Box::new(self.socket(zmq::DEALER, link)?.connect(&self.setup, link)?))
    }

    fn facts(&self) -> Vec<(String, String)> {
        let path = self.setup.setting("endpoint").map(|endpoint: Endpoint| endpoint.path(&self.setup));
        path.into_iter().map(|path| ("path".into(), path)).collect()
    }
}

/// Returns the ZeroMQ message of a frame. Fails if the frame was received by another library.
fn native<'a>(received: &Received<'a>) -> Result<&'a Message> {
    received.native_as().ok_or_else(|| Error::new("ZeroMQ forwards only messages that it has received"))
}

impl Publisher for Socket {
    fn address(&self) -> String {
        self.address.clone()
    }

    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        self.send_after(None, payload_bytes, fill).context("sending with ZeroMQ")
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        self.forward_after(None, native(received)?).context("sending with ZeroMQ")
    }
}

impl Subscriber for Socket {
    /// Passes on one message, and releases its memory immediately, so that the next message uses cached memory.
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let Some(message) = self.receive(timeout)? else { return Ok(0) };
        take(message.to_received());
        Ok(1)
    }
}

impl Client for Socket {
    fn start(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        self.send(payload_bytes, fill)
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        Publisher::forward(self, received)
    }

    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        Subscriber::poll(self, timeout, take)
    }
}

struct Router(Socket);

impl Server for Router {
    fn address(&self) -> String {
        self.0.address.clone()
    }

    fn poll(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize> {
        let Some(route) = self.0.receive(timeout)? else { return Ok(0) };
        let request = if route.is_followed() { self.0.receive(timeout)? } else { None };
        let request = request.ok_or_else(|| Error::new("a request came without its frame"))?;
        handle(request.to_received(), &mut RouteReplier { socket: &mut self.0, route });
        Ok(1)
    }
}

/// Replies to the client from which a request came.
struct RouteReplier<'a> {
    socket: &'a mut Socket,
    route: Message,
}

impl Replier for RouteReplier<'_> {
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        lost_if_gone(self.socket.send_after(Some(&self.route), payload_bytes, fill))
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        lost_if_gone(self.socket.forward_after(Some(&self.route), native(received)?))
    }
}

/// A reply to a disconnected client is lost, like every message without a receiver.
fn lost_if_gone(sent: zmq::Result<Sent>) -> Result<Sent> {
    match sent {
        Err(zmq::Error::EHOSTUNREACH) => Ok(Sent::Accepted),
        sent => sent.context("replying with ZeroMQ"),
    }
}

fn version() -> String {
    let (major, minor, patch) = zmq::version();
    format!("libzmq {major}.{minor}.{patch}, zmq {}", library_version!("zmq"))
}

fn main() -> ExitCode {
    node::main("zeromq", "rust", Zeromq::open, version)
}
