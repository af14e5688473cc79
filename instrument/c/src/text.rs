//! Passes texts and errors across the C ABI.

use std::ffi::{c_char, c_void};

use hopmeter_instrument::{Error, Result, Sent};

use crate::abi::{self, Text};

impl Text {
    /// Borrows a text for one call.
    pub fn lend(text: &str) -> Self {
        Self { data: text.as_ptr().cast::<c_char>(), bytes: text.len() }
    }

    /// Copies a text that the adapter passed.
    pub fn to_owned_text(self) -> String {
        String::from_utf8_lossy(slice(self.data.cast(), self.bytes)).into_owned()
    }
}

/// Returns bytes that the adapter passed. An empty slice may have a null pointer.
pub fn slice<'a>(data: *const u8, bytes: usize) -> &'a [u8] {
    if bytes == 0 {
        return &[];
    }
    // SAFETY: the ABI guarantees that `data` points to `bytes` bytes that stay valid for the duration of the call.
    unsafe { std::slice::from_raw_parts(data, bytes) }
}

/// Calls `ask` and returns the text that `ask` reports.
pub fn read_text(ask: impl FnOnce(*const abi::TextOut)) -> String {
    extern "C" fn put(context: *mut c_void, text: Text) {
        // SAFETY: the context is the `String` below, which outlives the call.
        *unsafe { &mut *context.cast::<String>() } = text.to_owned_text();
    }
    let mut answer = String::new();
    ask(&abi::TextOut { context: (&raw mut answer).cast(), put });
    answer
}

/// Calls `ask` and returns all facts that `ask` reports.
pub fn facts(ask: impl FnOnce(*const abi::FactsOut)) -> Vec<(String, String)> {
    type Facts = Vec<(String, String)>;
    extern "C" fn put(context: *mut c_void, name: Text, value: Text) {
        // SAFETY: the context is the vector below, which outlives the call.
        unsafe { &mut *context.cast::<Facts>() }.push((name.to_owned_text(), value.to_owned_text()));
    }
    let mut all = Facts::new();
    ask(&abi::FactsOut { context: (&raw mut all).cast(), put });
    all
}

/// Calls a function that may fail. The returned closure creates the error that the function reported, so that a
/// successful call pays nothing for errors.
pub fn attempt<T>(call: impl FnOnce(*const abi::Error) -> T) -> (T, impl FnOnce() -> Error) {
    extern "C" fn put(context: *mut c_void, what: Text, remedy: Text) {
        let error = Error::new(what.to_owned_text());
        let remedy = remedy.to_owned_text();
        let error = if remedy.is_empty() { error } else { error.remedy(remedy) };
        // SAFETY: the context is the option below, which outlives the call.
        *unsafe { &mut *context.cast::<Option<Error>>() } = Some(error);
    }
    let mut told: Option<Error> = None;
    let answer = call(&abi::Error { context: (&raw mut told).cast(), put });
    (answer, move || told.unwrap_or_else(|| Error::new("the adapter failed without an error message")))
}

/// Converts the status of a function that opens a link end to a result.
pub fn check_status(call: impl FnOnce(*const abi::Error) -> i32) -> Result<()> {
    match attempt(call) {
        (abi::ACCEPTED, _) => Ok(()),
        (_, error) => Err(error()),
    }
}

/// Converts the status of a send to a result.
pub fn send_outcome(call: impl FnOnce(*const abi::Error) -> i32) -> Result<Sent> {
    match attempt(call) {
        (abi::ACCEPTED, _) => Ok(Sent::Accepted),
        (abi::BUSY, _) => Ok(Sent::Busy),
        (_, error) => Err(error()),
    }
}

/// Converts the return value of a poll to the number of frames.
pub fn count(call: impl FnOnce(*const abi::Error) -> i64) -> Result<usize> {
    let (answer, error) = attempt(call);
    usize::try_from(answer).map_err(|_| error())
}

/// Reports an error to the adapter.
pub fn report_error(out: *const abi::Error, error: &Error) -> i32 {
    // SAFETY: the ABI guarantees that `out` is valid during the call.
    let out = unsafe { &*out };
    (out.put)(out.context, Text::lend(&error.what_text()), Text::lend(error.remedy_text().unwrap_or_default()));
    abi::FAILED
}
