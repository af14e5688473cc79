//! Exposes the functions of `hopmeter_instrument::typed` to Python adapters, for typed carriage.

use hopmeter_instrument::frame::HEADER_BYTES;
use hopmeter_instrument::typed;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(label, module)?)?;
    module.add_function(wrap_pyfunction!(header_of, module)?)?;
    module.add_function(wrap_pyfunction!(seq_of, module)?)?;
    module.add_function(wrap_pyfunction!(is_checked, module)?)?;
    module.add_function(wrap_pyfunction!(sent_of, module)?)
}

/// Returns a header's label as 56 ASCII characters, for the text of a message.
#[pyfunction]
fn label<'py>(py: Python<'py>, header: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
    let label = typed::label(&bytes(py, header)?);
    // The conversion is lossless, because a label is ASCII.
    Ok(PyString::new(py, &String::from_utf8_lossy(&label)))
}

/// Returns the 64-byte header that a message carried. An invalid label yields a header that every receiver rejects.
#[pyfunction]
fn header_of<'py>(py: Python<'py>, label: &str, sent_ns: i64, payload_bytes: usize) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &typed::header_of(label.as_bytes(), sent_ns, payload_bytes))
}

/// Returns the message number in a header.
#[pyfunction]
fn seq_of(py: Python<'_>, header: &Bound<'_, PyAny>) -> PyResult<u64> {
    Ok(typed::seq_of(&bytes(py, header)?))
}

/// Returns whether the receiver checks the payload of the header's message.
#[pyfunction]
fn is_checked(py: Python<'_>, header: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(typed::is_checked(&bytes(py, header)?))
}

/// Returns the sent time in a header, in nanoseconds.
#[pyfunction]
fn sent_of(py: Python<'_>, header: &Bound<'_, PyAny>) -> PyResult<i64> {
    Ok(typed::sent_of(&bytes(py, header)?))
}

fn bytes(py: Python<'_>, header: &Bound<'_, PyAny>) -> PyResult<[u8; HEADER_BYTES]> {
    let mut bytes = [0; HEADER_BYTES];
    let buffer = PyBuffer::<u8>::get(header)?;
    if buffer.len_bytes() != HEADER_BYTES {
        return Err(PyValueError::new_err(format!("a header has {HEADER_BYTES} bytes, not {}", buffer.len_bytes())));
    }
    buffer.copy_to_slice(py, &mut bytes)?;
    Ok(bytes)
}
