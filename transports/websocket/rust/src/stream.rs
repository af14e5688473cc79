//! The byte stream below the WebSocket protocol: a socket, with TLS above it if the connection is encrypted. The caller
//! chooses for each call whether the socket may block.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use hopmeter_streams::waiting::{ReceiveTimeout, wait_ready};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, send, sendmsg};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection};

/// The time limit of the opening handshakes of TLS and WebSocket.
const LONGEST_GREETING: Duration = Duration::from_secs(5);
const AT_ONCE: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);

/// The TLS configurations of clients and servers. Both are `None` if connections are not encrypted.
#[derive(Clone)]
pub struct Encryption {
    client: Option<Arc<ClientConfig>>,
    server: Option<Arc<ServerConfig>>,
}

impl Encryption {
    pub fn read(setup: &Setup) -> Result<Self> {
        let client = hopmeter_tls::client(setup)?.map(Arc::new);
        Ok(Self { client, server: hopmeter_tls::server(setup)?.map(Arc::new) })
    }

    pub fn is_on(&self) -> bool {
        self.client.is_some()
    }

    /// Returns the stream of a client whose server has the address `HOST:PORT`.
    pub fn client_stream(&self, socket: OwnedFd, address: &str) -> Result<Stream> {
        let Some(config) = &self.client else { return Stream::for_handshake(socket, None) };
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host).to_owned();
        let name = ServerName::try_from(host).context("reading the server's address")?;
        let tls = ClientConnection::new(config.clone(), name).context("preparing TLS")?;
        Stream::for_handshake(socket, Some(tls.into()))
    }

    /// Returns the stream of a server.
    pub fn server_stream(&self, socket: OwnedFd) -> Result<Stream> {
        let Some(config) = &self.server else { return Stream::for_handshake(socket, None) };
        let tls = ServerConnection::new(config.clone()).context("preparing TLS")?;
        Stream::for_handshake(socket, Some(tls.into()))
    }
}

pub struct Stream {
    pub socket: Socket,
    tls: Option<Box<rustls::Connection>>,
}

impl Stream {
    fn for_handshake(socket: OwnedFd, tls: Option<rustls::Connection>) -> Result<Self> {
        ReceiveTimeout::default().set(&socket, LONGEST_GREETING)?;
        let socket = Socket { raw: socket, waits: true, patience: Some(LONGEST_GREETING) };
        Ok(Self { socket, tls: tls.map(Box::new) })
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return self.socket.read(into) };
        loop {
            match tls.reader().read(into) {
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => {}
                // The peer has closed the connection without closing TLS. The WebSocket protocol detects such an end.
                Err(cause) if cause.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                read => return read,
            }
            tls.read_tls(&mut self.socket)?;
            let processed = tls.process_new_packets();
            // Sends the next part of the handshake, or an alert if the handshake failed. If the peer is slow, the
            // unsent bytes are sent with the next message.
            unless_waiting(send_unsent(tls, &mut self.socket))?;
            processed.map_err(|cause| io::Error::new(ErrorKind::InvalidData, cause))?;
        }
    }
}

impl Write for Stream {
    /// Encrypts bytes, and sends as many as the peer accepts. rustls stores the others until the next call or `flush`.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return self.socket.write(bytes) };
        send_unsent(tls, &mut self.socket)?;
        let taken = tls.writer().write(bytes)?;
        unless_waiting(send_unsent(tls, &mut self.socket))?;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.tls.as_mut().map_or(Ok(()), |tls| send_unsent(tls, &mut self.socket))
    }
}

impl Drop for Stream {
    /// Closes TLS without waiting. The peer may already have disconnected.
    fn drop(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            self.socket.patience = None;
            let _ = send_unsent(tls, &mut self.socket);
        }
    }
}

fn send_unsent(tls: &mut rustls::Connection, socket: &mut Socket) -> io::Result<()> {
    while tls.wants_write() {
        tls.write_tls(socket)?;
    }
    Ok(())
}

fn unless_waiting(sent: io::Result<()>) -> io::Result<()> {
    sent.or_else(|cause| if cause.kind() == ErrorKind::WouldBlock { Ok(()) } else { Err(cause) })
}

/// A socket that never waits long for a slow peer.
pub struct Socket {
    pub raw: OwnedFd,
    /// Whether a read may sleep, at most for the time that `SO_RCVTIMEO` sets.
    pub waits: bool,
    /// How long a write waits until the socket accepts bytes.
    pub patience: Option<Duration>,
}

impl Socket {
    fn send(&self, try_to_send: impl Fn() -> rustix::io::Result<usize>) -> io::Result<usize> {
        match (try_to_send(), self.patience) {
            (Err(Errno::AGAIN), Some(patience)) => {
                wait_ready(&mut [PollFd::new(&self.raw, PollFlags::OUT)], patience).map_err(io::Error::other)?;
                Ok(try_to_send()?)
            }
            (sent, _) => Ok(sent?),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let flags = if self.waits { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
        match recv(&self.raw, into, flags) {
            Ok((_, bytes)) => Ok(bytes),
            // tungstenite would treat an interruption by a signal as the end of the stream.
            Err(Errno::INTR) => Err(ErrorKind::WouldBlock.into()),
            Err(cause) => Err(cause.into()),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.send(|| send(&self.raw, bytes, AT_ONCE))
    }

    /// Sends several TLS records with one system call.
    fn write_vectored(&mut self, records: &[IoSlice<'_>]) -> io::Result<usize> {
        self.send(|| sendmsg(&self.raw, records, &mut SendAncillaryBuffer::default(), AT_ONCE))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
