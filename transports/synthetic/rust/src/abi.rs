//! The C ABI of sender and receiver, for C++ and Python; `cpp/hopmeter_synthetic.h` declares these functions and
//! documents them for callers.

use std::ffi::{CString, c_char, c_int};
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use hopmeter_shm::c_results::{close, last_error, last_remedy, or_code, or_null, text};

use crate::held::Frame;
use crate::{Plan, Receiver, Sender};

/// The version of hopmeter.
#[no_mangle]
pub extern "C" fn hopmeter_synthetic_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Returns the text of the last failure on this thread, which is valid until the next failure.
#[no_mangle]
pub extern "C" fn hopmeter_synthetic_error() -> *const c_char {
    last_error()
}

/// Returns the remedy for the last failure on this thread, or an empty text if no remedy is known. The text is valid
/// until the next failure.
#[no_mangle]
pub extern "C" fn hopmeter_synthetic_remedy() -> *const c_char {
    last_remedy()
}

/// # Safety
/// `settings` must be a null-terminated string.
unsafe fn plan(settings: *const c_char) -> Result<Plan> {
    Plan::read(serde_json::from_str(text(settings)?).context("reading the settings of synthetic as JSON")?)
}

/// A sender with its address as a C string.
pub struct SharedSender {
    sender: Sender,
    address: CString,
}

/// # Safety
/// `link` and `settings` must be null-terminated strings.
#[no_mangle]
pub unsafe extern "C" fn hopmeter_synthetic_sender_open(
    link: *const c_char,
    settings: *const c_char,
    frame_bytes: u64,
) -> *mut SharedSender {
    or_null(plan(settings).and_then(|plan| {
        let sender = Sender::open(text(link)?, plan, frame_bytes as usize)?;
        let address = CString::new(sender.address()).context("the address of the ring")?;
        Ok(SharedSender { sender, address })
    }))
}

/// # Safety
/// `sender` must be open; this rule applies to all functions that take a sender.
#[no_mangle]
pub unsafe extern "C" fn hopmeter_synthetic_sender_address(sender: *const SharedSender) -> *const c_char {
    (*sender).address.as_ptr()
}

/// # Safety
/// Like [`hopmeter_synthetic_sender_address`]; only one thread at a time may call this function.
#[no_mangle]
pub unsafe extern "C" fn hopmeter_synthetic_sender_reserve(sender: *mut SharedSender, payload_bytes: u64) -> i64 {
    let reserved = (*sender).sender.reserve(payload_bytes as usize);
    or_code(reserved.map(|frame| frame.map(|frame| frame.as_mut_ptr() as i64)))
}

/// # Safety
/// Like [`hopmeter_synthetic_sender_reserve`], which must just have returned memory for this length.
#[no_mangle]
pub unsafe extern "C" fn hopmeter_synthetic_sender_publish(sender: *mut SharedSender, payload_bytes: u64) {
    (*sender).sender.publish(payload_bytes as usize);
}

/// # Safety
/// `sender` must be open or null, and must not be used after this call.
#[no_mangle]
pub unsafe extern "C" fn hopmeter_synthetic_sender_close(sender: *mut SharedSender) {
    close(sender);
}

/// A receiver and its current frame.
pub struct SharedReceiver {
    receiver: Receiver,
    frame: Frame,
}

/// # Safety
/// `address`, `link` and `settings` must be null-terminated strings.
#[no_mangle]
pub unsafe extern "C" fn hopmeter_synthetic_receiver_connect(
    address: *const c_char,
    link: *const c_char,
    settings: *const c_char,
    may_sleep: c_int,
) -> *mut SharedReceiver {
    or_null(plan(settings).and_then(|plan| {
        let receiver = Receiver::connect(text(address)?, text(link)?, plan, may_sleep != 0)?;
        Ok(SharedReceiver { receiver, frame: Frame::default() })
    }))
}

/// # Safety
/// `receiver` must be connected; only one thread at a time may call this function.
#[no_mangle]
pub unsafe extern "C" fn hopmeter_synthetic_receiver_next(receiver: *mut SharedReceiver, timeout_ns: u64) -> i64 {
    let shared = &mut *receiver;
    let next = shared.receiver.next_frame(Duration::from_nanos(timeout_ns));
    or_code(next.map(|next| {
        shared.frame = next?;
        Some(shared.frame.len() as i64)
    }))
}

/// # Safety
/// Like [`hopmeter_synthetic_receiver_next`].
#[no_mangle]
pub unsafe extern "C" fn hopmeter_synthetic_receiver_frame(receiver: *const SharedReceiver) -> *const u8 {
    (*receiver).frame.as_ptr()
}

/// # Safety
/// `receiver` must be connected or null, and must not be used after this call.
#[no_mangle]
pub unsafe extern "C" fn hopmeter_synthetic_receiver_close(receiver: *mut SharedReceiver) {
    close(receiver);
}
