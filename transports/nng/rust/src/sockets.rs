//! Creates sockets that bind, connect and send.

use hopmeter_instrument::prelude::*;
use nng::options::transport::tcp::BoundPort;
use nng::options::{Options, RecvMaxSize};
use nng::{Listener, Message, Protocol, Socket};
use serde::Deserialize;

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
        match self {
            Self::Ipc => "Unix sockets".into(),
            Self::Tcp => format!("tcp on {}", setup.network_device()),
            Self::Inproc => "memory of this process".into(),
        }
    }

    fn url(self, setup: &Setup, link: &Link) -> String {
        match self {
            Self::Ipc => format!("ipc://{}/{}.nng", setup.directory.display(), link.name),
            Self::Tcp => format!("tcp://{}:0", setup.bind),
            Self::Inproc => process_url() + &link.name,
        }
    }
}

fn process_url() -> String {
    format!("inproc://hopmeter/{}/", std::process::id())
}

/// The maximum number of bytes that nng adds to a frame, for call ids.
const ENVELOPE_BYTES: usize = 256;

pub fn open(protocol: Protocol, link: &Link) -> Result<Socket> {
    let socket = Socket::new(protocol).context("opening a socket of nng")?;
    // nng closes a connection after a larger message; the default limit is 1 MiB.
    let most = link.frame_bytes + ENVELOPE_BYTES;
    socket.set_opt::<RecvMaxSize>(most).context("setting the limit of received messages")?;
    Ok(socket)
}

/// Binds a socket. Returns the socket's address.
pub fn bind(socket: &Socket, setup: &Setup, link: &Link) -> Result<String> {
    let endpoint: Endpoint = setup.setting("endpoint")?;
    let url = endpoint.url(setup, link);
    let listener = Listener::new(socket, &url).context(format!("listening at {url}")).map_err(|error| {
        error.remedy("set TMPDIR to a folder with a shorter path, if the socket's path is longer than 100 characters")
    })?;
    let Endpoint::Tcp = endpoint else { return Ok(url) };
    let port = listener.get_opt::<BoundPort>().context("asking nng for its port")?;
    Ok(format!("tcp://{}:{port}", setup.advertised))
}

/// Waits for the connection. If the connection breaks later, nng reconnects.
pub fn connect(socket: &Socket, link: &Link) -> Result<()> {
    if link.address.starts_with("inproc:") && !link.address.starts_with(&process_url()) {
        let what = format!("inproc connects only ends of one process, but the other end of {} is outside", link.name);
        return Err(Error::new(what).remedy("use placement = \"thread\", or endpoint = \"ipc\""));
    }
    socket.dial(&link.address).context(format_args!("connecting to {}", link.address))
}

/// Lets `fill` write a frame into a message that nng allocates.
pub fn frame(payload_bytes: usize, fill: Fill<'_>) -> Message {
    let mut message = Message::with_zeros(HEADER_BYTES + payload_bytes);
    fill.write(FrameMut::split(&mut message));
    message
}

/// Converts the result of a send, which is busy if nng cannot send without waiting or if the wait timed out.
pub fn send_outcome(answer: std::result::Result<(), (Message, nng::Error)>) -> Result<Sent> {
    match answer {
        Ok(()) => Ok(Sent::Accepted),
        Err((_frame, nng::Error::TryAgain | nng::Error::TimedOut)) => Ok(Sent::Busy),
        Err((_frame, cause)) => Err(Error::new("sending with nng").because(cause)),
    }
}
