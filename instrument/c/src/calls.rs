//! The functions that an adapter provides, in tables: the C form of the instrument's `contract.rs`.
//!
//! Every table belongs to one object. `close` destroys the object; after it, no function of the object is called. The
//! documentation of a function says if it may be null; the instrument then uses the default of the contract.

use std::ffi::{c_char, c_void};

use crate::abi::{Error, FactsOut, Fill, Handle, Link, OnFrame, OnRequest, Received, Setup, Shared, Take, TextOut};

/// One transport in one process; the threads of all endpoints call its functions.
#[repr(C)]
pub struct TransportCalls {
    pub close: extern "C" fn(object: *mut c_void),
    /// The library's version, as the library reports it.
    pub version: extern "C" fn(object: *mut c_void, out: *const TextOut),
    /// Binds the publisher of a pubsub link. May wait. May be null.
    pub publisher:
        Option<extern "C" fn(object: *mut c_void, link: *const Link, out: *mut Publisher, error: *const Error) -> i32>,
    /// Connects a polled subscriber. May wait. May be null.
    pub subscriber:
        Option<extern "C" fn(object: *mut c_void, link: *const Link, out: *mut Subscriber, error: *const Error) -> i32>,
    /// Connects a subscriber that the transport calls; frames may arrive before this returns. May wait. May be null.
    pub subscribe: Option<
        extern "C" fn(
            object: *mut c_void,
            link: *const Link,
            on_frame: OnFrame,
            out: *mut Subscription,
            error: *const Error,
        ) -> i32,
    >,
    /// Binds the server of an rpc link. May wait. May be null.
    pub server:
        Option<extern "C" fn(object: *mut c_void, link: *const Link, out: *mut Server, error: *const Error) -> i32>,
    /// Connects the client of an rpc link. May wait. May be null.
    pub client:
        Option<extern "C" fn(object: *mut c_void, link: *const Link, out: *mut Client, error: *const Error) -> i32>,
    /// Facts that are known only after the last message. May be null.
    pub facts: Option<extern "C" fn(object: *mut c_void, out: *const FactsOut)>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Transport {
    pub object: *mut c_void,
    pub calls: *const TransportCalls,
}

/// The publisher of a pubsub link. Only one thread at a time uses a link end, but not always the same thread.
#[repr(C)]
pub struct PublisherCalls {
    pub close: extern "C" fn(object: *mut c_void),
    /// The address that receivers connect to. May be null if the link's name is enough.
    pub address: Option<extern "C" fn(object: *mut c_void, out: *const TextOut)>,
    /// Sends one frame of 64 + `payload_bytes`; `fill` writes the frame. Does not wait unless the manifest allows it.
    pub send: extern "C" fn(object: *mut c_void, payload_bytes: usize, fill: Fill, error: *const Error) -> i32,
    /// Sends a payload from the caller's memory. May be null.
    pub send_parts:
        Option<extern "C" fn(object: *mut c_void, header: *const u8, payload: Shared, error: *const Error) -> i32>,
    /// Forwards a received frame unchanged. If null, the instrument sends a copy.
    pub forward: Option<extern "C" fn(object: *mut c_void, received: *const Received, error: *const Error) -> i32>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Publisher {
    pub object: *mut c_void,
    pub calls: *const PublisherCalls,
}

/// A polled receiver. Used from one thread at a time.
#[repr(C)]
pub struct SubscriberCalls {
    pub close: extern "C" fn(object: *mut c_void),
    /// Passes the frames that have arrived to `take`, and returns their number. `spin` looks once. With `block`, sleeps
    /// until a frame arrives or about the timeout has passed.
    pub poll: extern "C" fn(object: *mut c_void, timeout_ns: i64, take: Take, error: *const Error) -> i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Subscriber {
    pub object: *mut c_void,
    pub calls: *const SubscriberCalls,
}

/// A receiver that the transport calls. `close` waits for a running call; no call follows.
#[repr(C)]
pub struct SubscriptionCalls {
    pub close: extern "C" fn(object: *mut c_void),
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Subscription {
    pub object: *mut c_void,
    pub calls: *const SubscriptionCalls,
}

/// The client of an rpc link. Used from one thread at a time.
#[repr(C)]
pub struct ClientCalls {
    pub close: extern "C" fn(object: *mut c_void),
    /// Starts a call, under the rules of a publisher's `send`.
    pub start: extern "C" fn(object: *mut c_void, payload_bytes: usize, fill: Fill, error: *const Error) -> i32,
    /// Starts a call with a received request. If null, a copy is sent.
    pub forward: Option<extern "C" fn(object: *mut c_void, received: *const Received, error: *const Error) -> i32>,
    /// Passes the replies that have arrived to `take`, under the rules of a subscriber's `poll`.
    pub poll: extern "C" fn(object: *mut c_void, timeout_ns: i64, take: Take, error: *const Error) -> i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Client {
    pub object: *mut c_void,
    pub calls: *const ClientCalls,
}

/// The server of an rpc link. Used from one thread at a time.
#[repr(C)]
pub struct ServerCalls {
    pub close: extern "C" fn(object: *mut c_void),
    /// The address that clients connect to. May be null if the link's name is enough.
    pub address: Option<extern "C" fn(object: *mut c_void, out: *const TextOut)>,
    /// Passes the requests that have arrived to `handle`, under the rules of a subscriber's `poll`.
    pub poll: extern "C" fn(object: *mut c_void, timeout_ns: i64, handle: Handle, error: *const Error) -> i64,
    /// Starts handling requests on a thread of the transport. The subscription is closed before the server; until then,
    /// nothing else calls the server. May be null.
    pub serve: Option<
        extern "C" fn(object: *mut c_void, on_request: OnRequest, out: *mut Subscription, error: *const Error) -> i32,
    >,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Server {
    pub object: *mut c_void,
    pub calls: *const ServerCalls,
}

/// Answers one request. A handler may use the replier until it returns, and must not close it. The instrument closes a
/// replier that `defer` has returned.
#[repr(C)]
pub struct ReplierCalls {
    pub close: extern "C" fn(object: *mut c_void),
    /// Sends the reply, under the rules of a publisher's `send`.
    pub reply: extern "C" fn(object: *mut c_void, payload_bytes: usize, fill: Fill, error: *const Error) -> i32,
    /// Replies with a received frame. If null, the instrument copies it through `reply`.
    pub forward: Option<extern "C" fn(object: *mut c_void, received: *const Received, error: *const Error) -> i32>,
    /// A replier that any thread can use later; its object is null if the adapter offers none. May be null.
    pub defer: Option<extern "C" fn(object: *mut c_void) -> Replier>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Replier {
    pub object: *mut c_void,
    pub calls: *const ReplierCalls,
}

/// The description of an adapter, which the node passes to `hopmeter_main`. The strings are null-terminated and valid
/// as long as the process runs.
#[repr(C)]
pub struct Adapter {
    /// The `HOPMETER_ABI_VERSION` in the header with which the adapter was compiled.
    pub abi: u32,
    /// The transport's name, as in its manifest.
    pub transport: *const c_char,
    pub compiler: *const c_char,
    pub flags: *const c_char,
    /// The library's version; the instrument calls this before it opens a transport.
    pub version: extern "C" fn(out: *const TextOut),
    /// Opens the transport for one trial.
    pub open: extern "C" fn(setup: *const Setup, out: *mut Transport, error: *const Error) -> i32,
    /// Opens an empty transport, which only fills a frame and calls the receiver with it. The empty transport measures
    /// the instrument's own cost.
    pub open_empty: extern "C" fn(setup: *const Setup, out: *mut Transport, error: *const Error) -> i32,
}

// SAFETY: the ABI says that the strings are valid as long as the process runs; nobody writes to them.
unsafe impl Sync for Adapter {}
