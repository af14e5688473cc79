//! The adapter contract: what a transport must provide to the instrument.
//!
//! An adapter only moves frames; the instrument implements roles, clocks and statistics, and knows no transport by
//! name. The documentation of every method states who owns the bytes, whether the method may wait, and which thread
//! calls it.

use std::cell::Cell;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::frame::HEADER_BYTES;
use crate::spec::{MessageType, PayloadKind, Wait};

pub use crate::loan::*;

/// The transport's response to a request to send a frame. If the transport later drops the frame silently, the frame
/// counts as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The transport accepted the frame.
    Accepted,
    /// The transport cannot accept the frame without waiting, because its queue is full or no slot is free. After
    /// `Busy`, the role tries to send the message again.
    Busy,
}

/// A payload in the caller's memory, which the transport may read until the last clone of this value is dropped.
pub type Shared = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A function that accepts received frames, and may use the frames' bytes only until it returns.
pub type Take<'a> = &'a mut dyn FnMut(Received<'_>);

/// Like [`OnFrame`], but for requests. The handler may block, so the transport uses a separate thread or executor for
/// each link that it serves.
pub type OnRequest = Box<dyn FnMut(Received<'_>, &mut dyn Replier) + Send>;

/// A transport's settings and the environment in which it runs. Values that differ between links are in [`Link`].
#[derive(Clone, Debug)]
pub struct Setup {
    /// The run's name, which no other run on this machine has. The name of every object that an adapter creates outside
    /// `directory` must contain the run's name.
    pub run: String,
    /// A private directory for this trial's socket files, with a short path. The launcher removes the directory.
    pub directory: PathBuf,
    /// The address of the transport's broker, in the manifest's format. Empty if the transport has no broker.
    pub broker: String,
    /// The address that link ends listen on: the loopback address, unless nodes run on several machines. The address
    /// 0.0.0.0 means all network interfaces.
    pub bind: Ipv4Addr,
    /// The address at which nodes on other machines reach this node. The address of a link end must contain this IPv4
    /// address. A transport that discovers its peers uses the network device with this address.
    pub advertised: Ipv4Addr,
    /// All settings of the manifest. Settings that the scenario does not set have their default values.
    pub settings: serde_json::Map<String, serde_json::Value>,
    /// The size in bytes of the largest frame on any link of this process, including the header.
    pub largest_frame_bytes: usize,
}

impl Setup {
    /// Returns a description of the transport's network device, for the transport's facts.
    pub fn network_device(&self) -> String {
        if self.advertised.is_loopback() {
            "the loopback device".into()
        } else {
            format!("the device of {}", self.advertised)
        }
    }

    /// Returns the value of a setting, in the type that the adapter requests.
    ///
    /// # Errors
    ///
    /// Fails if the manifest does not have the setting, or if its value has a different type.
    pub fn setting<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T> {
        let value = self.settings.get(name).ok_or_else(|| {
            Error::new(format!("the setting `{name}` is unknown"))
                .remedy("declare it under [settings] in transport.toml")
        })?;
        serde_json::from_value(value.clone()).map_err(|cause| {
            Error::new(format!("the setting `{name}` = {value} is not what the adapter expects")).because(cause)
        })
    }
}

/// A link, which carries messages over one hop. Exactly one link end, a publisher or a server, binds the link. All
/// other link ends connect to the address of the binding end.
#[derive(Clone, Debug)]
pub struct Link {
    /// The link's name, which is unique on this machine and consists of `[a-z0-9_]`. The name can be used as a topic,
    /// key, service or file name.
    pub name: String,
    /// The address of the link end that binds the link, in the transport's format; empty for the binding end itself.
    pub address: String,
    /// The number of receivers that connect before the first message is sent.
    pub receivers: u32,
    /// What the messages of this link represent. An adapter with typed carriage selects the message type that fits the
    /// payload kind.
    pub payload: PayloadKind,
    /// The size in bytes of the largest frame of this link, including the header.
    pub frame_bytes: usize,
    /// How this link end waits for messages; a client waits for replies. For a publisher, how the link's receivers
    /// wait; if some receivers use callbacks, how the polled receivers wait.
    pub wait: Wait,
    /// The transport's own message type for this link; `None` if the transport has no such types or the messages have
    /// no type.
    pub message: Option<MessageType>,
}

/// One transport in one process, shared by all endpoints of the node. Each endpoint calls the transport on a thread
/// that is pinned to the endpoint's core. Threads that the transport starts inherit the pinning.
pub trait Transport: Send + Sync {
    /// Returns the version of the transport's library, if a setting selects the library. If this method returns `None`,
    /// the result contains the version that the node reports.
    fn version(&self) -> Option<String> {
        None
    }

    /// Binds the sending end of a pubsub link. The call may block.
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        Err(Error::unsupported("publisher", &link.name))
    }

    /// Connects a receiving end that the instrument polls (`spin`, `block`). The call may block.
    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        Err(Error::unsupported("subscriber", &link.name))
    }

    /// Connects a receiving end that calls `on_frame` (`callback`). The call may block. Frames may arrive before
    /// `subscribe` returns.
    fn subscribe(&self, link: &Link, on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
        drop(on_frame);
        Err(Error::unsupported("subscribe", &link.name))
    }

    /// Binds the server side of an rpc link. The call may block.
    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        Err(Error::unsupported("server", &link.name))
    }

    /// Connects the client side of an rpc link. The call may block.
    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        Err(Error::unsupported("client", &link.name))
    }

    /// Returns facts that are known only after the run, such as how the bytes travelled: (`path`, `shared memory`).
    /// The instrument calls `facts` once, after the last message.
    fn facts(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// The sending end of a pubsub link. Only one thread at a time uses a link end, but the thread may change between
/// calls.
pub trait Publisher: Send {
    /// Returns the address at which receivers find this link end. The default is an empty address, for transports whose
    /// receivers need only the link's name.
    fn address(&self) -> String {
        String::new()
    }

    /// Sends one frame of `HEADER_BYTES + payload_bytes`, which `fill` writes to the transport's memory. The method
    /// must not block unless the manifest says `send = "blocking"`. The method may return `Busy` before or after it
    /// calls `fill`. If the method returns `Busy`, the frame is dropped and the role retries the message.
    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent>;

    /// Sends a payload from the caller's memory. The transport drops its clone of the payload when the transport no
    /// longer needs the bytes.
    fn send_parts(&mut self, header: &[u8; HEADER_BYTES], payload: &Shared) -> Result<Sent> {
        let bytes = (**payload).as_ref();
        let mut write = |frame: FrameMut<'_>| {
            frame.header.copy_from_slice(header);
            frame.payload.copy_from_slice(bytes);
        };
        self.send(bytes.len(), Fill::copied_message(&mut write))
    }

    /// Forwards a received frame unaltered. The received frame came from a link whose messages have the same payload.
    /// The default implementation copies the frame to a new loan (`forward = "copy"` in the manifest). If a transport
    /// can forward a reference, its adapter overrides this method and declares `forward = "move"`.
    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        copy_on(received, |payload_bytes, fill| self.send(payload_bytes, fill))
    }
}

