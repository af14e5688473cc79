//! Accepts encrypted connections for axum.

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::serve::Listener;
use rustls::ServerConfig;
use tokio::net::TcpStream;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A listener that returns connections whose TLS handshake has succeeded. Each handshake runs in its own task, so that
/// a slow client does not delay other clients.
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
            loop {
                let (connection, peer) = listener.accept().await;
                let (greeting, sender) = (acceptor.accept(connection), sender.clone());
                tokio::spawn(async move {
                    // A failed handshake ends the connection. Sending fails only if the server has ended.
                    if let Ok(encrypted) = greeting.await {
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
