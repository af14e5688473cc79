//! The functions that adapters use to read their settings. Each function writes the value to `out` and returns
//! `HOPMETER_ACCEPTED`, or reports the reason to `error` and returns `HOPMETER_FAILED`. `name` is null-terminated.

use std::ffi::{CStr, c_char};

use hopmeter_instrument::{Error, Result};

use crate::abi::{self, Settings, Text};
use crate::text::report_error;

/// Reads a boolean setting.
///
/// # Safety
/// All pointers must be valid, and `settings` must belong to the adapter's setup.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hopmeter_setting_bool(
    settings: *const Settings,
    name: *const c_char,
    out: *mut bool,
    error: *const abi::Error,
) -> i32 {
    unsafe { answer(out, error, (*settings).0.setting(&setting_name(name))) }
}

/// Reads an integer setting.
///
/// # Safety
/// All pointers must be valid, and `settings` must belong to the adapter's setup.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hopmeter_setting_integer(
    settings: *const Settings,
    name: *const c_char,
    out: *mut i64,
    error: *const abi::Error,
) -> i32 {
    unsafe { answer(out, error, (*settings).0.setting(&setting_name(name))) }
}

/// Reads a number setting.
///
/// # Safety
/// All pointers must be valid, and `settings` must belong to the adapter's setup.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hopmeter_setting_double(
    settings: *const Settings,
    name: *const c_char,
    out: *mut f64,
    error: *const abi::Error,
) -> i32 {
    unsafe { answer(out, error, (*settings).0.setting(&setting_name(name))) }
}

/// Reads a text setting. The text that this function returns is valid as long as the settings are valid.
///
/// # Safety
/// All pointers must be valid, and `settings` must belong to the adapter's setup.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hopmeter_setting_text(
    settings: *const Settings,
    name: *const c_char,
    out: *mut Text,
    error: *const abi::Error,
) -> i32 {
    unsafe { answer(out, error, text(&*settings, &setting_name(name))) }
}

fn text(settings: &Settings, name: &str) -> Result<Text> {
    match settings.0.settings.get(name).and_then(|value| value.as_str()) {
        Some(text) => Ok(Text::lend(text)),
        // This call only produces the error. Its message distinguishes a missing setting from a setting of another
        // type.
        None => {
            settings.0.setting::<String>(name).and(Err(Error::new(format!("the setting `{name}` is not a string"))))
        }
    }
}

unsafe fn setting_name(name: *const c_char) -> String {
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

unsafe fn answer<T>(out: *mut T, error: *const abi::Error, value: Result<T>) -> i32 {
    match value {
        Ok(value) => {
            unsafe { out.write(value) };
            abi::ACCEPTED
        }
        Err(failed) => report_error(error, &failed),
    }
}