impl<P: Publisher + ?Sized> Publisher for Box<P> {
    fn address(&self) -> String {
        (**self).address()
    }

    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        (**self).send(payload_bytes, fill)
    }

    fn send_parts(&mut self, header: &[u8; HEADER_BYTES], payload: &Shared) -> Result<Sent> {
        (**self).send_parts(header, payload)
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        (**self).forward(received)
    }
}

thread_local! {
    static COPIES: Cell<u64> = const { Cell::new(0) };
}

/// Returns how many payloads this thread has copied so far, in [`copy_on`] or in an adapter that counts its own copies.
/// The column `forward_copies_per_message` is computed from the number of copies.
pub fn copies_made() -> u64 {
    COPIES.get()
}

/// Counts a payload copy that the adapter itself makes, because its library copies only whole messages.
pub fn count_copy() {
    COPIES.set(COPIES.get() + 1);
}

/// Sends a copy of a received frame through `send`.
pub fn copy_on(received: &Received<'_>, send: impl FnOnce(usize, Fill<'_>) -> Result<Sent>) -> Result<Sent> {
    let mut write = |frame: FrameMut<'_>| {
        count_copy();
        frame.header.copy_from_slice(received.header);
        frame.payload.copy_from_slice(received.payload);
    };
    send(received.payload.len(), Fill::copied_message(&mut write))
}

