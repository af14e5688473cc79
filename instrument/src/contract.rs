//! The adapter contract: what a transport offers to the instrument.
//!
//! An adapter moves frames. An adapter knows no role, no clock and no statistic; the instrument knows no transport. The
//! documentation of every method states who owns the bytes, whether the method may wait, and which thread calls it.

use std::cell::Cell;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::frame::HEADER_BYTES;
use crate::spec::{MessageType, PayloadKind, Wait};

pub use crate::loan::*;

/// The answer of a transport to a frame that it should send. If the transport drops the frame silently later, the frame
/// counts as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The transport took the frame.
    Accepted,
    /// The transport cannot take the frame without waiting: its queue is full or no slot is free. The role offers the
    /// same message again.
    Busy,
}

/// Memory of the caller that the transport may read until the last clone of this value is dropped (send by parts).
pub type Shared = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A function that takes received frames. The function may use the bytes only until it returns.
pub type Take<'a> = &'a mut dyn FnMut(Received<'_>);

/// Like [`OnFrame`] for requests. The handler may block, so the transport uses a separate thread or executor for each
/// link that it serves.
pub type OnRequest = Box<dyn FnMut(Received<'_>, &mut dyn Replier) + Send>;

/// The settings of a transport and the environment in which it runs. What differs from one link to another is in
/// [`Link`].
#[derive(Clone, Debug)]
pub struct Setup {
    /// The name of this run on this machine; anything that an adapter creates outside `directory` has this name in its
    /// own name.
    pub run: String,
    /// A private folder of this trial with a short path, for socket files; the launcher removes it.
    pub directory: PathBuf,
    /// The address of the transport's broker, as the manifest writes it; empty if the transport has no broker.
    pub broker: String,
    /// The address on which link ends listen: that of the loopback device unless nodes run on several machines. May be
    /// 0.0.0.0, for all devices.
    pub bind: Ipv4Addr,
    /// The address at which nodes on other machines reach this one. It goes into the address of a link end, and a
    /// transport that finds its peers by itself uses the network device with this address.
    pub advertised: Ipv4Addr,
    /// Every setting of the manifest; settings that the scenario does not give have their defaults.
    pub settings: serde_json::Map<String, serde_json::Value>,
    /// The largest frame, header included, that will be sent over any link of this process.
    pub largest_frame_bytes: usize,
}

impl Setup {
    /// The network device that a transport uses, in words, for its facts.
    pub fn network_device(&self) -> String {
        if self.advertised.is_loopback() {
            "the loopback device".into()
        } else {
            format!("the device of {}", self.advertised)
        }
    }

    /// The value of a setting, in the type that the adapter requests.
    ///
    /// # Errors
    /// When the manifest does not name the setting, or its value has another type.
    pub fn setting<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T> {
        let value = self.settings.get(name).ok_or_else(|| {
            Error::new(format!("the setting `{name}` is unknown")).remedy("name it under [settings] in transport.toml")
        })?;
        serde_json::from_value(value.clone()).map_err(|cause| {
            Error::new(format!("the setting `{name}` = {value} is not what the adapter expects")).because(cause)
        })
    }
}

/// One hop. Exactly one end binds it (a publisher or a server); the others connect to the address of that end.
#[derive(Clone, Debug)]
pub struct Link {
    /// Unique on this machine, of `[a-z0-9_]` only: usable as a topic, key, service or file name.
    pub name: String,
    /// The address of the binding end, in the transport's notation; empty while the link is being bound.
    pub address: String,
    /// How many receivers connect before the first message.
    pub receivers: u32,
    /// What the messages of this link represent. An adapter with typed carriage chooses its message type by this value.
    pub payload: PayloadKind,
    /// The largest frame of this link, header included.
    pub frame_bytes: usize,
    /// How this end waits for messages, and a client for replies. At a publisher, how the receivers of the link wait; if
    /// some are called and others are polled, how the polled ones wait.
    pub wait: Wait,
    /// The type of the transport's own as which it carries the messages, if it can and the messages have one.
    pub message: Option<MessageType>,
}

/// One transport in one process, shared by all endpoints of the node. The endpoints' threads call the methods. Each of
/// these threads is pinned to its endpoint's core, and threads that a transport starts inherit the pinning.
pub trait Transport: Send + Sync {
    /// The version of the transport's library, for an adapter whose settings choose the library. Otherwise the version
    /// that the node reports applies.
    fn version(&self) -> Option<String> {
        None
    }

    /// Binds the sending end of a pubsub link. May wait.
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        Err(Error::unsupported("publisher", &link.name))
    }

    /// Connects a receiving end that is polled (`spin`, `block`). May wait.
    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        Err(Error::unsupported("subscriber", &link.name))
    }

    /// Connects a receiving end that is called (`callback`). May wait; frames may arrive before it returns.
    fn subscribe(&self, link: &Link, on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
        drop(on_frame);
        Err(Error::unsupported("subscribe", &link.name))
    }

    /// Binds the server side of an rpc link. May wait.
    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        Err(Error::unsupported("server", &link.name))
    }

    /// Connects the client side of an rpc link. May wait.
    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        Err(Error::unsupported("client", &link.name))
    }

    /// Facts that are known only after the run, such as the path that the bytes really took: (`path`, `shared memory`).
    /// Called once, after the last message.
    fn facts(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// The sending end of a pubsub link. Used from one thread at a time, which may change between calls.
pub trait Publisher: Send {
    /// Where receivers find this end. Empty by default: the link's name is enough.
    fn address(&self) -> String {
        String::new()
    }

    /// Sends one frame of `HEADER_BYTES + payload_bytes`. `fill` writes the frame into memory of the transport. Does
    /// not wait unless the manifest says `send = "blocking"`. May return `Busy` before or after it called `fill`; the
    /// frame is then dropped, and the role offers the message again.
    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent>;

    /// Sends a payload from memory that the caller owns; the transport drops its clone when it no longer needs the
    /// bytes.
    fn send_parts(&mut self, header: &[u8; HEADER_BYTES], payload: &Shared) -> Result<Sent> {
        let bytes = (**payload).as_ref();
        let mut write = |frame: FrameMut<'_>| {
            frame.header.copy_from_slice(header);
            frame.payload.copy_from_slice(bytes);
        };
        self.send(bytes.len(), Fill::copied_message(&mut write))
    }

    /// Sends a received frame on, unaltered; it came from a link with the same payload. By default, copies the frame into a new loan (`forward = "copy"` in the
    /// manifest). An adapter whose transport can pass on a reference overrides this method and declares `forward =
    /// "move"` in its manifest.
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

/// How many payloads this thread has copied, in [`copy_on`] or in an adapter that counts its own copies.
/// The column `forward_copies_per_message` comes from it.
pub fn copies_made() -> u64 {
    COPIES.get()
}

/// Counts a payload that the adapter copies itself, because its library copies only whole messages.
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

/// A receiving end that is polled. Used from one thread at a time.
pub trait Subscriber: Send {
    /// Calls `on_frame` with the frames that have arrived, at least one if there is any; returns the number of frames.
    /// With `spin`, looks once and returns. With `block`, sleeps in the transport until a frame arrives or about
    /// `timeout` has passed; may return early, or up to 100 ms late. The bytes are valid until `take` returns.
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize>;
}

impl<S: Subscriber + ?Sized> Subscriber for Box<S> {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        (**self).poll(timeout, take)
    }
}

