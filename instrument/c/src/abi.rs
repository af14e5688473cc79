//! The data types of the C ABI between the instrument and an adapter: plain data, and functions with a context.
//!
//! Two rules hold everywhere. Nothing unwinds across the ABI: an adapter turns its exceptions into texts ([`Error`]).
//! Data passed by pointer is borrowed for the call, unless its description says otherwise.

use std::ffi::{c_char, c_void};

/// The version of this interface: node and library must agree.
pub const ABI_VERSION: u32 = 2;

/// The length of a frame's header.
pub const HEADER_BYTES: usize = 64;
/// The offset of the sent time in a header: nanoseconds, CLOCK_MONOTONIC, 64 bits, little-endian.
pub const SENT_AT: usize = 40;
/// The length of a label: the part of a header that travels in the text of a typed message.
pub const LABEL_BYTES: usize = 56;

/// Success; a send was accepted.
pub const ACCEPTED: i32 = 0;
/// The transport would have had to wait before it could take the frame.
pub const BUSY: i32 = 1;
/// Failure; `Error.put` was called before. A failed poll also returns it.
pub const FAILED: i32 = -1;

/// UTF-8 of a known length, not terminated; invalid sequences are replaced.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    pub data: *const c_char,
    pub bytes: usize,
}

/// Takes the reason and the remedy when a function fails. Both texts are copied; an empty remedy means none.
#[repr(C)]
pub struct Error {
    pub context: *mut c_void,
    pub put: extern "C" fn(context: *mut c_void, what: Text, remedy: Text),
}

/// Takes a text that a function returns; the text is copied.
#[repr(C)]
pub struct TextOut {
    pub context: *mut c_void,
    pub put: extern "C" fn(context: *mut c_void, text: Text),
}

/// Takes facts that a function returns, one call each; they are copied.
#[repr(C)]
pub struct FactsOut {
    pub context: *mut c_void,
    pub put: extern "C" fn(context: *mut c_void, name: Text, value: Text),
}

/// How a receiver waits for messages.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    Spin = 0,
    Block = 1,
    Callback = 2,
}

/// What a payload represents.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadKind {
    Timing = 0,
    Bytes = 1,
    Image = 2,
}

/// The settings of the manifest; read with `hopmeter_setting_*`.
pub struct Settings(pub(crate) hopmeter_instrument::Setup);

/// The setup that an adapter receives when it is opened. Valid until the transport is closed.
#[repr(C)]
pub struct Setup {
    /// A name unique to this run on this machine. Everything created outside `directory` has it in its name.
    pub run: Text,
    /// A private folder of this trial with a short path, for socket files.
    pub directory: Text,
    pub wait: Wait,
    /// The address of the transport's broker; empty without one.
    pub daemon: Text,
    pub payload: PayloadKind,
    /// The size of an image in pixels; 0 if the payload is none.
    pub width: u32,
    pub height: u32,
    /// The size of the largest frame, header included, on any link.
    pub frame_bytes: usize,
    pub settings: *const Settings,
}

/// One link. One side binds it; the others connect to the address of that side.
#[repr(C)]
pub struct Link {
    /// Unique on this machine, of `[a-z0-9_]` only.
    pub name: Text,
    /// The address of the binding side; empty while it binds.
    pub address: Text,
    /// How many receivers connect before the first message.
    pub receivers: u32,
}

/// A frame to fill: 64 bytes of header and the payload, which may be at different places in memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct FrameMut {
    pub header: *mut u8,
    pub payload: *mut u8,
    pub payload_bytes: usize,
}

/// Writes one frame, except for its sent time. Called once per send, on the caller's thread, as late as possible.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Fill {
    pub context: *mut c_void,
    pub call: extern "C" fn(context: *mut c_void, frame: FrameMut),
    /// The memory to which the adapter writes the sent time after `call`, as the last step before it sends. The adapter
    /// also writes it at `SENT_AT` of the header. Null if the header already contains the sent time.
    pub sent_ns: *mut i64,
}

/// A received frame, borrowed until the function that it is passed to returns.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Received {
    /// May have any length, because a foreign sender may have written it.
    pub header: *const u8,
    pub header_bytes: usize,
    pub payload: *const u8,
    pub payload_bytes: usize,
    /// The transport's own message, which `forward` of the same adapter can send on; may be null.
    pub native: *const c_void,
    /// Retains the bytes of `native` beyond the call; may be null.
    pub keep: Option<extern "C" fn(native: *const c_void) -> FrameHolder>,
    /// When the frame arrived, as the adapter stamped it. If 0, the instrument stamps it.
    pub arrived_ns: i64,
}

/// Retains the bytes of a whole frame, header first, until `release`. `release` may be called from any thread, also
/// after the subscriber is closed. If `release` is null, retaining the frame failed.
#[repr(C)]
pub struct FrameHolder {
    pub handle: *mut c_void,
    pub data: *const u8,
    pub bytes: usize,
    pub release: Option<extern "C" fn(handle: *mut c_void)>,
}

/// A payload in the caller's memory. Its receiver calls `release` exactly once, from any thread.
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

/// Takes received frames on a thread of the transport, one at a time. The receiver of this struct calls `release`
/// exactly once, also if `subscribe` fails, and does not use `call` afterwards.
#[repr(C)]
pub struct OnFrame {
    pub context: *mut c_void,
    pub call: extern "C" fn(context: *mut c_void, received: *const Received),
    pub release: extern "C" fn(context: *mut c_void),
}

/// Handles the requests of a poll. It may block.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Handle {
    pub context: *mut c_void,
    pub call: extern "C" fn(context: *mut c_void, received: *const Received, replier: crate::calls::Replier),
}

/// Handles requests on a thread of the transport; the rules of [`OnFrame`] apply. It may block.
#[repr(C)]
pub struct OnRequest {
    pub context: *mut c_void,
    pub call: extern "C" fn(context: *mut c_void, received: *const Received, replier: crate::calls::Replier),
    pub release: extern "C" fn(context: *mut c_void),
}
