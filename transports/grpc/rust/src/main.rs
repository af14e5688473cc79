//! gRPC by tonic: unary calls, and streams as topics. `../README.md` says which message takes what of a frame.

mod ends;
mod frames;
mod service;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use hopmeter_instrument::spec::PayloadKind;
use hopmeter_instrument::{
    Client, Context, Link, OnFrame, Publisher, Result, Server, Setup, Subscriber, Subscription, Transport, node,
    version,
};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{self, UnboundedSender};
use tonic::transport::{Channel, Endpoint};

use ends::{Answering, Asked, Asking, Receiving, Sending};
use service::{Bound, Service, Streams};
use wire::link_client::LinkClient;

mod wire {
    tonic::include_proto!("hopmeter.wire");
}

struct Grpc {
    runtime: Arc<Runtime>,
    kind: PayloadKind,
    /// Where socket files go; none where the endpoint is TCP.
    directory: Option<PathBuf>,
}

impl Grpc {
    fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
        let workers = setup.setting("workers")?;
        let runtime = Builder::new_multi_thread().worker_threads(workers).thread_name("tonic").enable_all().build();
        let is_unix = setup.setting::<String>("endpoint")? == "unix";
        Ok(Arc::new(Self {
            runtime: Arc::new(runtime.context("starting the threads of tonic")?),
            kind: setup.payload,
            directory: is_unix.then(|| setup.directory.clone()),
        }))
    }

    fn bind(&self, link: &Link, ask: Option<UnboundedSender<Asked>>, streams: Streams) -> Result<Bound> {
        let service = Service { ask, streams, kind: self.kind };
        Bound::start(self.runtime.clone(), service, link, self.directory.clone())
    }

    /// A channel of the end's own, which connects at its first use.
    fn reach(&self, link: &Link) -> Result<LinkClient<Channel>> {
        let _in_runtime = self.runtime.enter();
        let channel = match link.address.strip_prefix("unix:") {
            None => endpoint(format!("http://{}", link.address))?.connect_lazy(),
            Some(path) => {
                let path = path.to_owned();
                let connect = move |_| {
                    let path = path.clone();
                    async move { UnixStream::connect(path).await.map(TokioIo::new) }
                };
                endpoint("http://localhost".into())?.connect_with_connector_lazy(tower::service_fn(connect))
            }
        };
        Ok(LinkClient::new(channel).max_decoding_message_size(usize::MAX).max_encoding_message_size(usize::MAX))
    }

    fn receiving(&self, link: &Link) -> Result<Receiving> {
        Ok(Receiving::open(self.runtime.clone(), self.reach(link)?, self.kind))
    }
}

fn endpoint(place: String) -> Result<Endpoint> {
    let endpoint = Endpoint::from_shared(place.clone()).context(format!("understanding the address {place}"))?;
    Ok(endpoint.tcp_nodelay(true))
}

impl Transport for Grpc {
    fn version(&self) -> String {
        library()
    }

    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        let streams = Streams::default();
        Ok(Box::new(Sending { bound: self.bind(link, None, streams.clone())?, streams }))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        Ok(Box::new(self.receiving(link)?))
    }

    fn subscribe(&self, link: &Link, on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
        Ok(Box::new(self.receiving(link)?.call(on_frame)))
    }

    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        let (ask, requests) = mpsc::unbounded_channel();
        let bound = self.bind(link, Some(ask), Streams::default())?;
        Ok(Box::new(Answering::new(self.runtime.clone(), requests, bound)))
    }

    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        Ok(Box::new(Asking::new(self.runtime.clone(), self.reach(link)?, self.kind)))
    }

    fn facts(&self) -> Vec<(String, String)> {
        let path = if self.directory.is_some() { "HTTP/2 over a Unix socket" } else { "HTTP/2 over TCP" };
        vec![("path".into(), path.into())]
    }
}

fn library() -> String {
    format!("tonic {}", version::locked(include_str!("../../../../Cargo.lock"), "tonic"))
}

fn main() -> ExitCode {
    node::main("grpc", "rust", Grpc::open, library)
}
