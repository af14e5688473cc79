//! What crosses the border between the instrument and an adapter: plain data, and functions with a context.
//!
//! Two rules hold everywhere. Nothing unwinds across: an adapter turns its exceptions into texts ([`Error`]).
//! What is passed by pointer is lent for the call, except where its description says otherwise.

use std::ffi::{c_char, c_void};

/// The version of this interface: node and library must agree.
pub const ABI_VERSION: u32 = 2;

/// The length of a frame's header.
pub const HEADER_BYTES: usize = 64;
/// Where in a header its sent time lies: nanoseconds, CLOCK_MONOTONIC, 64 bits, little-endian.
pub const SENT_AT: usize = 40;
/// The length of a label, which carries a header in the text of a typed message.
pub const LABEL_BYTES: usize = 56;

/// The adapter did it; a send was accepted.
pub const ACCEPTED: i32 = 0;
/// The transport could not take the frame without waiting.
pub const BUSY: i32 = 1;
/// It failed, and `Error.put` was called before returning. Also the count that a failed poll answers.
pub const FAILED: i32 = -1;

/// UTF-8 of a known length, not terminated; what does not decode is replaced.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    pub data: *const c_char,
    pub bytes: usize,
}

/// Where the one that fails says why. Both texts are copied; an empty remedy is none.
#[repr(C)]
pub struct Error {
    pub context: *mut c_void,
    pub put: extern "C" fn(context: *mut c_void, what: Text, remedy: Text),
}

/// Where a text is answered to; it is copied.
#[repr(C)]
pub struct TextOut {
    pub context: *mut c_void,
    pub put: extern "C" fn(context: *mut c_void, text: Text),
}

/// Where facts are answered to, one call each; they are copied.
#[repr(C)]
pub struct FactsOut {
    pub context: *mut c_void,
    pub put: extern "C" fn(context: *mut c_void, name: Text, value: Text),
}

/// How a receiver waits.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    Spin = 0,
    Block = 1,
    Callback = 2,
}

/// What a payload stands for.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadKind {
    Timing = 0,
    Bytes = 1,
    Image = 2,
}

/// The settings of the manifest; read with `hopmeter_setting_*`.
pub struct Settings(pub(crate) hopmeter_instrument::Setup);

/// Everything an adapter is told when it is opened. Valid until the transport is closed.
#[repr(C)]
pub struct Setup {
    /// Names this run on this machine; anything created outside `directory` carries it in its name.
    pub run: Text,
    /// A private folder of this trial with a short path, for socket files.
    pub directory: Text,
    pub wait: Wait,
    /// Where the transport's daemon listens; empty without one.
    pub daemon: Text,
    pub payload: PayloadKind,
    /// The size of an image in pixels; 0 where it is none.
    pub width: u32,
    pub height: u32,
    /// The largest frame, header included, that will be sent over any link.
    pub frame_bytes: usize,
    pub settings: *const Settings,
}

/// One hop: one end binds it, the others connect to the address it gave.
#[repr(C)]
pub struct Link {
    /// Unique on this machine, of `[a-z0-9_]` only.
    pub name: Text,
    /// Where the binding end is; empty while it binds.
    pub address: Text,
    /// How many receivers connect before the first message.
    pub receivers: u32,
}

/// A frame to be filled: 64 bytes of header and the payload, each in a place of its own.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct FrameMut {
    pub header: *mut u8,
    pub payload: *mut u8,
    pub payload_bytes: usize,
}

/// Writes one frame, all but the time it is sent. Called once per send, on the caller's thread, as late as possible.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Fill {
    pub context: *mut c_void,
    pub call: extern "C" fn(context: *mut c_void, frame: FrameMut),
    /// Where the adapter's language puts the sent time after `call`, its last act before the transport; also at `SENT_AT`
    /// of the header. Null where the frame carries its time already.
    pub sent_ns: *mut i64,
}

/// A received frame, lent until the function that it is given to returns.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Received {
    /// Of any length: what arrives may be foreign.
    pub header: *const u8,
    pub header_bytes: usize,
    pub payload: *const u8,
    pub payload_bytes: usize,
    /// The transport's own message, handed back in `forward` of the same adapter; may be null.
    pub native: *const c_void,
    /// Keeps the bytes of `native` beyond the call; may be null.
    pub keep: Option<extern "C" fn(native: *const c_void) -> Kept>,
    /// When it arrived, as the adapter's language stamped it, its first act; 0 leaves that to the instrument.
    pub arrived_ns: i64,
}

/// Bytes of a whole frame, header first, that live until `release`, which may come from any thread and after the
/// subscriber is gone. No `release` means that keeping failed.
#[repr(C)]
pub struct Kept {
    pub handle: *mut c_void,
    pub data: *const u8,
    pub bytes: usize,
    pub release: Option<extern "C" fn(handle: *mut c_void)>,
}

/// A payload in the caller's memory. Whoever it is passed to owes exactly one `release`, from any thread.
#[repr(C)]
pub struct Shared {
    pub context: *mut c_void,
    pub data: *const u8,
    pub bytes: usize,
    pub release: extern "C" fn(context: *mut c_void),
}

/// Takes received frames of a poll.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Take {
    pub context: *mut c_void,
    pub call: extern "C" fn(context: *mut c_void, received: *const Received),
}

/// Takes received frames on a thread of the transport, one at a time. Whoever it is passed to owes exactly one
/// `release`, also when `subscribe` fails, and no `call` after it.
#[repr(C)]
pub struct OnFrame {
    pub context: *mut c_void,
    pub call: extern "C" fn(context: *mut c_void, received: *const Received),
    pub release: extern "C" fn(context: *mut c_void),
}

/// Takes requests of a poll. It may block.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Handle {
    pub context: *mut c_void,
    pub call: extern "C" fn(context: *mut c_void, received: *const Received, replier: crate::calls::Replier),
}

/// Takes requests on a thread of the transport; the rules of [`OnFrame`]. It may block.
#[repr(C)]
pub struct OnRequest {
    pub context: *mut c_void,
    pub call: extern "C" fn(context: *mut c_void, received: *const Received, replier: crate::calls::Replier),
    pub release: extern "C" fn(context: *mut c_void),
}
