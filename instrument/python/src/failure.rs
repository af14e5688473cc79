//! Converts Python exceptions to the instrument's errors.

use hopmeter_instrument::Error;
use pyo3::prelude::*;

/// Converts an exception to an error of the adapter. An exception with a `remedy`
/// (`hopmeter.node.contract.AdapterError`) yields an error with the exception's text and remedy. An exception without a
/// `remedy` yields an error with the traceback.
pub fn failure(py: Python<'_>, doing: &str, raised: &PyErr) -> Error {
    match raised.value(py).getattr("remedy").and_then(|remedy| remedy.extract::<String>()) {
        Ok(remedy) => adapter_error(py, doing, raised).remedy(remedy),
        Err(_) => Error::new(format!("{doing} raised {}", first_line(raised))).because(traceback(py, raised)),
    }
}

fn adapter_error(py: Python<'_>, doing: &str, raised: &PyErr) -> Error {
    let error = Error::new(format!("{doing}: {}", raised.value(py)));
    match raised.cause(py) {
        Some(cause) => error.because(cause.value(py).to_string()),
        None => error,
    }
}

fn first_line(raised: &PyErr) -> String {
    raised.to_string().lines().next().unwrap_or_default().to_owned()
}

fn traceback(py: Python<'_>, raised: &PyErr) -> String {
    let lines = py
        .import("traceback")
        .and_then(|module| {
            module.call_method1("format_exception", (raised.get_type(py), raised.value(py), raised.traceback(py)))
        })
        .and_then(|lines| lines.extract::<Vec<String>>());
    lines.map_or_else(|_| raised.to_string(), |lines| lines.concat().trim_end().to_owned())
}
