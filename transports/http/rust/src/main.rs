//! The adapter for HTTP in Rust, with axum as the server and reqwest as the client. ../../README.md describes requests
//! and replies.

mod bodies;
mod listener;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::DefaultBodyLimit;
use axum::serve::{Listener, ListenerExt};
use hopmeter_instrument::prelude::*;
use hopmeter_tokio::Runtime;
use hopmeter_tokio::calls::{Calls, QueuedServer};
use reqwest::header::CONNECTION;
use rustls::{ClientConfig, ServerConfig};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use bodies::{Body, Timing};
use listener::TlsListener;

/// The number of bytes that JSON adds to a payload in base64, with a margin.
const MARGIN_BYTES: usize = 4096;

struct Http {
    runtime: Runtime,
    setup: Setup,
    is_json: bool,
    keep_alive: bool,
    is_http2: bool,
    /// Whether Nagle's algorithm is off. `None` keeps the library's default.
    no_delay: Option<bool>,
    /// The TLS configurations of clients and servers; `None` if connections are not encrypted.
    tls: Option<(ClientConfig, ServerConfig)>,
}

impl Http {
    fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
        let no_delay = match setup.setting::<String>("tcp_nodelay")?.as_str() {
            "on" => Some(true),
            "off" => Some(false),
            _ => None,
        };
        Ok(Arc::new(Self {
            runtime: Runtime::start("http", setup.setting("workers")?)?,
            setup: setup.clone(),
            is_json: setup.setting::<String>("body")? == "json",
            keep_alive: setup.setting("keep_alive")?,
            is_http2: setup.setting::<String>("version")? == "2",
            no_delay,
            tls: hopmeter_tls::client(setup)?.zip(hopmeter_tls::server(setup)?),
        }))
    }

    fn bind<B: Body>(&self, link: &Link) -> Result<Box<dyn Server>> {
        let _in_runtime = self.runtime.enter();
        let listener = self.runtime.block_on(TcpListener::bind((self.setup.bind, 0))).context("binding a port")?;
        let port = listener.local_addr().context("asking which port was bound")?.port();
        let (sender, requests) = mpsc::unbounded_channel();
        let limit = DefaultBodyLimit::max(link.frame_bytes / 3 * 4 + MARGIN_BYTES); // room for base64
        let app = Router::new().route(&format!("/{}", link.name), B::route()).layer(limit).with_state(sender);
        let no_delay = self.no_delay;
        let listener = listener.tap_io(move |connection| {
            if let Some(no_delay) = no_delay {
                drop(connection.set_nodelay(no_delay)); // fails only if the connection has ended
            }
        });
        let bound = match &self.tls {
            None => RunningServer::start(self.runtime.clone(), listener, app),
            Some((_, config)) => {
                let listener = TlsListener::start(listener, config.clone()).context("accepting TLS connections")?;
                RunningServer::start(self.runtime.clone(), listener, app)
            }
        };
        let address = format!("{}:{port}", self.setup.advertised);
        Ok(Box::new(QueuedServer { requests, bound, address, runtime: self.runtime.clone() }))
    }

    fn connect<B: Body>(&self, link: &Link) -> Result<Box<dyn Client>> {
        let mut client = reqwest::Client::builder().no_proxy();
        client = if self.is_http2 { client.http2_prior_knowledge() } else { client.http1_only() };
        if let Some(no_delay) = self.no_delay {
            client = client.tcp_nodelay(no_delay);
        }
        let (scheme, config) = match &self.tls {
            None => ("http", hopmeter_tls::trusting_nobody()?),
            Some((config, _)) => ("https", config.clone()),
        };
        let client = client.tls_backend_preconfigured(config).build().context("preparing a client of reqwest")?;
        let url = format!("{scheme}://{}/{}", link.address, link.name);
        Ok(Box::new(CallClient::<B> {
            calls: Calls::new(self.runtime.clone()),
            client,
            url,
            keep_alive: self.keep_alive,
        }))
    }
}

impl Transport for Http {
    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        if self.is_json { self.bind::<Timing>(link) } else { self.bind::<Bytes>(link) }
    }

    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        if self.is_json { self.connect::<Timing>(link) } else { self.connect::<Bytes>(link) }
    }

    fn facts(&self) -> Vec<(String, String)> {
        let version = if self.is_http2 { "HTTP/2" } else { "HTTP/1.1" };
        let above = if self.tls.is_some() { "TLS over " } else { "" };
        vec![("path".into(), format!("{version} over {above}TCP on {}", self.setup.network_device()))]
    }
}

struct CallClient<B> {
    calls: Calls<B>,
    client: reqwest::Client,
    url: String,
    keep_alive: bool,
}

impl<B: Body> Client for CallClient<B> {
    fn start(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let mut request = self.client.post(&self.url);
        if !self.keep_alive {
            request = request.header(CONNECTION, "close");
        }
        let request = B::write(payload_bytes, fill).put(request);
        self.calls.start(async move {
            let reply = request.send().await.and_then(reqwest::Response::error_for_status).ok()?;
            B::read(reply).await.ok()
        });
        Ok(Sent::Accepted)
    }

    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        Ok(self.calls.poll(timeout, take))
    }
}

/// A server that runs until this value is dropped.
struct RunningServer {
    runtime: Runtime,
    stop: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<std::io::Result<()>>>,
}

impl RunningServer {
    fn start<L: Listener<Addr = SocketAddr>>(runtime: Runtime, listener: L, app: Router) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = axum::serve(listener, app).with_graceful_shutdown(async move { drop(stopped.await) });
        let task = runtime.spawn(async move { serving.await });
        Self { runtime, stop: Some(stop), task: Some(task) }
    }
}

impl Drop for RunningServer {
    /// The server does not wait for a client that stays connected.
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(mut task) = self.task.take() {
            if self.runtime.wait_for(Duration::from_secs(1), &mut task).is_none() {
                task.abort();
            }
        }
    }
}

fn main() -> ExitCode {
    let version = || format!("axum {}, reqwest {}", library_version!("axum"), library_version!("reqwest"));
    node::main("http", "rust", Http::open, version)
}
