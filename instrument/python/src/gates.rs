//! Provides `on_frame` and `on_request`, the Python callables that pass frames and requests to the instrument from a
//! library thread.

use std::sync::Mutex;

use hopmeter_instrument::clock;
use hopmeter_instrument::contract::{OnFrame, OnRequest, Subscription};
use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;
use pyo3::pyclass_init::PyClassInitializer;
use pyo3::sync::MutexExt;

use crate::end::End;
use crate::fill::SendMethod;
use crate::server::PyServer;
use crate::take::{Detach, Reply, request_parts, with_received};

/// Provides the `on_frame` callable, which adapters call on a thread of their library.
#[pyclass(frozen, module = "hopmeter._instrument")]
pub struct FrameGate {
    pub role: Mutex<Option<OnFrame>>,
    pub detach: Detach,
}

#[pymethods]
impl FrameGate {
    /// Passes one frame to the role, as the `take` callable does. Frames that arrive after the link end is closed are
    /// ignored.
    #[pyo3(signature = (frame, payload = None, /, *, native = None))]
    fn on_frame<'py>(
        &self,
        frame: &Bound<'py, PyAny>,
        payload: Option<&Bound<'py, PyAny>>,
        native: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let (arrived_ns, py) = (clock::now_ns(), frame.py());
        // `on_frame` releases the interpreter lock while it waits for the gate's lock, to avoid a deadlock with the
        // thread that holds the gate's lock.
        let mut role = self.role.lock_py_attached(py).unwrap_or_else(|broken| broken.into_inner());
        let Some(on_frame) = role.as_mut() else { return Ok(()) };
        with_received(arrived_ns, frame, payload, native, |received| self.detach.run(py, || on_frame.call(received)))
    }
}

/// Provides the `on_request` callable, which adapters call on a thread of their library.
#[pyclass(frozen, module = "hopmeter._instrument")]
pub struct RequestGate {
    pub role: Mutex<Option<(OnRequest, SendMethod)>>,
    pub detach: Detach,
}

#[pymethods]
impl RequestGate {
    /// Passes one request to the role, as the `handle` callable does. Requests that arrive after the link end is closed
    /// are ignored.
    #[pyo3(signature = (frame, second, third = None, /))]
    fn on_request<'py>(
        &self,
        frame: &Bound<'py, PyAny>,
        second: &Bound<'py, PyAny>,
        third: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        let arrived_ns = clock::now_ns();
        let (py, (payload, reply)) = (frame.py(), request_parts(second, third));
        let mut role = self.role.lock_py_attached(py).unwrap_or_else(|broken| broken.into_inner());
        let Some((on_request, sending)) = role.as_mut() else { return Ok(()) };
        let mut replier = Reply { sending, reply: reply.clone().unbind() };
        with_received(arrived_ns, frame, payload, None, |received| {
            self.detach.run(py, || on_request(received, &mut replier));
        })
    }
}

/// A gate that can be closed permanently. Closing a gate waits for a running call, so the thread that closes the gate
/// must not hold the interpreter lock.
pub trait Gated: PyClass<Frozen = True> + Into<PyClassInitializer<Self>> + Send + Sync {
    fn close(&self);
}

impl Gated for FrameGate {
    fn close(&self) {
        drop(self.role.lock().unwrap_or_else(|broken| broken.into_inner()).take());
    }
}

impl Gated for RequestGate {
    fn close(&self) {
        drop(self.role.lock().unwrap_or_else(|broken| broken.into_inner()).take());
    }
}

/// Creates a gate, lets the adapter open a link end that calls the gate, and returns both.
pub fn open_with_gate<'py, G: Gated>(
    py: Python<'py>,
    gate: G,
    method: &str,
    open: impl FnOnce(Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, Py<G>)> {
    let gate = Py::new(py, gate)?;
    let end = open(gate.bind(py).as_any().getattr(method)?)?;
    Ok((end, gate))
}

/// A callback receiver's link end, and its gate.
///
/// The adapter's `close` need not wait for a running callback, because closing the gate already waits for the callback.
pub struct CallbackSubscription<G: Gated> {
    end: Option<End>,
    gate: Py<G>,
    /// The server whose requests arrive through the link end; the server is closed after the link end.
    _server: Option<Box<PyServer>>,
}

impl<G: Gated> CallbackSubscription<G> {
    pub fn new(end: End, gate: Py<G>, server: Option<Box<PyServer>>) -> Self {
        Self { end: Some(end), gate, _server: server }
    }
}

impl<G: Gated> Subscription for CallbackSubscription<G> {}

impl<G: Gated> Drop for CallbackSubscription<G> {
    fn drop(&mut self) {
        drop(self.end.take());
        self.gate.get().close();
    }
}
