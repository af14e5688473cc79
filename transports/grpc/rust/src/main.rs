//! The adapter for gRPC with tonic: unary calls, and streams as topics. `../README.md` describes the fields.

mod ends;
mod frames;
mod service;

use std::process::ExitCode;
use std::sync::Arc;

use hopmeter_instrument::prelude::*;
use hopmeter_streams::Endpoint;
use hopmeter_tokio::Runtime;
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tokio::sync::mpsc::{self, UnboundedSender};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint as Remote, Identity};

use ends::{CallClient, CallServer, PendingCall, TopicPublisher, TopicSubscriber};
use service::{RunningServer, Service, Streams};
use wire::link_client::LinkClient;

mod wire {
    tonic::include_proto!("hopmeter.wire");
}

struct Grpc {
    runtime: Runtime,
    tls: Option<Tls>,
    endpoint: Endpoint,
    /// The maximum size of a received message: the largest frame plus the field tags, lengths and a margin.
    message_bytes: usize,
}

/// The certificate of all servers, and the authority that clients trust.
struct Tls {
    identity: Identity,
    authority: Certificate,
}

impl Tls {
    fn read(setup: &Setup) -> Result<Option<Self>> {
        if setup.setting::<String>("security")? != "tls" {
            return Ok(None);
        }
        let own = ["server.pem", "server.key"].map(|name| setup.read_credential(name));
        let [certificate, key] = own;
        let authority = Certificate::from_pem(setup.read_credential("ca.pem")?);
        Ok(Some(Self { identity: Identity::from_pem(certificate?, key?), authority }))
    }
}

/// The maximum number of bytes that a message adds to its frame, with a margin.
const MARGIN_BYTES: usize = 4096;

impl Grpc {
    fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
        let runtime = Runtime::start("tonic", setup.setting("workers")?)?;
        let message_bytes = setup.largest_frame_bytes + MARGIN_BYTES;
        let (tls, endpoint) = (Tls::read(setup)?, Endpoint::read(setup, "grpc")?);
        Ok(Arc::new(Self { runtime, tls, endpoint, message_bytes }))
    }

    fn bind(&self, link: &Link, ask: Option<UnboundedSender<PendingCall>>, streams: Streams) -> Result<RunningServer> {
        let service = Service { ask, streams, kind: link.payload };
        let identity = self.tls.as_ref().map(|tls| tls.identity.clone());
        RunningServer::start(self.runtime.clone(), service, self.message_bytes, self.endpoint.listen(link)?, identity)
    }

    /// Creates a channel for one link end. The channel connects on first use.
    fn stub(&self, link: &Link) -> Result<LinkClient<Channel>> {
        let _in_runtime = self.runtime.enter();
        let channel = match link.address.strip_prefix("unix:") {
            None => self.remote(&link.address)?.connect_lazy(),
            Some(path) => {
                let path = path.to_owned();
                let connect = move |_| {
                    let path = path.clone();
                    async move { UnixStream::connect(path).await.map(TokioIo::new) }
                };
                remote("http://localhost".into())?.connect_with_connector_lazy(tower::service_fn(connect))
            }
        };
        Ok(LinkClient::new(channel).max_decoding_message_size(self.message_bytes).max_encoding_message_size(usize::MAX))
    }

    /// Returns the server at an address. If the connection uses TLS, the client verifies the server's certificate.
    fn remote(&self, address: &str) -> Result<Remote> {
        let Some(tls) = &self.tls else { return remote(format!("http://{address}")) };
        let config = ClientTlsConfig::new().ca_certificate(tls.authority.clone());
        remote(format!("https://{address}"))?.tls_config(config).context("setting up TLS")
    }

    fn open_receiver(&self, link: &Link) -> Result<TopicSubscriber> {
        Ok(TopicSubscriber::open(self.runtime.clone(), self.stub(link)?, link.payload))
    }
}

fn remote(place: String) -> Result<Remote> {
    let remote = Remote::from_shared(place.clone()).context(format!("parsing the address {place}"))?;
    Ok(remote.tcp_nodelay(true))
}

impl Transport for Grpc {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        let streams = Streams::default();
        Ok(Box::new(TopicPublisher { bound: self.bind(link, None, streams.clone())?, streams }))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        Ok(Box::new(self.open_receiver(link)?))
    }

    fn subscribe(&self, link: &Link, on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
        Ok(Box::new(self.open_receiver(link)?.call(on_frame)))
    }

    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        let (ask, requests) = mpsc::unbounded_channel();
        let bound = self.bind(link, Some(ask), Streams::default())?;
        Ok(Box::new(CallServer { requests, bound, runtime: self.runtime.clone() }))
    }

    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        Ok(Box::new(CallClient::new(self.runtime.clone(), self.stub(link)?, link.payload)))
    }

    fn facts(&self) -> Vec<(String, String)> {
        let below = if self.tls.is_some() { "TLS" } else { "TCP" };
        let below = if self.endpoint.is_unix() { "a Unix socket" } else { below };
        vec![("path".into(), format!("HTTP/2 over {below}"))]
    }
}

fn main() -> ExitCode {
    node::main("grpc", "rust", Grpc::open, || format!("tonic {}", library_version!("tonic")))
}
