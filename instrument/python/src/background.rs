//! The background load during a trial, for `hopmeter.node.background`.

use hopmeter_instrument::background::{Load, Request};
use pyo3::prelude::*;

use crate::probes::to_python_error;

/// Adds the background load to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<BackgroundLoad>()
}

/// Threads that keep each of `cores` busy for a part of the time and together copy memory. The threads run until this
/// object is destroyed.
#[pyclass(frozen)]
struct BackgroundLoad(Load);

#[pymethods]
impl BackgroundLoad {
    #[new]
    fn new(py: Python<'_>, cores: Vec<u32>, cpu_share: f64, copy_bytes_per_s: f64) -> PyResult<Self> {
        let request = Request { cores, cpu_share, copy_bytes_per_s };
        py.detach(|| Load::start(&request)).map(Self).map_err(to_python_error)
    }

    /// Returns (time in ns, CPU time of the busy threads in ns, copied bytes), all counted since the start.
    fn reading(&self) -> PyResult<(i64, i64, u64)> {
        let seen = self.0.reading().map_err(to_python_error)?;
        Ok((seen.at_ns, seen.cpu_ns, seen.copied_bytes))
    }
}
