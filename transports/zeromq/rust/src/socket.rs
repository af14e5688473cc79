//! Sockets that bind, connect, send and receive.

use std::ffi::c_void;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use serde::Deserialize;
use zmq::SocketType;

use crate::message::{Message, check};
use crate::pool::{LEAST_BYTES, Pool};

/// The kind of address that connects the ends of a link.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Endpoint {
    Ipc,
    Tcp,
    Inproc,
}

impl Endpoint {
    /// Returns how the bytes travel, which the result reports as the fact `path`.
    pub fn path(self, setup: &Setup) -> String {
        let route = match self {
            Self::Ipc => "Unix sockets".into(),
            Self::Tcp => format!("TCP on {}", setup.network_device()),
            Self::Inproc => return "memory of this process".into(),
        };
        if is_secure(setup).unwrap_or_default() { format!("{route} with CURVE") } else { route }
    }
}

/// How many bytes a message may have beyond the largest frame, for CURVE's handshake and CURVE's additions.
const CURVE_BYTES: usize = 1024;

/// Returns whether connections use CURVE, which encrypts messages.
pub fn is_secure(setup: &Setup) -> Result<bool> {
    Ok(setup.setting::<String>("security")? == "curve")
}

/// The prefix of all addresses within this process.
fn process_url() -> String {
    format!("inproc://{}/", std::process::id())
}

/// A ZeroMQ socket: a publisher (PUB), a subscriber (SUB), a client (DEALER), or the socket of a server (ROUTER).
pub struct Socket {
    socket: zmq::Socket,
    _file: Option<SocketFile>,
    pub address: String,
    pool: Pool,
    spins: bool,
    timeout_ms: i32,
}

impl Socket {
    pub fn open(context: &zmq::Context, kind: SocketType, setup: &Setup, link: &Link) -> Result<Self> {
        let socket = context.socket(kind).context("opening a socket of ZeroMQ")?;
        let message_bytes = link.frame_bytes + if is_secure(setup)? { CURVE_BYTES } else { 0 };
        prepare(&socket, setup.setting("hwm")?, message_bytes).context("preparing a socket of ZeroMQ")?;
        let (pool, spins) = (Pool::new(link.frame_bytes), link.wait == Wait::Spin);
        Ok(Self { socket, _file: None, address: String::new(), pool, spins, timeout_ms: -1 })
    }

    /// Returns the socket of the crate zmq, on which options for a single kind of socket can be set.
    pub fn raw(&self) -> &zmq::Socket {
        &self.socket
    }

    /// Sets whether a publisher with a full queue refuses messages; the crate zmq has no function for this option.
    pub fn set_nodrop(&mut self, nodrop: bool) -> zmq::Result<()> {
        let value = i32::from(nodrop);
        let (option, size) = (zmq_sys::ZMQ_XPUB_NODROP as i32, size_of_val(&value));
        let place = (&raw const value).cast::<c_void>();
        // SAFETY: the socket is open, and ZeroMQ copies the value.
        check(unsafe { zmq_sys::zmq_setsockopt(self.socket.as_mut_ptr(), option, place, size) })
    }

    pub fn bind(mut self, setup: &Setup, link: &Link) -> Result<Self> {
        if is_secure(setup)? {
            self.socket.set_curve_server(true).context("setting up CURVE")?;
            self.socket.set_curve_secretkey(&setup.read_credential("server.secret")?).context("setting up CURVE")?;
        }
        let file = setup.directory.join(format!("{}.zmq", link.name));
        let endpoint: Endpoint = setup.setting("endpoint")?;
        let url = match endpoint {
            Endpoint::Ipc => format!("ipc://{}", file.display()),
            Endpoint::Tcp => format!("tcp://{}:*", setup.bind),
            Endpoint::Inproc => process_url() + &link.name,
        };
        self.socket.bind(&url).map_err(|cause| {
            let error = Error::new(format!("binding {url}")).because(cause);
            let is_long = cause == zmq::Error::ENAMETOOLONG;
            if is_long { error.remedy("set TMPDIR to a folder with a shorter path") } else { error }
        })?;
        self._file = matches!(endpoint, Endpoint::Ipc).then_some(SocketFile(file));
        self.address = self.reachable(endpoint, setup, url)?;
        Ok(self)
    }

