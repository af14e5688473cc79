//! Provides measurements of the machine and of the instrument, which `hopmeter doctor` and every run use.

use std::path::PathBuf;
use std::time::Duration;

use hopmeter_instrument::{Error, clock, cost, noise};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Adds the probes to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(noise_probe, module)?)?;
    module.add_function(wrap_pyfunction!(sleep_errors, module)?)?;
    module.add_function(wrap_pyfunction!(clock_quality, module)?)?;
    module.add_function(wrap_pyfunction!(recording_cost, module)?)
}

/// Observes one core for `seconds`. If `core` is None, the scheduler chooses the core. Returns {core, watched_ns,
/// longest_ns, gaps, gaps_ns}, where a gap is an interruption of more than 10 us.
#[pyfunction]
#[pyo3(signature = (core, seconds))]
fn noise_probe(py: Python<'_>, core: Option<u32>, seconds: f64) -> PyResult<Bound<'_, PyDict>> {
    let duration = duration(seconds)?;
    let seen = py.detach(|| noise::probe(core, duration)).map_err(to_python_error)?;
    let answer = PyDict::new(py);
    answer.set_item("core", seen.core)?;
    answer.set_item("watched_ns", seen.watched_ns)?;
    answer.set_item("longest_ns", seen.longest_ns)?;
    answer.set_item("gaps", seen.gaps)?;
    answer.set_item("gaps_ns", seen.gaps_ns)?;
    Ok(answer)
}

/// Measures how late sleeping threads wake up. Returns {asked_ns, sleeps, p50_ns, max_ns} for each requested pair
/// (seconds, sleeps).
#[pyfunction]
#[pyo3(signature = (asked, core = None))]
fn sleep_errors(py: Python<'_>, asked: Vec<(f64, usize)>, core: Option<u32>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    asked.into_iter().map(|(seconds, sleeps)| sleep_error(py, core, seconds, sleeps)).collect()
}

fn sleep_error(py: Python<'_>, core: Option<u32>, seconds: f64, sleeps: usize) -> PyResult<Bound<'_, PyDict>> {
    let duration = duration(seconds)?;
    let seen = py.detach(|| noise::sleep_error(core, duration, sleeps)).map_err(to_python_error)?;
    let answer = PyDict::new(py);
    answer.set_item("asked_ns", seen.asked_ns)?;
    answer.set_item("sleeps", seen.sleeps)?;
    answer.set_item("p50_ns", seen.p50_ns)?;
    answer.set_item("max_ns", seen.max_ns)?;
    Ok(answer)
}

/// Measures the cost of a clock reading and the clock resolution. Returns {cost_ns, resolution_ns}.
#[pyfunction]
fn clock_quality(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let seen = py.detach(clock::measure_quality);
    let answer = PyDict::new(py);
    answer.set_item("cost_ns", seen.cost_ns)?;
    answer.set_item("resolution_ns", seen.resolution_ns)?;
    Ok(answer)
}

/// Measures the cost of the instrument. Returns {clock_ns, message_ns, copy_bytes_per_ns}.
///
/// For each message, the instrument reads the clock twice and writes one record. To measure the copy rate, one core
/// copies blocks of several megabytes. `directory` must have room for a temporary file of several megabytes.
#[pyfunction]
fn recording_cost(py: Python<'_>, directory: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let seen = py.detach(|| cost::measure(&directory)).map_err(to_python_error)?;
    let answer = PyDict::new(py);
    answer.set_item("clock_ns", seen.clock_ns)?;
    answer.set_item("message_ns", seen.message_ns)?;
    answer.set_item("copy_bytes_per_ns", seen.copy_bytes_per_ns)?;
    Ok(answer)
}

/// Converts seconds to a duration. Raises `ValueError` if the number is not a valid duration.
pub fn duration(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|cause| {
        pyo3::exceptions::PyValueError::new_err(format!("{seconds} is not a valid time in seconds: {cause}"))
    })
}

/// Converts an error to an `OSError`.
pub fn to_python_error(error: Error) -> PyErr {
    PyOSError::new_err(error.to_string())
}
