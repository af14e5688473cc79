//! Measures the clock offset between two hosts, for `hopmeter.clocks`.

use std::net::{IpAddr, SocketAddr};
use std::sync::Mutex;

use hopmeter_instrument::clock_exchange::{self, Batch, Exchange, KernelClock, Request, Token};
use hopmeter_instrument::sync::lock;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::probes::{duration, to_python_error};

/// The maximum number of exchanges in a batch, which a responder answers without a pause.
const MOST_EXCHANGES: usize = 1000;

/// Adds the clock exchange to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ClockResponder>()?;
    module.add_function(wrap_pyfunction!(clock_batch, module)?)?;
    module.add_function(wrap_pyfunction!(clock_reading, module)?)
}

/// A thread that answers the clock exchanges of one run. The thread runs until `stop` is called or this object is
/// destroyed.
#[pyclass(frozen)]
struct ClockResponder(Mutex<Option<clock_exchange::Responder>>);

#[pymethods]
impl ClockResponder {
    /// Listens at an IP address. `token` has 16 bytes. If the port is 0, the operating system chooses a free port.
    #[new]
    #[pyo3(signature = (host, token, port = 0))]
    fn new(host: &str, token: &[u8], port: u16) -> PyResult<Self> {
        let responder = clock_exchange::Responder::start(address(host, port)?, to_token(token)?);
        Ok(Self(Mutex::new(Some(responder.map_err(to_python_error)?))))
    }

    /// The port that the responder listens on, or None after `stop`.
    #[getter]
    fn port(&self) -> Option<u16> {
        lock(&self.0).as_ref().map(|responder| responder.address().port())
    }

    /// Returns (answered requests, ignored datagrams, wake-ups of the responder's thread).
    fn counts(&self) -> (u64, u64, u64) {
        let counts = lock(&self.0).as_ref().map(clock_exchange::Responder::counts).unwrap_or_default();
        (counts.answered, counts.ignored, counts.wakes)
    }

    /// Ends the thread and closes the socket.
    fn stop(&self, py: Python<'_>) {
        let responder = lock(&self.0).take();
        py.detach(|| drop(responder));
    }
}

/// Runs a batch of clock exchanges with a responder. Returns {asked, answered, impossible, median_round_trip_ns, best},
/// where `best` lists the exchanges with the shortest round trips. Each exchange is {asked_ns, received_ns, sent_ns,
/// answered_ns, error_ns, kernel_stamps}. Raises OSError if the responder does not answer.
#[pyfunction]
#[pyo3(signature = (host, port, token, exchanges = 200, patience_s = 0.2))]
fn clock_batch<'py>(
    py: Python<'py>,
    host: &str,
    port: u16,
    token: &[u8],
    exchanges: usize,
    patience_s: f64,
) -> PyResult<Bound<'py, PyDict>> {
    if !(1..=MOST_EXCHANGES).contains(&exchanges) {
        return Err(PyValueError::new_err(format!("a batch has 1 to {MOST_EXCHANGES} exchanges, not {exchanges}")));
    }
    let (responder, token, patience) = (address(host, port)?, to_token(token)?, duration(patience_s)?);
    let request = Request { responder, token, exchanges, patience };
    let batch = py.detach(|| clock_exchange::measure_batch(&request)).map_err(to_python_error)?;
    describe_batch(py, &batch)
}

fn describe_batch<'py>(py: Python<'py>, batch: &Batch) -> PyResult<Bound<'py, PyDict>> {
    let answer = PyDict::new(py);
    answer.set_item("asked", batch.asked)?;
    answer.set_item("answered", batch.answered)?;
    answer.set_item("impossible", batch.impossible)?;
    answer.set_item("median_round_trip_ns", batch.median_round_trip_ns)?;
    let best = batch.best.iter().map(|exchange| describe_exchange(py, exchange)).collect::<PyResult<Vec<_>>>()?;
    answer.set_item("best", best)?;
    Ok(answer)
}

fn describe_exchange<'py>(py: Python<'py>, exchange: &Exchange) -> PyResult<Bound<'py, PyDict>> {
    let answer = PyDict::new(py);
    answer.set_item("asked_ns", exchange.asked_ns)?;
    answer.set_item("received_ns", exchange.received_ns)?;
    answer.set_item("sent_ns", exchange.sent_ns)?;
    answer.set_item("answered_ns", exchange.answered_ns)?;
    answer.set_item("error_ns", exchange.error_ns)?;
    answer.set_item("kernel_stamps", exchange.kernel_stamps)?;
    Ok(answer)
}

/// Reads this host's clocks together. Returns {monotonic_ns, raw_ns, bracket_ns, kernel}, where `kernel` describes how
/// the kernel corrects its clock. `kernel` is None if the system does not allow programs to read the kernel's
/// corrections.
#[pyfunction]
fn clock_reading(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let seen = clock_exchange::read_clocks();
    let answer = PyDict::new(py);
    answer.set_item("monotonic_ns", seen.monotonic_ns)?;
    answer.set_item("raw_ns", seen.raw_ns)?;
    answer.set_item("bracket_ns", seen.bracket_ns)?;
    answer.set_item("kernel", seen.kernel.map(|kernel| describe_kernel(py, kernel)).transpose()?)?;
    Ok(answer)
}

fn describe_kernel(py: Python<'_>, kernel: KernelClock) -> PyResult<Bound<'_, PyDict>> {
    let answer = PyDict::new(py);
    answer.set_item("frequency_ppb", kernel.frequency_ppb)?;
    answer.set_item("tick_us", kernel.tick_us)?;
    answer.set_item("status", kernel.status)?;
    answer.set_item("is_synchronised", kernel.is_synchronised)?;
    answer.set_item("maximum_error_us", kernel.maximum_error_us)?;
    answer.set_item("estimated_error_us", kernel.estimated_error_us)?;
    Ok(answer)
}

fn address(host: &str, port: u16) -> PyResult<SocketAddr> {
    let host: IpAddr =
        host.parse().map_err(|cause| PyValueError::new_err(format!("{host:?} is not an IP address: {cause}")))?;
    Ok((host, port).into())
}

fn to_token(token: &[u8]) -> PyResult<Token> {
    token.try_into().map_err(|_| PyValueError::new_err(format!("a token has 16 bytes, not {}", token.len())))
}
