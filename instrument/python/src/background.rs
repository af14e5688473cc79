//! The load beside the nodes of a trial, for `hopmeter.node.background`.

use hopmeter_instrument::background::{Load, Request};
use pyo3::prelude::*;

use crate::probes::to_python_error;

/// Adds the load to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<BackgroundLoad>()
}

/// Threads that keep each of `cores` busy for a part of its time, and copy memory on all of them together, until this
/// object is gone.
#[pyclass(frozen)]
struct BackgroundLoad(Load);

#[pymethods]
impl BackgroundLoad {
    #[new]
    fn new(py: Python<'_>, cores: Vec<u32>, cpu_share: f64, copy_bytes_per_s: f64) -> PyResult<Self> {
        let request = Request { cores, cpu_share, copy_bytes_per_s };
        py.detach(|| Load::start(&request)).map(Self).map_err(to_python_error)
    }

    /// Returns the time, the CPU time of the busy threads in ns, and the bytes that were copied, all since the start.
    fn reading(&self) -> PyResult<(i64, i64, u64)> {
        let seen = self.0.reading().map_err(to_python_error)?;
        Ok((seen.at_ns, seen.cpu_ns, seen.copied_bytes))
    }
}
