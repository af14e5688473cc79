//! Calls Python functions without creating tuples, dictionaries or numbers for every message.

use pyo3::conversion::IntoPyObjectExt;
use pyo3::ffi;
use pyo3::prelude::*;

/// Calls `method(first, second)`.
pub fn call2<'py>(
    method: &Bound<'py, PyAny>,
    first: &Bound<'py, PyAny>,
    second: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let end = std::ptr::null_mut::<ffi::PyObject>();
    // SAFETY: `method` proves that this thread holds the lock. The arguments are borrowed, and a null pointer ends
    // their list.
    unsafe {
        let answer = ffi::PyObject_CallFunctionObjArgs(method.as_ptr(), first.as_ptr(), second.as_ptr(), end);
        Bound::from_owned_ptr_or_err(method.py(), answer)
    }
}

/// Caches a Python object for a value that rarely changes.
pub struct Known<T> {
    value: T,
    object: Py<PyAny>,
}

impl<T: Copy + PartialEq + for<'py> IntoPyObject<'py>> Known<T> {
    pub fn new(py: Python<'_>, value: T) -> PyResult<Self> {
        Ok(Self { value, object: value.into_py_any(py)? })
    }

    pub fn object<'a, 'py>(&'a mut self, py: Python<'py>, value: T) -> PyResult<&'a Bound<'py, PyAny>> {
        if value != self.value {
            *self = Self::new(py, value)?;
        }
        Ok(self.object.bind(py))
    }
}
