//! The gRPC service of a binding end, which has either calls or streams. Each binding end has its own server and
//! address.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hopmeter_instrument::prelude::{Context, Error, PayloadKind, lock};
use hopmeter_streams::Listener;
use hopmeter_streams::endpoint::SocketFile;
use hopmeter_tokio::Runtime;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_stream::StreamExt;
use tokio_stream::adapters::Map;
use tokio_stream::wrappers::{ReceiverStream, UnixListenerStream};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status};

use crate::ends::PendingCall;
use crate::frames::Frame;
use crate::wire::link_server::{Link, LinkServer};
use crate::wire::{Image, Receiver, Timing};

/// The maximum number of queued messages per receiver. If a receiver's queue is full, a send returns busy.
const UNDER_WAY: usize = 16;

/// The queues of all of a publisher's streams.
pub type Streams = Arc<Mutex<Vec<mpsc::Sender<Frame>>>>;

type Answer<T> = Result<T, Status>;
/// A stream of one receiver's frames, each converted to a message.
type Stream<M> = Map<ReceiverStream<Frame>, Box<dyn FnMut(Frame) -> Answer<M> + Send>>;

/// The service of a binding end. A service has either calls or streams; the field for the other kind is `None`.
pub struct Service {
    pub ask: Option<mpsc::UnboundedSender<PendingCall>>,
    pub streams: Streams,
    pub kind: PayloadKind,
}

impl Service {
    async fn answer(&self, request: Frame) -> Answer<Frame> {
        let ask = self.ask.as_ref().ok_or_else(|| Status::unimplemented("this end publishes"))?;
        let (answer, answered) = oneshot::channel();
        // If no task receives requests any more, the request is dropped together with its reply channel.
        drop(ask.send((request, answer)));
        answered.await.map_err(|_| Status::unavailable("not answered"))
    }

    fn stream<M: 'static>(&self, dress: impl Fn(Frame) -> M + Send + 'static) -> Response<Stream<M>> {
        let (sender, frames) = mpsc::channel(UNDER_WAY);
        lock(&self.streams).push(sender);
        Response::new(ReceiverStream::new(frames).map(Box::new(move |frame| Ok(dress(frame)))))
    }
}

#[tonic::async_trait]
impl Link for Service {
    type StreamTimingStream = Stream<Timing>;
    type StreamImageStream = Stream<Image>;

    async fn call_timing(&self, request: Request<Timing>) -> Answer<Response<Timing>> {
        Ok(Response::new(self.answer(request.into_inner().into()).await?.timing()))
    }

    async fn call_image(&self, request: Request<Image>) -> Answer<Response<Image>> {
        Ok(Response::new(self.answer(request.into_inner().into()).await?.image(self.kind)))
    }

    async fn stream_timing(&self, _: Request<Receiver>) -> Answer<Response<Stream<Timing>>> {
        Ok(self.stream(Frame::timing))
    }

    async fn stream_image(&self, _: Request<Receiver>) -> Answer<Response<Stream<Image>>> {
        let kind = self.kind;
        Ok(self.stream(move |frame| frame.image(kind)))
    }
}

/// A server that runs until this value is dropped.
pub struct RunningServer {
    pub address: String,
    runtime: Runtime,
    stop: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<Result<(), tonic::transport::Error>>>,
    _file: Option<SocketFile>,
}

impl RunningServer {
    /// Starts a server on a listening socket. With an identity, the server uses TLS.
    pub fn start(
        runtime: Runtime,
        service: Service,
        message_bytes: usize,
        listener: Listener,
        identity: Option<Identity>,
    ) -> Result<Self, Error> {
        let wire =
            LinkServer::new(service).max_decoding_message_size(message_bytes).max_encoding_message_size(usize::MAX);
        let router = builder(identity)?.add_service(wire);
        let (stop, stopped) = oneshot::channel();
        let stopped = async move { drop(stopped.await) };
        let Listener { socket, address, file } = listener;
        let entered = runtime.clone();
        let _in_runtime = entered.enter();
        let (task, address) = if file.is_some() {
            let incoming =
                UnixListenerStream::new(UnixListener::from_std(socket.into()).context("serving the socket")?);
            (runtime.spawn(router.serve_with_incoming_shutdown(incoming, stopped)), format!("unix:{address}"))
        } else {
            let incoming = TcpIncoming::from(TcpListener::from_std(socket.into()).context("serving the socket")?);
            let incoming = incoming.with_nodelay(Some(true));
            (runtime.spawn(router.serve_with_incoming_shutdown(incoming, stopped)), address)
        };
        Ok(Self { address, runtime, stop: Some(stop), task: Some(task), _file: file })
    }
}

fn builder(identity: Option<Identity>) -> Result<Server, Error> {
    let Some(identity) = identity else { return Ok(Server::builder()) };
    Server::builder().tls_config(ServerTlsConfig::new().identity(identity)).context("setting up TLS")
}

impl Drop for RunningServer {
    /// The binding end has already closed its calls and streams, so the server does not wait for connected peers.
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(mut task) = self.task.take() {
            if self.runtime.wait_for(Duration::from_secs(1), &mut task).is_none() {
                task.abort();
            }
        }
    }
}
