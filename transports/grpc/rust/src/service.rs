//! What a binding end serves: calls, or streams. One server for each end, on an address of its own.

use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hopmeter_instrument::spec::PayloadKind;
use hopmeter_instrument::{Context, Link, Result};
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::{ReceiverStream, UnixListenerStream};
use tonic::transport::Server;
use tonic::transport::server::{Router, TcpIncoming};
use tonic::{Request, Response, Status};

use crate::ends::Asked;
use crate::frames::Frame;
use crate::wire::link_server::{Link as Wire, LinkServer};
use crate::wire::{Image, Receiver, Timing};

/// Messages that wait for a receiver's stream; one more is `busy`.
const UNDER_WAY: usize = 16;

/// The queues in front of all streams of a publisher.
pub type Streams = Arc<Mutex<Vec<mpsc::Sender<Frame>>>>;

/// Either half is empty in an end that does not offer it.
pub struct Service {
    pub ask: Option<mpsc::UnboundedSender<Asked>>,
    pub streams: Streams,
    pub kind: PayloadKind,
}

impl Service {
    async fn answer(&self, request: Frame) -> std::result::Result<Frame, Status> {
        let ask = self.ask.as_ref().ok_or_else(|| Status::unimplemented("this end publishes"))?;
        let (answer, answered) = oneshot::channel();
        // Where nobody takes requests any more, the answer's sender goes with this one.
        drop(ask.send((request, answer)));
        answered.await.map_err(|_| Status::unavailable("not answered"))
    }

    fn open<M: Send + 'static>(&self, dress: impl Fn(Frame) -> M + Send + 'static) -> Stream<M> {
        let (sender, frames) = mpsc::channel(UNDER_WAY);
        self.streams.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        Stream { frames: ReceiverStream::new(frames), dress: Box::new(dress) }
    }
}

/// The frames of one receiver, as messages.
pub struct Stream<M> {
    frames: ReceiverStream<Frame>,
    dress: Box<dyn Fn(Frame) -> M + Send>,
}

impl<M> tokio_stream::Stream for Stream<M> {
    type Item = std::result::Result<M, Status>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        let next = std::pin::Pin::new(&mut self.frames).poll_next(context);
        next.map(|frame| frame.map(|frame| Ok((self.dress)(frame))))
    }
}

#[tonic::async_trait]
impl Wire for Service {
    type StreamTimingStream = Stream<Timing>;
    type StreamImageStream = Stream<Image>;

    async fn call_timing(&self, request: Request<Timing>) -> std::result::Result<Response<Timing>, Status> {
        Ok(Response::new(self.answer(request.into_inner().into()).await?.timing()))
    }

    async fn call_image(&self, request: Request<Image>) -> std::result::Result<Response<Image>, Status> {
        Ok(Response::new(self.answer(request.into_inner().into()).await?.image(self.kind)))
    }

    async fn stream_timing(&self, _: Request<Receiver>) -> std::result::Result<Response<Stream<Timing>>, Status> {
        Ok(Response::new(self.open(Frame::timing)))
    }

    async fn stream_image(&self, _: Request<Receiver>) -> std::result::Result<Response<Stream<Image>>, Status> {
        let kind = self.kind;
        Ok(Response::new(self.open(move |frame| frame.image(kind))))
    }
}

/// A server that runs until it is dropped.
pub struct Bound {
    pub address: String,
    runtime: Arc<Runtime>,
    stop: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<std::result::Result<(), tonic::transport::Error>>>,
    socket: Option<PathBuf>,
}

impl Bound {
    /// On a free port, or on a socket file in `directory`.
    pub fn start(runtime: Arc<Runtime>, service: Service, link: &Link, directory: Option<PathBuf>) -> Result<Self> {
        let wire = LinkServer::new(service).max_decoding_message_size(usize::MAX).max_encoding_message_size(usize::MAX);
        let router = Server::builder().add_service(wire);
        let (stop, stopped) = oneshot::channel();
        let entered = runtime.clone();
        let _in_runtime = entered.enter();
        let stopped = async move { drop(stopped.await) };
        let (task, address, socket) = match directory {
            None => {
                let (task, address) = on_tcp(&runtime, router, stopped)?;
                (task, address, None)
            }
            Some(directory) => {
                let path = directory.join(format!("{}.grpc", link.name));
                let listener = UnixListener::bind(&path).context(format!("binding {}", path.display()))?;
                let incoming = UnixListenerStream::new(listener);
                let task = runtime.spawn(router.serve_with_incoming_shutdown(incoming, stopped));
                (task, format!("unix:{}", path.display()), Some(path))
            }
        };
        Ok(Self { address, runtime, stop: Some(stop), task: Some(task), socket })
    }
}

type Serving = JoinHandle<std::result::Result<(), tonic::transport::Error>>;

fn on_tcp(
    runtime: &Runtime,
    router: Router,
    stopped: impl Future<Output = ()> + Send + 'static,
) -> Result<(Serving, String)> {
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).context("binding a port of 127.0.0.1")?;
    let address = listener.local_addr().context("asking which port was bound")?.to_string();
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    Ok((runtime.spawn(router.serve_with_incoming_shutdown(incoming, stopped)), address))
}

impl Drop for Bound {
    /// Calls and streams under way are ended by their owner before; a peer that keeps its connection is not waited for.
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(mut task) = self.task.take() {
            let ended = self.runtime.block_on(async { tokio::time::timeout(Duration::from_secs(1), &mut task).await });
            if ended.is_err() {
                task.abort();
            }
        }
        // A file that is gone already is as good.
        let _ = self.socket.take().map(std::fs::remove_file);
    }
}
