//! Exposes `hopmeter_instrument::typed` in the C ABI, for typed carriage in C++.

use hopmeter_instrument::{frame, typed};

use crate::abi::{HEADER_BYTES, LABEL_BYTES, SENT_AT};
use crate::text::slice;

const _: () = assert!(LABEL_BYTES == typed::LABEL_BYTES);
const _: () = assert!(HEADER_BYTES == frame::HEADER_BYTES && SENT_AT == frame::SENT_AT);

/// Writes the part of a header that becomes the text of a message: `HOPMETER_LABEL_BYTES` ASCII characters without a
/// terminator.
///
/// # Safety
/// `header` must have `HOPMETER_HEADER_BYTES` bytes, and `out` must have room for a label.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hopmeter_label(header: *const u8, out: *mut u8) {
    // SAFETY: the caller guarantees that `header` has enough bytes, and that `out` has room for a label.
    unsafe { out.cast::<[u8; LABEL_BYTES]>().write(typed::label(&*header.cast::<[u8; HEADER_BYTES]>())) }
}

/// Restores a message's header from the label that the message carried as text. If the text is not a label, every
/// receiver rejects the header.
///
/// # Safety
/// `label` must have `label_bytes` bytes, and `out` must have room for a header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hopmeter_header_of(
    label: *const u8,
    label_bytes: usize,
    sent_ns: i64,
    payload_bytes: usize,
    out: *mut u8,
) {
    let header = typed::header_of(slice(label, label_bytes), sent_ns, payload_bytes);
    // SAFETY: the caller guarantees that `out` has room for a header.
    unsafe { out.cast::<[u8; HEADER_BYTES]>().write(header) }
}

/// Returns the number of the message that a header belongs to.
///
/// # Safety
/// `header` must have `HOPMETER_HEADER_BYTES` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hopmeter_seq_of(header: *const u8) -> u64 {
    // SAFETY: the caller guarantees that `header` has `HOPMETER_HEADER_BYTES` bytes.
    typed::seq_of(unsafe { &*header.cast::<[u8; HEADER_BYTES]>() })
}

/// Returns whether the receiver checks the payload of the message that a header belongs to.
///
/// # Safety
/// `header` must have `HOPMETER_HEADER_BYTES` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hopmeter_is_checked(header: *const u8) -> bool {
    // SAFETY: the caller guarantees that `header` has `HOPMETER_HEADER_BYTES` bytes.
    typed::is_checked(unsafe { &*header.cast::<[u8; HEADER_BYTES]>() })
}

/// Returns when the message that a header belongs to was sent, in nanoseconds.
///
/// # Safety
/// `header` must have `HOPMETER_HEADER_BYTES` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hopmeter_sent_of(header: *const u8) -> i64 {
    // SAFETY: the caller guarantees that `header` has `HOPMETER_HEADER_BYTES` bytes.
    typed::sent_of(unsafe { &*header.cast::<[u8; HEADER_BYTES]>() })
}