/// A receiving end that the instrument polls. Only one thread at a time uses a subscriber.
pub trait Subscriber: Send {
    /// Calls `take` for each frame that has arrived, and returns the number of frames. If any frames are available, the
    /// method takes at least one. If the receiver waits with `spin`, the method checks once and does not sleep. If the
    /// receiver waits with `block`, the method sleeps in the transport until a frame arrives or about `timeout` has
    /// passed. The method may return early, or up to 100 ms late. The bytes of a frame are valid until `take` returns.
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize>;
}

impl<S: Subscriber + ?Sized> Subscriber for Box<S> {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        (**self).poll(timeout, take)
    }
}

/// A receiving end that calls a callback. Dropping a subscription waits until a running callback has returned, and no
/// callback starts after the drop.
pub trait Subscription: Send {}

/// The client side of an rpc link. Only one thread at a time uses a client.
pub trait Client: Send {
    /// Sends a request. The rules of [`Publisher::send`] apply.
    fn start(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent>;

    /// Forwards a received request unaltered, as a new call.
    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        copy_on(received, |payload_bytes, fill| self.start(payload_bytes, fill))
    }

    /// Calls `take` for each reply that has arrived. The rules of [`Subscriber::poll`] apply.
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize>;
}

/// Handles one request of a polled server.
pub type Handle<'a> = &'a mut dyn FnMut(Received<'_>, &mut dyn Replier);

/// The server side of an rpc link. Only one thread at a time uses a server.
pub trait Server: Send {
    /// Returns the address at which clients reach this server. See [`Publisher::address`].
    fn address(&self) -> String {
        String::new()
    }

    /// Calls `handle` for each request that has arrived. The rules of [`Subscriber::poll`] apply. The handler may
    /// block, and may call other servers before it replies.
    fn poll(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize>;

    /// Turns this polled server into a server that calls the handler on the transport's own thread (`callback`).
    fn serve(self: Box<Self>, on_request: OnRequest) -> Result<Box<dyn Subscription>> {
        drop(on_request);
        Err(Error::new("this transport's servers do not support callbacks").remedy("use wait = \"block\" or \"spin\""))
    }
}

/// Answers one request.
pub trait Replier {
    /// Sends the reply. The rules of [`Publisher::send`] apply.
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent>;

    /// Sends a received frame unaltered as the reply. The received frame is the request itself, or the reply of the
    /// next server. The rules of [`Publisher::forward`] apply.
    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        copy_on(received, |payload_bytes, fill| self.reply(payload_bytes, fill))
    }

    /// Returns a replier that any thread can use later, if the manifest says `reply = "deferred"`.
    fn defer(&mut self) -> Option<Box<dyn Replier + Send>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_made_and_counted_once() {
        let sent = [7; HEADER_BYTES + 3];
        let (mut frame, before) = (vec![0; sent.len()], copies_made());
        let copied = copy_on(&Received::split(&sent), |payload_bytes, fill| {
            assert_eq!(payload_bytes, 3);
            fill.write(FrameMut::split(&mut frame));
            Ok(Sent::Accepted)
        });
        assert!(matches!(copied, Ok(Sent::Accepted)));
        assert_eq!((&frame[..], copies_made() - before), (&sent[..], 1));
    }
}