    /// Returns the address at which peers reach a bound socket.
    fn reachable(&self, endpoint: Endpoint, setup: &Setup, url: String) -> Result<String> {
        let Endpoint::Tcp = endpoint else { return Ok(url) };
        let bound = self.socket.get_last_endpoint().context("asking ZeroMQ for its port")?.unwrap_or_default();
        let port = bound.rsplit(':').next().unwrap_or_default();
        Ok(format!("tcp://{}:{port}", setup.advertised))
    }

    pub fn connect(self, setup: &Setup, link: &Link) -> Result<Self> {
        if link.address.starts_with("inproc:") && !link.address.starts_with(&process_url()) {
            let what =
                format!("inproc connects only ends of one process, but the other end of {} is outside", link.name);
            return Err(Error::new(what).remedy("use placement = \"thread\", or endpoint = \"ipc\""));
        }
        if is_secure(setup)? {
            self.socket.set_curve_serverkey(&setup.read_credential("server.public")?).context("setting up CURVE")?;
            self.socket.set_curve_publickey(&setup.read_credential("client.public")?).context("setting up CURVE")?;
            self.socket.set_curve_secretkey(&setup.read_credential("client.secret")?).context("setting up CURVE")?;
        }
        self.socket.connect(&link.address).context(format_args!("connecting to {}", link.address))?;
        Ok(self)
    }

    /// Sends a new frame. If there is a route, sends the route before the frame.
    pub fn send_after(&mut self, route: Option<&Message>, payload_bytes: usize, fill: Fill<'_>) -> zmq::Result<Sent> {
        let Some(mut message) = self.allocate(HEADER_BYTES + payload_bytes)? else { return Ok(Sent::Busy) };
        fill.write(FrameMut::split(message.bytes_mut()));
        self.dispatch(message, route)
    }

    /// Sends a reference to a received message. If there is a route, sends the route before the message.
    pub fn forward_after(&mut self, route: Option<&Message>, message: &Message) -> zmq::Result<Sent> {
        self.dispatch(message.share()?, route)
    }

    fn allocate(&self, bytes: usize) -> zmq::Result<Option<Message>> {
        if bytes < LEAST_BYTES {
            return Message::with_bytes(bytes).map(Some);
        }
        self.pool.take().map(|frame| Message::in_frame(frame, bytes)).transpose()
    }

    /// Sends a copy of the route and then the message. The original route stays available, because a reply that was
    /// busy is sent again later with this route.
    fn dispatch(&mut self, mut message: Message, route: Option<&Message>) -> zmq::Result<Sent> {
        let routed = route.map_or(Ok(()), |route| route.share()?.send(&mut self.socket, true));
        match routed.and_then(|()| message.send(&mut self.socket, false)) {
            Ok(()) => Ok(Sent::Accepted),
            Err(zmq::Error::EAGAIN) => Ok(Sent::Busy),
            Err(cause) => Err(cause),
        }
    }

    /// Returns the next message, or `None` after `timeout`.
    pub fn receive(&mut self, timeout: Duration) -> Result<Option<Message>> {
        if !self.spins {
            self.set_timeout(timeout).context("setting the receive timeout")?;
        }
        let mut message = Message::empty().context("receiving with ZeroMQ")?;
        match message.receive(&mut self.socket, if self.spins { zmq::DONTWAIT } else { 0 }) {
            Ok(()) => Ok(Some(message)),
            Err(zmq::Error::EAGAIN | zmq::Error::EINTR) => Ok(None),
            Err(cause) => Err(Error::new("receiving with ZeroMQ").because(cause)),
        }
    }

    /// Sets the time limit of receiving, but only if the limit has changed, which is rare.
    fn set_timeout(&mut self, timeout: Duration) -> zmq::Result<()> {
        let ms = i32::try_from(timeout.as_micros().div_ceil(1000)).unwrap_or(i32::MAX);
        if ms != self.timeout_ms {
            self.socket.set_rcvtimeo(ms)?;
            self.timeout_ms = ms;
        }
        Ok(())
    }
}

/// Sets the options that a socket of any type needs. ZeroMQ closes a connection after a message above the size limit.
fn prepare(socket: &zmq::Socket, hwm: i32, message_bytes: usize) -> zmq::Result<()> {
    socket.set_sndhwm(hwm)?;
    socket.set_rcvhwm(hwm)?;
    socket.set_linger(0)?;
    socket.set_maxmsgsize(message_bytes as i64)
}

/// The file of an `ipc` socket. This type removes the file when it is dropped, because ZeroMQ removes only files that
/// it has named itself.
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
