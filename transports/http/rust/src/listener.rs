//! Accepts encrypted connections for axum.

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use rustls::ServerConfig;
use tokio::net::TcpStream;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The time limit of a TLS handshake.
const LONGEST_GREETING: Duration = Duration::from_secs(5);

/// A listener that returns connections whose TLS handshake has succeeded. Each handshake runs in its own task, so that
/// a slow client does not delay other clients. The handshakes end with the listener.
pub struct TlsListener {
    address: SocketAddr,
    accepted: UnboundedReceiver<(TlsStream<TcpStream>, SocketAddr)>,
    task: AbortHandle,
}

impl TlsListener {
    /// Starts to accept connections, in a task of the current runtime. Must be called in a runtime.
    pub fn start<L>(mut listener: L, config: ServerConfig) -> io::Result<Self>
    where
        L: Listener<Io = TcpStream, Addr = SocketAddr>,
    {
        let (sender, accepted) = mpsc::unbounded_channel();
        let (address, acceptor) = (listener.local_addr()?, TlsAcceptor::from(Arc::new(config)));
        let task = tokio::spawn(async move {
            let mut handshakes = JoinSet::new();
            loop {
                let (connection, peer) = listener.accept().await;
                while handshakes.try_join_next().is_some() {}
                let (greeting, sender) = (timeout(LONGEST_GREETING, acceptor.accept(connection)), sender.clone());
                handshakes.spawn(async move {
                    // A failed handshake ends the connection. Sending fails only if the server has ended.
                    if let Ok(Ok(encrypted)) = greeting.await {
                        let _ = sender.send((encrypted, peer));
                    }
                });
            }
        });
        Ok(Self { address, accepted, task: task.abort_handle() })
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.accepted.recv().await {
            Some(connection) => connection,
            None => pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}

impl Drop for TlsListener {
    fn drop(&mut self) {
        self.task.abort();
    }
}
