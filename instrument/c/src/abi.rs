//! Defines the data types of the C ABI between the instrument and an adapter: plain structs, and callbacks with a
//! context.
//!
//! Two rules apply throughout. First, no exception or panic crosses the ABI: an adapter reports its exceptions as texts
//! ([`Error`]). Second, data that is passed by pointer is borrowed for the duration of the call, unless its description
//! says otherwise.

use std::ffi::{c_char, c_void};

/// The version of this interface. A node works only with an instrument library of the same ABI version.
pub const ABI_VERSION: u32 = 5;

/// The length of a frame's header, in bytes.
pub const HEADER_BYTES: usize = 64;
/// The offset of the sent time in the header. The sent time is a 64-bit little-endian number of nanoseconds of
/// CLOCK_MONOTONIC.
pub const SENT_AT: usize = 40;
/// The length of a label in bytes. A label is the part of a header that a typed message carries as text.
pub const LABEL_BYTES: usize = 56;

/// Success. A send returns this value if the transport accepted the frame.
pub const ACCEPTED: i32 = 0;
/// A send returns this value if the transport cannot accept the frame without waiting.
pub const BUSY: i32 = 1;
/// The called function has failed; a poll that fails also returns this value. The failing function must call
/// `Error.put` before it returns.
pub const FAILED: i32 = -1;

/// UTF-8 text with a length and no terminator. The reader replaces invalid UTF-8 sequences.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    pub data: *const c_char,
    pub bytes: usize,
}

/// Receives the reason and the remedy when a function fails. The instrument copies both texts during the call. An empty
/// remedy means that the adapter knows no remedy.
#[repr(C)]
pub struct Error {
    pub context: *mut c_void,
    pub put: extern "C" fn(context: *mut c_void, what: Text, remedy: Text),
}

/// Receives the text that a function returns. The text is copied.
#[repr(C)]
pub struct TextOut {
    pub context: *mut c_void,
    pub put: extern "C" fn(context: *mut c_void, text: Text),
}

/// Receives the facts that a function returns, one per call of `put`. The facts are copied.
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

/// The settings of the manifest, which `hopmeter_setting_*` functions read.
pub struct Settings(pub(crate) hopmeter_instrument::Setup);

/// The setup that an adapter receives when its transport is opened. The setup is valid until the transport is closed.
#[repr(C)]
pub struct Setup {
    /// The run's name, which no other run on this machine has. The name of every object that an adapter creates outside
    /// `directory` must contain the run's name.
    pub run: Text,
    /// A private directory for this trial's socket files, with a short path.
    pub directory: Text,
    /// The address of the transport's broker. Empty if the transport has no broker.
    pub broker: Text,
    /// The IPv4 address that link ends listen on, which may be 0.0.0.0.
    pub bind: Text,
    /// The IPv4 address at which nodes on other machines reach this node.
    pub advertised: Text,
    /// The size in bytes of the largest frame on any link of this process, including the header.
    pub largest_frame_bytes: usize,
    pub settings: *const Settings,
}

/// A link, which carries messages over one hop. One link end binds the link, and all other link ends connect to the
/// address of the binding end.
#[repr(C)]
pub struct Link {
    /// The link's name, which is unique on this machine and consists of `[a-z0-9_]`.
    pub name: Text,
    /// The address of the link end that binds the link; empty for the binding end itself.
    pub address: Text,
    /// The number of receivers that connect before the first message is sent.
    pub receivers: u32,
    /// The kind of payload that the messages of this link carry.
    pub payload: PayloadKind,
    /// The width of an image in pixels, or 0 if the payload is not an image.
    pub width: u32,
    pub height: u32,
    /// The size in bytes of the largest frame of this link, including the header.
    pub frame_bytes: usize,
    /// How this link end waits for messages; a client waits for replies. For a publisher: how the link's receivers
    /// wait.
    pub wait: Wait,
    /// The transport's own message type for the messages of this link. Empty if the link has none.
    pub message_type: Text,
    /// The directory of the code that was generated for `message_type`, or empty if no code was generated.
    pub message_code: Text,
    /// The file with the encoded message if the transport encodes the message itself; empty otherwise.
    pub message_object: Text,
}

/// A frame to fill: a 64-byte header and a payload, which may be in separate memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct FrameMut {
    pub header: *mut u8,
    pub payload: *mut u8,
    pub payload_bytes: usize,
}

/// Writes one frame, except for its sent time. Call a `Fill` once per send, on the caller's thread, as late as possible
/// before sending.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Fill {
    pub context: *mut c_void,
    pub call: extern "C" fn(context: *mut c_void, frame: FrameMut),
    /// Where to write the sent time. After `call`, as the last step before sending, the adapter reads the clock. The
    /// adapter writes this time here and at the offset `SENT_AT` of the header. This pointer is null if the header
    /// already contains the sent time.
    pub sent_ns: *mut i64,
}

/// A received frame, which is valid until the function to which it is passed returns.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Received {
    /// The header may have any length, because a foreign sender may have written it.
    pub header: *const u8,
    pub header_bytes: usize,
    pub payload: *const u8,
    pub payload_bytes: usize,
    /// The transport's own message, which the adapter's `forward` function can send. The pointer may be null.
    pub native: *const c_void,
    /// Retains the bytes of `native` beyond the call. The function pointer may be null.
    pub keep: Option<extern "C" fn(native: *const c_void) -> FrameHolder>,
    /// The arrival time of the frame if the adapter read the clock, or 0 to let the instrument read the clock.
    pub arrived_ns: i64,
}

/// Keeps the bytes of a whole frame, header first, valid until `release` is called. Any thread may call `release`, even
/// after the subscriber is closed. A null `release` means that the frame could not be retained.
#[repr(C)]
pub struct FrameHolder {
    pub handle: *mut c_void,
    pub data: *const u8,
    pub bytes: usize,
    pub release: Option<extern "C" fn(handle: *mut c_void)>,
}

/// A payload in the caller's memory. The function that receives this struct must call `release` exactly once, from any
/// thread.
#[repr(C)]
pub struct Shared {
    pub context: *mut c_void,
    pub data: *const u8,
    pub bytes: usize,
    pub release: extern "C" fn(context: *mut c_void),
}

/// Accepts the received frames of one poll.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Take {
    pub context: *mut c_void,
    pub call: extern "C" fn(context: *mut c_void, received: *const Received),
}

/// Accepts received frames on a thread of the transport, one at a time. The function that receives this struct must
/// call `release` exactly once, even if `subscribe` fails, and must not use `call` afterwards.
#[repr(C)]
pub struct OnFrame {
    pub context: *mut c_void,
    pub call: extern "C" fn(context: *mut c_void, received: *const Received),
    pub release: extern "C" fn(context: *mut c_void),
}

/// Handles the requests of one poll. The handler may block.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Handle {
    pub context: *mut c_void,
    pub call: extern "C" fn(context: *mut c_void, received: *const Received, replier: crate::calls::Replier),
}

/// Handles requests on a thread of the transport. The rules of [`OnFrame`] apply. The handler may block.
#[repr(C)]
pub struct OnRequest {
    pub context: *mut c_void,
    pub call: extern "C" fn(context: *mut c_void, received: *const Received, replier: crate::calls::Replier),
    pub release: extern "C" fn(context: *mut c_void),
}
