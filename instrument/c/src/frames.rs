//! Passes received frames across the C ABI, in both directions.

use std::ffi::c_void;

use hopmeter_instrument::contract::{FrameMut, Keep, Received, Sent, copy_on, count_copy};

use crate::abi;
use crate::text::slice;

/// The adapter's own message. A node has only one adapter, so this message can return only to the adapter that it came
/// from.
struct Native(*const c_void);

/// A frame that the adapter received, converted to the instrument's type.
pub struct CReceived<'a> {
    raw: &'a abi::Received,
    native: Native,
}

impl<'a> CReceived<'a> {
    pub fn new(raw: &'a abi::Received) -> Self {
        Self { raw, native: Native(raw.native) }
    }

    /// Passes the frame to a closure of the instrument.
    pub fn show(&self, take: impl FnOnce(Received<'_>)) {
        take(Received {
            header: slice(self.raw.header, self.raw.header_bytes),
            payload: slice(self.raw.payload, self.raw.payload_bytes),
            native: (!self.raw.native.is_null()).then_some(&self.native as _),
            keep: self.raw.keep.is_some().then_some(self as _),
            arrived_ns: self.raw.arrived_ns,
        });
    }

    fn to_bytes(&self) -> Vec<u8> {
        let header = slice(self.raw.header, self.raw.header_bytes);
        [header, slice(self.raw.payload, self.raw.payload_bytes)].concat()
    }
}

impl Keep for CReceived<'_> {
    fn keep(&self) -> Box<dyn AsRef<[u8]> + Send> {
        match self.raw.keep.map(|keep| CFrameHolder(keep(self.raw.native))) {
            Some(kept) if kept.0.release.is_some() => Box::new(kept),
            _ => Box::new(self.to_bytes()),
        }
    }
}

/// Bytes that the adapter keeps valid for the instrument.
struct CFrameHolder(abi::FrameHolder);

// SAFETY: the ABI says that any thread may release these bytes.
unsafe impl Send for CFrameHolder {}

impl AsRef<[u8]> for CFrameHolder {
    fn as_ref(&self) -> &[u8] {
        slice(self.0.data, self.0.bytes)
    }
}

impl Drop for CFrameHolder {
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            release(self.0.handle);
        }
    }
}

/// Converts a received frame so that the adapter can forward it.
pub fn lend(received: &Received<'_>) -> abi::Received {
    let native = received.native.and_then(|native| native.downcast_ref::<Native>());
    abi::Received {
        header: received.header.as_ptr(),
        header_bytes: received.header.len(),
        payload: received.payload.as_ptr(),
        payload_bytes: received.payload.len(),
        native: native.map_or(std::ptr::null(), |native| native.0),
        keep: None,
        arrived_ns: 0,
    }
}

/// Copies a received frame into a frame that the adapter sends, and counts the copy. The header of `received` has 64
/// bytes, and the payloads of both frames have the same length.
///
/// # Safety
/// Both frames must be valid during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hopmeter_copy(received: *const abi::Received, frame: abi::FrameMut) {
    // SAFETY: the caller guarantees that both frames are valid during the call.
    let (received, frame) = unsafe { (&*received, frame_mut(&frame)) };
    CReceived::new(received).show(|received| {
        let copied = copy_on(&received, |_, fill| {
            fill.write(frame);
            Ok(Sent::Accepted)
        });
        debug_assert!(copied.is_ok(), "filling does not fail");
    });
}

/// Counts a payload copy that the adapter itself makes, because its library copies only whole messages.
#[unsafe(no_mangle)]
pub extern "C" fn hopmeter_count_copy() {
    count_copy();
}

/// Converts the C description of an unfilled frame to the instrument's type.
///
/// # Safety
/// The caller must have exclusive use of the frame's header and payload.
pub unsafe fn frame_mut(frame: &abi::FrameMut) -> FrameMut<'_> {
    let payload = match frame.payload_bytes {
        0 => &mut [],
        bytes => unsafe { std::slice::from_raw_parts_mut(frame.payload, bytes) },
    };
    FrameMut { header: unsafe { &mut *frame.header.cast::<[u8; abi::HEADER_BYTES]>() }, payload }
}
