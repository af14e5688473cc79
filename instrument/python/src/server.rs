//! Implements the instrument's server trait for the server that a Python adapter opened.

use std::sync::Mutex;
use std::time::Duration;

use hopmeter_instrument::Result;
use hopmeter_instrument::contract::{Handle, OnRequest, Server, Subscription};
use pyo3::prelude::*;

use crate::attach::attach;
use crate::call::{Known, call2};
use crate::end::End;
use crate::ends::check_count;
use crate::fill::SendMethod;
use crate::gates::{CallbackSubscription, RequestGate, open_with_gate};
use crate::loan::Slot;
use crate::take::{Detach, HandleCall, Handler};

/// The server of an rpc link.
pub struct PyServer {
    end: End,
    poll: Py<PyAny>,
    handler: Py<Handler>,
    handle: Py<PyAny>,
    sending: SendMethod,
    timeout: Known<f64>,
    detach: Detach,
}

impl PyServer {
    pub fn new(py: Python<'_>, end: End, detach: Detach) -> Result<Self> {
        let poll = end.method(py, "poll")?;
        let make = || {
            let handler = Py::new(py, Handler { slot: Slot::default(), detach })?;
            let handle = handler.getattr(py, "handle")?;
            Ok((handler, handle, SendMethod::new(py)?, Known::new(py, 0.0)?))
        };
        let (handler, handle, sending, timeout) = end.map_exception(py, "poll", make())?;
        Ok(Self { end, poll, handler, handle, sending, timeout, detach })
    }

    fn poll_attached(&mut self, py: Python<'_>, timeout: Duration, handle: Handle<'_>) -> PyResult<usize> {
        // SAFETY: the slots loan both closures for this call only, so nothing uses them after their lifetime.
        let (handle, sending) = unsafe {
            let sending = std::mem::transmute::<&mut SendMethod, &'static mut SendMethod>(&mut self.sending);
            (std::mem::transmute::<Handle<'_>, Handle<'static>>(handle), sending)
        };
        let mut handling = HandleCall { handle, sending, count: 0 };
        let timeout = self.timeout.object(py, timeout.as_secs_f64())?;
        let slot = &self.handler.get().slot;
        let answer = slot.lend(&mut handling, || call2(self.poll.bind(py), timeout, self.handle.bind(py)))?;
        check_count(&answer, handling.count)
    }
}

impl Server for PyServer {
    fn address(&self) -> String {
        self.end.address()
    }

    fn poll(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize> {
        attach(|py| {
            let polled = self.poll_attached(py, timeout, handle);
            self.end.map_exception(py, "poll", polled)
        })
    }

    fn serve(self: Box<Self>, on_request: OnRequest) -> Result<Box<dyn Subscription>> {
        attach(|py| {
            let sending = self.end.map_exception(py, "serve", SendMethod::new(py))?;
            let gate = RequestGate { role: Mutex::new(Some((on_request, sending))), detach: self.detach };
            let serve = self.end.method(py, "serve")?;
            let what = self.end.what.clone();
            let served = open_with_gate(py, gate, "on_request", |on_request| serve.bind(py).call1((on_request,)));
            let (end, gate) = self.end.map_exception(py, "serve", served)?;
            Ok(Box::new(CallbackSubscription::new(End::new(end, what)?, gate, Some(self))) as Box<dyn Subscription>)
        })
    }
}
