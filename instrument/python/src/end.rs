//! Wraps a publisher, subscriber, client or server that a Python adapter opened.

use hopmeter_instrument::{Error, Result};
use pyo3::prelude::*;

use crate::attach::attach;
use crate::failure::failure;

/// A link end of a Python adapter. Dropping the `End` closes the link end. Every error names the link end.
pub struct End {
    pub object: Py<PyAny>,
    close: Py<PyAny>,
    pub what: String,
}

impl End {
    /// Wraps an adapter's object. `what` names the link end in errors.
    ///
    /// # Errors
    ///
    /// Fails if the object has no method `close`.
    pub fn new(object: Bound<'_, PyAny>, what: String) -> Result<Self> {
        let close = method_of(&object, "close", &what)?;
        Ok(Self { object: object.unbind(), close, what })
    }

    pub fn method(&self, py: Python<'_>, name: &str) -> Result<Py<PyAny>> {
        method_of(self.object.bind(py), name, &self.what)
    }

    pub fn address(&self) -> String {
        attach(|py| self.object.getattr(py, "address").and_then(|address| address.extract(py)).unwrap_or_default())
    }

    /// Adds the names of the link end and of the method to an exception.
    pub fn map_exception<T>(&self, py: Python<'_>, method: &str, result: PyResult<T>) -> Result<T> {
        result.map_err(|raised| failure(py, &format!("the adapter's {} ({method})", self.what), &raised))
    }
}

impl Drop for End {
    fn drop(&mut self) {
        attach(|py| {
            if let Err(failed) = self.map_exception(py, "close", self.close.call0(py)) {
                eprintln!("{failed}");
            }
        });
    }
}

/// Returns whether an adapter's object has the methods of an optional protocol in `hopmeter.node.contract`.
pub fn implements(object: &Bound<'_, PyAny>, protocol: &str) -> PyResult<bool> {
    object.is_instance(&object.py().import("hopmeter.node.contract")?.getattr(protocol)?)
}

fn method_of(object: &Bound<'_, PyAny>, name: &str, what: &str) -> Result<Py<PyAny>> {
    let method = object.getattr(name).ok().filter(|method| method.is_callable());
    method.map(Bound::unbind).ok_or_else(|| {
        Error::new(format!("the adapter's {what} has no method `{name}`"))
            .remedy("implement the methods that hopmeter/node/contract.py lists")
    })
}