/// A receiving end that is called. Dropping a subscription returns only when no call of its callback is running; no
/// further call follows.
pub trait Subscription: Send {}

/// The client side of an rpc link. Used from one thread at a time.
pub trait Client: Send {
    /// Starts a call. The rules of [`Publisher::send`] apply.
    fn start(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent>;

    /// Starts a call with a received request, unaltered.
    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        copy_on(received, |payload_bytes, fill| self.start(payload_bytes, fill))
    }

    /// Calls `on_reply` with the replies that have arrived. The rules of [`Subscriber::poll`] apply.
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize>;
}

/// Handles one request of a polled server.
pub type Handle<'a> = &'a mut dyn FnMut(Received<'_>, &mut dyn Replier);

/// The server side of an rpc link. Used from one thread at a time.
pub trait Server: Send {
    /// The address at which clients reach this server; see [`Publisher::address`].
    fn address(&self) -> String {
        String::new()
    }

    /// Calls `on_request` with the requests that have arrived. The rules of [`Subscriber::poll`] apply. The handler may
    /// block and may call other servers before it answers.
    fn poll(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize>;

    /// Turns this server into one whose handler runs on the transport's own thread (`callback`).
    fn serve(self: Box<Self>, on_request: OnRequest) -> Result<Box<dyn Subscription>> {
        drop(on_request);
        Err(Error::new("this transport's servers are polled, not called").remedy("use wait = \"block\" or \"spin\""))
    }
}

/// Answers one request.
pub trait Replier {
    /// Sends the reply. The rules of [`Publisher::send`] apply.
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent>;

    /// Replies with a received frame, unaltered: the request itself, or the reply of the next server. The rules of
    /// [`Publisher::forward`] apply.
    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        copy_on(received, |payload_bytes, fill| self.reply(payload_bytes, fill))
    }

    /// A handle with which any thread can reply later, if the manifest says `reply = "deferred"`.
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
