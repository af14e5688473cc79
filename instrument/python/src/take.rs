//! Provides `take` and `handle`, the Python callables that pass frames and requests from a polled adapter to the
//! instrument.

use std::any::Any;

use hopmeter_instrument::contract::{Handle, Received, Replier, Sent, Take};
use hopmeter_instrument::{Error, Result, clock, contract};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::attach::attach;
use crate::failure::failure;
use crate::fill::SendMethod;
use crate::loan::Slot;
use crate::view::View;

/// Whether the interpreter lock is released while a role handles a frame. The lock is released only if the role's work
/// may wait, because releasing the lock slightly delays every message. Without hopmeter, a plain Python program also
/// holds the lock while it handles a message.
#[derive(Clone, Copy)]
pub struct Detach(pub bool);

impl Detach {
    pub fn run(self, py: Python<'_>, role: impl FnOnce()) {
        if self.0 {
            let role = SameThread(role);
            py.detach(move || role.run());
        } else {
            role();
        }
    }
}

/// A closure that `detach` runs immediately on this thread, so it never moves to another thread.
struct SameThread<F>(F);
// SAFETY: the closure runs on the thread that created it, so it is never sent to another thread.
unsafe impl<F> Send for SameThread<F> {}

impl<F: FnOnce()> SameThread<F> {
    fn run(self) {
        (self.0)();
    }
}

/// Calls `role` with a frame in memory that is borrowed from Python. `arrived_ns` is the time at which Python code made
/// the call. The payload is a buffer, or a function that returns a buffer.
pub fn with_received(
    arrived_ns: i64,
    frame: &Bound<'_, PyAny>,
    payload: Option<&Bound<'_, PyAny>>,
    native: Option<Py<PyAny>>,
    role: impl FnOnce(Received<'_>),
) -> PyResult<()> {
    let first = View::for_reading(frame)?;
    let made = payload.filter(|payload| payload.is_callable()).map(|payload| payload.call0()).transpose()?;
    let second = made.as_ref().or(payload).map(View::for_reading).transpose()?;
    let received = match &second {
        None => Received::split(first.bytes()),
        Some(second) => Received::parts(first.bytes(), second.bytes()),
    };
    let native = native.as_ref().map(|native| native as &dyn Any);
    let received = Received { native, arrived_ns, ..received };
    second.as_ref().unwrap_or(&first).lend(|| role(received));
    Ok(())
}

fn misplaced_call_error(name: &str, end: &str) -> PyErr {
    PyRuntimeError::new_err(format!(
        "{name} may be called only during the call of {end} that received it, on the same thread"
    ))
}

/// Accepts frames for a role while the role polls.
pub struct TakeCall {
    pub take: Take<'static>,
    pub count: usize,
}

/// Provides the `take` callable to an adapter. Each polled link end has its own `Taker`.
#[pyclass(frozen, module = "hopmeter._instrument")]
pub struct Taker {
    pub slot: Slot<TakeCall>,
    pub detach: Detach,
}

#[pymethods]
impl Taker {
    /// Passes one frame to the role; the adapter passes the frame as one buffer, or the header and the payload as two.
    #[pyo3(signature = (frame, payload = None, /, *, native = None))]
    fn take<'py>(
        &self,
        frame: &Bound<'py, PyAny>,
        payload: Option<&Bound<'py, PyAny>>,
        native: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let arrived_ns = clock::now_ns();
        let mut taking = self.slot.borrow().ok_or_else(|| misplaced_call_error("take", "poll"))?;
        let taking = taking.get();
        taking.count += 1;
        with_received(arrived_ns, frame, payload, native, |received| {
            self.detach.run(frame.py(), || (taking.take)(received));
        })
    }
}

/// Answers requests for a role while the role polls.
pub struct HandleCall {
    pub handle: Handle<'static>,
    pub sending: &'static mut SendMethod,
    pub count: usize,
}

/// Provides the `handle` callable to an adapter. Each polled server has its own `Handler`.
#[pyclass(frozen, module = "hopmeter._instrument")]
pub struct Handler {
    pub slot: Slot<HandleCall>,
    pub detach: Detach,
}

#[pymethods]
impl Handler {
    /// Passes one request to the role; the adapter passes the request as one buffer, or the header and the payload as
    /// two. `reply(payload_bytes, fill) -> bool` answers the request.
    #[pyo3(signature = (frame, second, third = None, /))]
    fn handle<'py>(
        &self,
        frame: &Bound<'py, PyAny>,
        second: &Bound<'py, PyAny>,
        third: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        let arrived_ns = clock::now_ns();
        let (payload, reply) = request_parts(second, third);
        let mut handling = self.slot.borrow().ok_or_else(|| misplaced_call_error("handle", "poll"))?;
        let HandleCall { handle, sending, count } = handling.get();
        *count += 1;
        let mut replier = Reply { sending, reply: reply.clone().unbind() };
        with_received(arrived_ns, frame, payload, None, |received| {
            self.detach.run(frame.py(), || handle(received, &mut replier));
        })
    }
}

pub fn request_parts<'a, 'py>(
    second: &'a Bound<'py, PyAny>,
    third: Option<&'a Bound<'py, PyAny>>,
) -> (Option<&'a Bound<'py, PyAny>>, &'a Bound<'py, PyAny>) {
    match third {
        None => (None, second),
        Some(reply) => (Some(second), reply),
    }
}

/// Answers one request with the adapter's `reply`.
pub struct Reply<'a> {
    pub sending: &'a mut SendMethod,
    pub reply: Py<PyAny>,
}

impl Replier for Reply<'_> {
    fn reply(&mut self, payload_bytes: usize, fill: contract::Fill<'_>) -> Result<Sent> {
        attach(|py| {
            let sent = self.sending.send(self.reply.bind(py), payload_bytes, fill);
            sent.map_err(|raised| -> Error { failure(py, "the adapter's reply", &raised) })
        })
    }
}
