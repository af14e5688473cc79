//! The adapter contract: what a transport offers to the instrument.
//!
//! An adapter moves frames. It knows no role, no clock and no statistic; the instrument knows no transport.
//! Every method says who owns the bytes, whether it may wait, and from which thread it is called.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::frame::HEADER_BYTES;
use crate::spec::{PayloadKind, Wait};

pub use crate::loan::*;

/// How a transport responds to a frame. A frame that it drops silently later counts as loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The transport took the frame.
    Accepted,
    /// The transport would have to wait: its queue is full or no slot is free. The role offers the same message
    /// again.
    Busy,
}

/// Memory that the caller owns and loans until the last clone is dropped (send by parts).
pub type Shared = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A function that takes received frames. It borrows the bytes.
pub type Take<'a> = &'a mut dyn FnMut(Received<'_>);

/// Like [`OnFrame`] for requests. May block, so the transport gives each served link a thread or executor of its own.
pub type OnRequest = Box<dyn FnMut(Received<'_>, &mut dyn Replier) + Send>;

/// The settings and surroundings of a transport.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Names this run on this machine; anything an adapter creates outside `directory` carries it in its name.
    pub run: String,
    /// A private folder of this trial with a short path, for socket files; the launcher removes it.
    pub directory: PathBuf,
    /// How the receivers of this process wait. If some are called and some polled, how the polled ones wait.
    pub wait: Wait,
    /// The address of the transport's daemon (a broker, a master) as the manifest writes it; empty without one.
    pub daemon: String,
    /// What the payloads represent. Typed carriage picks its message by it.
    pub payload: PayloadKind,
    /// Every setting of the manifest, defaults filled in.
    pub settings: serde_json::Map<String, serde_json::Value>,
    /// The largest frame, header included, that will be sent over any link.
    pub frame_bytes: usize,
}

impl Setup {
    /// A setting by name, in the type the adapter wants.
    ///
    /// # Errors
    /// When the manifest does not name the setting or its value is of another type.
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
    /// The address of the binding end, in the transport's own notation; empty while it binds.
    pub address: String,
    /// How many receivers connect before the first message.
    pub receivers: u32,
}

/// One transport in one process, shared by all endpoints of the node. Their threads call the methods. Each thread
/// is pinned to its endpoint's core, and threads that a transport starts inherit that.
pub trait Transport: Send + Sync {
    /// The library's version, if the settings choose the library. Otherwise the node's own version holds.
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

    /// Binds the server end of an rpc link. May wait.
    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        Err(Error::unsupported("server", &link.name))
    }

    /// Connects the client end of an rpc link. May wait.
    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        Err(Error::unsupported("client", &link.name))
    }

    /// Facts known only after the run, such as the path the bytes really took: (`path`, `shared memory`). Called
    /// once, after the last message.
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

    /// Sends one frame of `HEADER_BYTES + payload_bytes` that `fill` writes into memory of the transport. Does not
    /// wait unless the manifest says `send = "blocking"`. May return `Busy` before or after it called `fill`; the
    /// frame is then dropped and the role offers it again.
    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent>;

    /// Sends a payload from memory the caller owns; the transport drops its clone when it is done with the bytes.
    fn send_parts(&mut self, header: &[u8; HEADER_BYTES], payload: &Shared) -> Result<Sent> {
        let bytes = (**payload).as_ref();
        let mut write = |frame: FrameMut<'_>| {
            frame.header.copy_from_slice(header);
            frame.payload.copy_from_slice(bytes);
        };
        self.send(bytes.len(), Fill::copied_message(&mut write))
    }

    /// Sends a received frame on, unaltered. The default copies it into a new loan (`forward = "copy"` in the
    /// manifest). An adapter that can pass on a reference overrides it and says `forward = "move"`.
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

/// How many payloads [`copy_on`], or an adapter that counts its own copies, has copied on this thread.
/// `copies_per_hop` comes from it.
pub fn copies_made() -> u64 {
    COPIES.get()
}

/// Counts a payload that the adapter copies itself because its library copies the whole message.
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
    /// Hands over what has arrived, at least one frame if there is any; returns how many. With `spin` it looks once
    /// and returns. With `block` it sleeps in the transport until a frame arrives or about `timeout` has passed; it
    /// may return early, or up to 100 ms late. The bytes are valid until `take` returns.
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize>;
}

impl<S: Subscriber + ?Sized> Subscriber for Box<S> {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        (**self).poll(timeout, take)
    }
}

/// A receiving end that is called. Dropping it returns only when no call is running, and no call follows.
pub trait Subscription: Send {}

/// The client end of an rpc link. Used from one thread at a time.
pub trait Client: Send {
    /// Starts a call; the same rules as [`Publisher::send`].
    fn start(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent>;

    /// Starts a call with a received request, unaltered.
    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        copy_on(received, |payload_bytes, fill| self.start(payload_bytes, fill))
    }

    /// Hands over the replies that have come; the same rules as [`Subscriber::poll`].
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize>;
}

/// Handles one request of a polled server.
pub type Handle<'a> = &'a mut dyn FnMut(Received<'_>, &mut dyn Replier);

/// The server end of an rpc link. Used from one thread at a time.
pub trait Server: Send {
    /// Where clients find this end; see [`Publisher::address`].
    fn address(&self) -> String {
        String::new()
    }

    /// Hands over the requests that have come; the same rules as [`Subscriber::poll`]. The handler may block and may
    /// call other servers before it answers.
    fn poll(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize>;

    /// Turns this end into one that is called on the transport's own thread (`callback`).
    fn serve(self: Box<Self>, on_request: OnRequest) -> Result<Box<dyn Subscription>> {
        drop(on_request);
        Err(Error::new("this transport's servers are polled, not called").remedy("use wait = \"block\" or \"spin\""))
    }
}

/// Answers one request.
pub trait Replier {
    /// Sends the reply; the same rules as [`Publisher::send`].
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent>;

    /// Replies with a received frame, unaltered: the request itself, or the reply of the next server. The same rules
    /// as [`Publisher::forward`].
    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        copy_on(received, |payload_bytes, fill| self.reply(payload_bytes, fill))
    }

    /// A handle that replies later and from any thread, if the manifest says `reply = "deferred"`.
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
