//! Provides `fill`, the Python callable that writes a frame into an adapter's memory.

use hopmeter_instrument::contract::{Fill, FrameMut, Sent};
use hopmeter_instrument::frame::HEADER_BYTES;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyBool;

use crate::call::{Known, call2};
use crate::loan::Slot;
use crate::view::View;

/// A frame to write during one call of `send`, `start` or `reply`.
struct Order {
    /// The first call of `fill` takes the frame's `Fill` out of this field. Later calls find `None`.
    fill: Option<Fill<'static>>,
    payload_bytes: usize,
}

/// Provides the `fill` callable to an adapter. Each sending link end has its own `Filler`.
#[pyclass(frozen, module = "hopmeter._instrument")]
struct Filler {
    order: Slot<Order>,
}

#[pymethods]
impl Filler {
    /// Writes the frame to one writable buffer of 64 + payload_bytes, or to two buffers, one for the header and one for
    /// the payload.
    #[pyo3(signature = (frame, payload = None, /))]
    fn fill<'py>(&self, frame: &Bound<'py, PyAny>, payload: Option<&Bound<'py, PyAny>>) -> PyResult<()> {
        let mut order = self.order.borrow().ok_or_else(misplaced_call_error)?;
        let order = order.get();
        if order.fill.is_none() {
            return Err(PyRuntimeError::new_err("fill may be called only once for a message"));
        }
        match payload {
            None => order.fill_whole(&mut View::for_writing(frame, HEADER_BYTES + order.payload_bytes, "frame")?),
            Some(payload) => order.fill_parts(
                &mut View::for_writing(frame, HEADER_BYTES, "header")?,
                &mut View::for_writing(payload, order.payload_bytes, "payload")?,
            ),
        }
        Ok(())
    }
}

fn misplaced_call_error() -> PyErr {
    PyRuntimeError::new_err("fill may be called only during the call that received it, on the same thread")
}

impl Order {
    fn fill_whole(&mut self, frame: &mut View<'_>) {
        self.write(FrameMut::split(frame.bytes_mut()));
    }

    fn fill_parts(&mut self, header: &mut View<'_>, payload: &mut View<'_>) {
        if let Ok(header) = header.bytes_mut().try_into() {
            self.write(FrameMut { header, payload: payload.bytes_mut() });
        }
    }

    fn write(&mut self, frame: FrameMut<'_>) {
        if let Some(fill) = self.fill.take() {
            fill.write(frame);
        }
    }
}

/// Calls an adapter's sending method with the link end's `fill`.
pub struct SendMethod {
    filler: Py<Filler>,
    fill: Py<PyAny>,
    length: Known<usize>,
}

impl SendMethod {
    pub fn new(py: Python<'_>) -> PyResult<Self> {
        let filler = Py::new(py, Filler { order: Slot::default() })?;
        let fill = filler.getattr(py, "fill")?;
        Ok(Self { filler, fill, length: Known::new(py, 0)? })
    }

    /// Sends one frame through `method(payload_bytes, fill) -> bool`.
    ///
    /// # Errors
    ///
    /// Fails if the adapter raises an exception. If the adapter violates the contract, the error is a `TypeError` or
    /// `RuntimeError`.
    pub fn send(&mut self, method: &Bound<'_, PyAny>, payload_bytes: usize, fill: Fill<'_>) -> PyResult<Sent> {
        // SAFETY: the slot loans `fill` for this call only, so nothing uses it after its lifetime.
        let fill = unsafe { std::mem::transmute::<Fill<'_>, Fill<'static>>(fill) };
        let mut order = Order { fill: Some(fill), payload_bytes };
        let length = self.length.object(method.py(), payload_bytes)?;
        let filler = self.filler.get();
        let answer = filler.order.lend(&mut order, || call2(method, length, self.fill.bind(method.py())))?;
        send_outcome(&answer, order.fill.is_none())
    }
}

fn send_outcome(answer: &Bound<'_, PyAny>, filled: bool) -> PyResult<Sent> {
    match (answer.cast::<PyBool>().map(|accepted| accepted.is_true()), filled) {
        (Ok(true), true) => Ok(Sent::Accepted),
        (Ok(false), _) => Ok(Sent::Busy),
        (Ok(true), false) => Err(PyRuntimeError::new_err("returned True without calling fill")),
        (Err(_), _) => Err(not_a_bool(answer)),
    }
}

/// Returns the error for an adapter that returns a value other than True (accepted) or False (busy).
pub fn not_a_bool(answer: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!("must return True (accepted) or False (busy), not {answer:?}"))
}
