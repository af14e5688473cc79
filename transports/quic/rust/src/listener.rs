//! The endpoint of a publisher or a server, to which its peers connect.

use std::future::Future;
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use hopmeter_tokio::Runtime;
use quinn::{Connection, Endpoint};

use crate::{Quic, identity};

/// How long an endpoint waits until its peers know that it has closed.
const CLOSING: Duration = Duration::from_millis(100);

pub struct Listener {
    pub address: String,
    pub runtime: Runtime,
    endpoint: Endpoint,
}

impl Listener {
    /// Binds a UDP port. `admit` handles each connection, in a task of its own.
    pub fn open<F>(quic: &Quic, admit: impl Fn(Connection) -> F + Clone + Send + 'static) -> Result<Self>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (mut config, certificate) = identity::create()?;
        config.transport_config(quic.options.clone());
        let runtime = quic.runtime.clone();
        let in_runtime = runtime.enter();
        let endpoint = Endpoint::server(config, (quic.setup.bind, 0).into()).context("binding a UDP port")?;
        drop(in_runtime);
        let port = endpoint.local_addr().context("asking which port was bound")?.port();
        runtime.spawn(accept_all(endpoint.clone(), admit));
        Ok(Self { address: format!("{}:{port}/{certificate}", quic.setup.advertised), runtime, endpoint })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        close(&self.runtime, &self.endpoint);
    }
}

/// Accepts connections until the endpoint is closed. If a peer begins a handshake but does not continue it, the other
/// peers do not wait.
async fn accept_all<F>(endpoint: Endpoint, admit: impl Fn(Connection) -> F + Clone + Send + 'static)
where
    F: Future<Output = ()> + Send + 'static,
{
    while let Some(incoming) = endpoint.accept().await {
        let admit = admit.clone();
        tokio::spawn(async move {
            if let Ok(connection) = incoming.await {
                admit(connection).await;
            }
        });
    }
}

/// Closes all connections of an endpoint and tells the peers.
pub fn close(runtime: &Runtime, endpoint: &Endpoint) {
    endpoint.close(0_u32.into(), b"closed");
    runtime.wait_for(CLOSING, endpoint.wait_idle());
}
