//! Results for callers in C: the error of a failed call and its remedy are stored per thread. The C libraries of other
//! transports also use this module.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};

use hopmeter_instrument::prelude::*;

/// The result of a function if there is no frame or no free memory.
pub const NOTHING: i64 = -1;
/// The result of a failure.
pub const FAILED: i64 = -2;

thread_local! {
    /// The error and its remedy.
    static LAST_ERROR: RefCell<(CString, CString)> = RefCell::default();
}

/// Stores an error as this thread's last error.
pub fn note(error: &Error) {
    let texts = (c_text(&error.what_text()), c_text(error.remedy_text().unwrap_or_default()));
    LAST_ERROR.with(|last| last.replace(texts));
}

fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// Returns a handle of the value in `result`. If `result` is an error, the function stores the error and returns null.
pub fn or_null<T>(result: Result<T>) -> *mut T {
    match result {
        Ok(value) => Box::into_raw(Box::new(value)),
        Err(error) => {
            note(&error);
            std::ptr::null_mut()
        }
    }
}

/// Returns the number in a result, or [`NOTHING`] if there is none. After an error, stores the error and returns
/// [`FAILED`].
#[inline]
pub fn or_code(result: Result<Option<i64>>) -> i64 {
    match result {
        Ok(number) => number.unwrap_or(NOTHING),
        Err(error) => {
            note(&error);
            FAILED
        }
    }
}

/// Destroys the value of a handle; a null handle is allowed and has no effect.
///
/// # Safety
/// `handle` must come from [`or_null`], or be null, and must not be used after this call.
pub unsafe fn close<T>(handle: *mut T) {
    if !handle.is_null() {
        drop(Box::from_raw(handle));
    }
}

/// # Errors
/// Fails if the text is not UTF-8.
///
/// # Safety
/// `text` must be a null-terminated string.
pub unsafe fn text<'a>(text: *const c_char) -> Result<&'a str> {
    CStr::from_ptr(text).to_str().context("reading a text from a caller in C")
}

/// Returns the text of the last failure on this thread, which is valid until the next failure.
pub fn last_error() -> *const c_char {
    LAST_ERROR.with(|last| last.borrow().0.as_ptr())
}

/// Returns the remedy for the last failure on this thread, or an empty text if no remedy is known. The text is valid
/// until the next failure.
pub fn last_remedy() -> *const c_char {
    LAST_ERROR.with(|last| last.borrow().1.as_ptr())
}
