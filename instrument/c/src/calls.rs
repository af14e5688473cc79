//! Defines the function tables that an adapter provides: the C form of the instrument's `contract.rs`.
//!
//! Every function table belongs to one object of the adapter, such as a publisher. The instrument calls `close` last,
//! and `close` destroys the object. The documentation of a function says whether the pointer to this function may be
//! null. If a function pointer is null, the instrument uses the default implementation from `contract.rs`.

use std::ffi::{c_char, c_void};

use crate::abi::{Error, FactsOut, Fill, Handle, Link, OnFrame, OnRequest, Received, Setup, Shared, Take, TextOut};

/// One transport in one process. The threads of all endpoints call the functions of this table.
#[repr(C)]
pub struct TransportCalls {
    pub close: extern "C" fn(object: *mut c_void),
    /// Returns the library's version, as the library reports it.
    pub version: extern "C" fn(object: *mut c_void, out: *const TextOut),
    /// Binds the publisher of a pubsub link. The call may block. The pointer may be null.
    pub publisher:
        Option<extern "C" fn(object: *mut c_void, link: *const Link, out: *mut Publisher, error: *const Error) -> i32>,
    /// Connects a subscriber that the instrument polls. The call may block. The pointer may be null.
    pub subscriber:
        Option<extern "C" fn(object: *mut c_void, link: *const Link, out: *mut Subscriber, error: *const Error) -> i32>,
    /// Connects a subscriber that calls `on_frame`. The call may block. Frames may arrive before `subscribe` returns.
    /// The pointer may be null.
    pub subscribe: Option<
        extern "C" fn(
            object: *mut c_void,
            link: *const Link,
            on_frame: OnFrame,
            out: *mut Subscription,
            error: *const Error,
        ) -> i32,
    >,
    /// Binds the server of an rpc link. The call may block. The pointer may be null.
    pub server:
        Option<extern "C" fn(object: *mut c_void, link: *const Link, out: *mut Server, error: *const Error) -> i32>,
    /// Connects the client of an rpc link. The call may block. The pointer may be null.
    pub client:
        Option<extern "C" fn(object: *mut c_void, link: *const Link, out: *mut Client, error: *const Error) -> i32>,
    /// Returns facts that are known only after the last message. The pointer may be null.
    pub facts: Option<extern "C" fn(object: *mut c_void, out: *const FactsOut)>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Transport {
    pub object: *mut c_void,
    pub calls: *const TransportCalls,
}

/// The publisher of a pubsub link. Only one thread at a time uses a link end, but the thread may change between calls.
#[repr(C)]
pub struct PublisherCalls {
    pub close: extern "C" fn(object: *mut c_void),
    /// Returns the address that receivers connect to. The function pointer may be null if receivers need only the
    /// link's name to connect.
    pub address: Option<extern "C" fn(object: *mut c_void, out: *const TextOut)>,
    /// Sends one frame of 64 + `payload_bytes` bytes, which `fill` writes. The call must not block unless the manifest
    /// allows blocking.
    pub send: extern "C" fn(object: *mut c_void, payload_bytes: usize, fill: Fill, error: *const Error) -> i32,
    /// Sends a payload from the caller's memory. The pointer may be null.
    pub send_parts:
        Option<extern "C" fn(object: *mut c_void, header: *const u8, payload: Shared, error: *const Error) -> i32>,
    /// Forwards a received frame unchanged. If this function pointer is null, the instrument sends a copy of the frame.
    pub forward: Option<extern "C" fn(object: *mut c_void, received: *const Received, error: *const Error) -> i32>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Publisher {
    pub object: *mut c_void,
    pub calls: *const PublisherCalls,
}

/// A receiver that the instrument polls. Only one thread at a time uses the receiver.
#[repr(C)]
pub struct SubscriberCalls {
    pub close: extern "C" fn(object: *mut c_void),
    /// Passes the frames that have arrived to `take`, and returns the number of these frames. If the receiver waits
    /// with `spin`, the function checks once for frames and does not sleep. If the receiver waits with `block`, the
    /// function sleeps until a frame arrives or about `timeout_ns` has passed.
    pub poll: extern "C" fn(object: *mut c_void, timeout_ns: i64, take: Take, error: *const Error) -> i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Subscriber {
    pub object: *mut c_void,
    pub calls: *const SubscriberCalls,
}

/// A receiver that delivers frames to a callback. `close` waits until a running callback has returned, and no callback
/// starts after `close`.
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

/// The client of an rpc link. Only one thread at a time uses the client.
#[repr(C)]
pub struct ClientCalls {
    pub close: extern "C" fn(object: *mut c_void),
    /// Sends a request. The function follows the same rules as the `send` of a publisher.
    pub start: extern "C" fn(object: *mut c_void, payload_bytes: usize, fill: Fill, error: *const Error) -> i32,
    /// Forwards a received request as a new call. If this function pointer is null, the instrument sends a copy of the
    /// request.
    pub forward: Option<extern "C" fn(object: *mut c_void, received: *const Received, error: *const Error) -> i32>,
    /// Passes the replies that have arrived to `take`. The function follows the same rules as the `poll` of a
    /// subscriber.
    pub poll: extern "C" fn(object: *mut c_void, timeout_ns: i64, take: Take, error: *const Error) -> i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Client {
    pub object: *mut c_void,
    pub calls: *const ClientCalls,
}

/// The server of an rpc link. Only one thread at a time uses the server.
#[repr(C)]
pub struct ServerCalls {
    pub close: extern "C" fn(object: *mut c_void),
    /// Returns the address that clients connect to. The function pointer may be null if clients need only the link's
    /// name to connect.
    pub address: Option<extern "C" fn(object: *mut c_void, out: *const TextOut)>,
    /// Passes the requests that have arrived to `handle`. The function follows the same rules as the `poll` of a
    /// subscriber.
    pub poll: extern "C" fn(object: *mut c_void, timeout_ns: i64, handle: Handle, error: *const Error) -> i64,
    /// Starts to handle requests on a thread of the transport. While the returned subscription is open, the instrument
    /// makes no other call to the server; it closes the subscription before the server. The pointer may be null.
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

/// Answers one request. A handler may use the replier until the handler returns, and must not close the replier. The
/// instrument closes repliers that `defer` returned.
#[repr(C)]
pub struct ReplierCalls {
    pub close: extern "C" fn(object: *mut c_void),
    /// Sends the reply. The function follows the same rules as the `send` of a publisher.
    pub reply: extern "C" fn(object: *mut c_void, payload_bytes: usize, fill: Fill, error: *const Error) -> i32,
    /// Sends a received frame as the reply. If this function pointer is null, the instrument sends a copy through
    /// `reply`.
    pub forward: Option<extern "C" fn(object: *mut c_void, received: *const Received, error: *const Error) -> i32>,
    /// Returns a replier that any thread can use after the handler has returned. The replier's object is null if the
    /// adapter offers no deferred replies. The pointer may be null.
    pub defer: Option<extern "C" fn(object: *mut c_void) -> Replier>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Replier {
    pub object: *mut c_void,
    pub calls: *const ReplierCalls,
}

/// The description of an adapter, which the node passes to `hopmeter_main`. The strings are null-terminated and must
/// stay valid as long as the process runs.
#[repr(C)]
pub struct Adapter {
    /// The `HOPMETER_ABI_VERSION` of the header that the adapter was compiled with.
    pub abi: u32,
    /// The transport's name, as in its manifest.
    pub transport: *const c_char,
    pub compiler: *const c_char,
    pub flags: *const c_char,
    /// Returns the library's version. The instrument calls this function before it calls `open`.
    pub version: extern "C" fn(out: *const TextOut),
    /// Opens the transport for one trial.
    pub open: extern "C" fn(setup: *const Setup, out: *mut Transport, error: *const Error) -> i32,
    /// Opens an empty transport, whose `send` fills a frame and passes the frame to the receiver. The instrument uses
    /// the empty transport to measure its own cost.
    pub open_empty: extern "C" fn(setup: *const Setup, out: *mut Transport, error: *const Error) -> i32,
}

// SAFETY: the ABI guarantees that the strings are valid as long as the process runs, and that they are never modified.
unsafe impl Sync for Adapter {}
