//! The adapter for QUIC, with quinn: frames on streams or in datagrams, over UDP and with TLS 1.3. `../README.md`
//! describes the wire format.

mod calls;
mod identity;
mod listener;
mod options;
mod topics;

use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use hopmeter_tokio::Runtime;
use quinn::{Connection, Endpoint, TransportConfig};

use calls::{CallClient, open_server};
use topics::{FrameReader, TopicPublisher, TopicSubscriber};

const LONGEST_HANDSHAKE: Duration = Duration::from_secs(10);

/// The thread that runs quinn, and the UDP socket through which all connecting link ends of the node connect.
pub struct Quic {
    setup: Setup,
    runtime: Runtime,
    options: Arc<TransportConfig>,
    connecting: Endpoint,
    has_datagrams: bool,
}

impl Quic {
    fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
        let runtime = Runtime::start("quic", 1)?;
        let in_runtime = runtime.enter();
        let connecting = Endpoint::client((Ipv4Addr::UNSPECIFIED, 0).into()).context("binding a UDP port")?;
        drop(in_runtime);
        let options = Arc::new(options::read(setup)?);
        let has_datagrams = setup.setting("datagrams")?;
        Ok(Arc::new(Self { setup: setup.clone(), runtime, options, connecting, has_datagrams }))
    }

    fn connect(&self, link: &Link) -> Result<Connection> {
        let (place, certificate) = link.address.split_once('/').unwrap_or((&link.address, ""));
        let mut config = identity::pin(certificate)?;
        config.transport_config(self.options.clone());
        let peer = place.parse().context(format!("reading the address {place}"))?;
        let connecting = async {
            let started = self.connecting.connect_with(config, peer, identity::NAME);
            started.context("preparing a connection")?.await.context(format!("connecting to {place}"))
        };
        let connected = self.runtime.wait_for(LONGEST_HANDSHAKE, connecting);
        connected.unwrap_or_else(|| Err(Error::new(format!("no QUIC handshake with {place} in 10 s"))))
    }

    fn read(&self, link: &Link) -> Result<FrameReader> {
        Ok(FrameReader::new(self.connect(link)?, link.frame_bytes, self.has_datagrams))
    }
}

impl Transport for Quic {
    fn publisher(&self, _: &Link) -> Result<Box<dyn Publisher>> {
        Ok(Box::new(TopicPublisher::open(self)?))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        Ok(Box::new(TopicSubscriber { runtime: self.runtime.clone(), frames: self.read(link)? }))
    }

    fn subscribe(&self, link: &Link, on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
        Ok(Box::new(self.runtime.call(self.read(link)?.call(on_frame))))
    }

    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        open_server(self, link)
    }

    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        Ok(Box::new(CallClient::new(self.runtime.clone(), self.connect(link)?, link.frame_bytes)))
    }

    fn facts(&self) -> Vec<(String, String)> {
        let carrier = if self.has_datagrams { "datagrams" } else { "streams" };
        vec![("path".into(), format!("QUIC {carrier} over UDP on {}", self.setup.network_device()))]
    }
}

impl Drop for Quic {
    fn drop(&mut self) {
        listener::close(&self.runtime, &self.connecting);
    }
}

fn main() -> ExitCode {
    node::main("quic", "rust", Quic::open, || format!("quinn {}", library_version!("quinn")))
}
