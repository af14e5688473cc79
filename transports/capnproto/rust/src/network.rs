//! Connections: each has a two-party RPC system.

use std::future::Future;
use std::os::fd::OwnedFd;
use std::time::Duration;

use capnp::capability::{Client, FromClientHook};
use capnp::message::ReaderOptions;
use capnp_rpc::rpc_twoparty_capnp::Side;
use capnp_rpc::{RpcSystem, twoparty::VatNetwork};
use futures_util::io::{AsyncReadExt, BufReader, BufWriter};
use hopmeter_instrument::prelude::*;
use hopmeter_streams::{Endpoint, Listener};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::compat::TokioAsyncReadCompatExt;

/// More bytes than a call adds to its frame.
const MARGIN_BYTES: usize = 4096;
const WORD_BYTES: usize = 8;
/// How long a listener waits after a failed attempt to accept a connection.
const PAUSE: Duration = Duration::from_millis(10);

/// The options of all connections of a node.
#[derive(Clone)]
pub struct Network {
    pub endpoint: Endpoint,
    largest_frame_bytes: usize,
    window_bytes: usize,
}

impl Network {
    pub fn read(setup: &Setup) -> Result<Self> {
        let (endpoint, window_bytes) = (Endpoint::read(setup, "capnp")?, setup.setting("window_bytes")?);
        Ok(Self { endpoint, largest_frame_bytes: setup.largest_frame_bytes, window_bytes })
    }

    /// Creates the RPC system of a connection. Reading a message larger than the traversal limit is an error, which
    /// ends the connection before the message's memory is allocated.
    fn system(&self, stream: impl AsyncRead + AsyncWrite + 'static, side: Side, offer: Option<Client>) -> System {
        let mut options = ReaderOptions::new();
        options.traversal_limit_in_words(Some((self.largest_frame_bytes + MARGIN_BYTES) / WORD_BYTES));
        let (reader, writer) = TokioAsyncReadCompatExt::compat(Box::pin(stream)).split();
        let mut network = VatNetwork::new(BufReader::new(reader), BufWriter::new(writer), side, options);
        network.set_window_size(self.window_bytes);
        RpcSystem::new(Box::new(network), offer)
    }

    /// Serves each connection in a separate task, until the future is dropped.
    pub async fn serve(self, socket: OwnedFd, offer: Client) {
        let mut connections = JoinSet::new();
        let Ok(listener) = Accepting::from(socket, self.endpoint.is_unix()) else { return };
        loop {
            let accepted = match &listener {
                Accepting::Tcp(listener) => {
                    listener.accept().await.map(|(it, _)| self.system(it, Side::Server, Some(offer.clone())))
                }
                Accepting::Unix(listener) => {
                    listener.accept().await.map(|(it, _)| self.system(it, Side::Server, Some(offer.clone())))
                }
            };
            while connections.try_join_next().is_some() {}
            match accepted {
                Ok(system) => drop(connections.spawn_local(system)),
                Err(_) => sleep(PAUSE).await, // the process may have too many open files
            }
        }
    }

    /// Returns the capability that the peer offers, and the system of the connection, which must be polled.
    pub fn connect<C: FromClientHook>(&self, socket: OwnedFd) -> std::io::Result<(C, impl Future + use<C>)> {
        let mut system = if self.endpoint.is_unix() {
            let stream = std::os::unix::net::UnixStream::from(socket);
            stream.set_nonblocking(true)?;
            self.system(UnixStream::from_std(stream)?, Side::Client, None)
        } else {
            let stream = std::net::TcpStream::from(socket);
            stream.set_nonblocking(true)?;
            self.system(TcpStream::from_std(stream)?, Side::Client, None)
        };
        Ok((system.bootstrap(Side::Server), system))
    }

    pub fn listen(&self, link: &Link) -> Result<Listener> {
        self.endpoint.listen(link)
    }
}

type System = RpcSystem<Side>;

enum Accepting {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Accepting {
    fn from(socket: OwnedFd, is_unix: bool) -> std::io::Result<Self> {
        Ok(if is_unix {
            Self::Unix(UnixListener::from_std(socket.into())?)
        } else {
            Self::Tcp(TcpListener::from_std(socket.into())?)
        })
    }
}
