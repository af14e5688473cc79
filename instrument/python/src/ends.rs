//! Implements the instrument's traits for link ends that a Python adapter opened.

use std::time::Duration;

use hopmeter_instrument::Result;
use hopmeter_instrument::contract::{Client, Fill, Publisher, Received, Sent, Subscriber, Take, copy_on};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::attach::attach;
use crate::call::{Known, call2};
use crate::end::{End, implements};
use crate::fill::{SendMethod, not_a_bool};
use crate::loan::Slot;
use crate::take::{Detach, TakeCall, Taker};

/// Sends frames through a method of a link end.
struct Sender {
    end: End,
    name: &'static str,
    method: Py<PyAny>,
    sending: SendMethod,
}

impl Sender {
    fn new(py: Python<'_>, end: End, name: &'static str) -> Result<Self> {
        let method = end.method(py, name)?;
        let sending = end.map_exception(py, name, SendMethod::new(py))?;
        Ok(Self { end, name, method, sending })
    }

    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        attach(|py| {
            let sent = self.sending.send(self.method.bind(py), payload_bytes, fill);
            self.end.map_exception(py, self.name, sent)
        })
    }
}

/// Polls a link end for frames.
struct Poller {
    poll: Py<PyAny>,
    taker: Py<Taker>,
    take: Py<PyAny>,
    timeout: Known<f64>,
}

impl Poller {
    fn new(py: Python<'_>, end: &End, detach: Detach) -> Result<Self> {
        let poll = end.method(py, "poll")?;
        let make = || {
            let taker = Py::new(py, Taker { slot: Slot::default(), detach })?;
            let take = taker.getattr(py, "take")?;
            Ok(Self { poll, taker, take, timeout: Known::new(py, 0.0)? })
        };
        end.map_exception(py, "poll", make())
    }

    fn poll(&mut self, py: Python<'_>, timeout: Duration, take: Take<'_>) -> PyResult<usize> {
        // SAFETY: the slot loans the closure for this call only, so nothing uses it after its lifetime.
        let take = unsafe { std::mem::transmute::<Take<'_>, Take<'static>>(take) };
        let mut taking = TakeCall { take, count: 0 };
        let timeout = self.timeout.object(py, timeout.as_secs_f64())?;
        let (poll, take) = (self.poll.bind(py), self.take.bind(py));
        let answer = self.taker.get().slot.lend(&mut taking, || call2(poll, timeout, take))?;
        check_count(&answer, taking.count)
    }
}

/// Returns the number of frames, or an error if the adapter's reported number differs from the number of frames passed
/// to `take`.
pub fn check_count(answer: &Bound<'_, PyAny>, count: usize) -> PyResult<usize> {
    if answer.extract::<usize>().is_ok_and(|said| said == count) {
        return Ok(count);
    }
    Err(PyRuntimeError::new_err(format!("must return the number of frames that it delivered: {count}, not {answer:?}")))
}

/// The publisher of a pubsub link.
pub struct PyPublisher {
    sender: Sender,
    forward: Option<Py<PyAny>>,
}

impl PyPublisher {
    pub fn new(py: Python<'_>, end: End) -> Result<Self> {
        let forwards = implements(end.object.bind(py), "ForwardingPublisher");
        let forward = if end.map_exception(py, "forward", forwards)? { Some(end.method(py, "forward")?) } else { None };
        Ok(Self { sender: Sender::new(py, end, "send")?, forward })
    }
}

impl Publisher for PyPublisher {
    fn address(&self) -> String {
        self.sender.end.address()
    }

    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        self.sender.send(payload_bytes, fill)
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        let native = received.native.and_then(|native| native.downcast_ref::<Py<PyAny>>());
        match (&self.forward, native) {
            (Some(forward), Some(native)) => attach(|py| {
                let sent = forward.call1(py, (native,)).and_then(|answer| send_outcome(answer.bind(py)));
                self.sender.end.map_exception(py, "forward", sent)
            }),
            _ => copy_on(received, |payload_bytes, fill| self.send(payload_bytes, fill)),
        }
    }
}

fn send_outcome(answer: &Bound<'_, PyAny>) -> PyResult<Sent> {
    match answer.extract::<bool>() {
        Ok(true) => Ok(Sent::Accepted),
        Ok(false) => Ok(Sent::Busy),
        Err(_) => Err(not_a_bool(answer)),
    }
}

/// A receiver that the instrument polls.
pub struct PySubscriber {
    end: End,
    poller: Poller,
}

impl PySubscriber {
    pub fn new(py: Python<'_>, end: End, detach: Detach) -> Result<Self> {
        let poller = Poller::new(py, &end, detach)?;
        Ok(Self { end, poller })
    }
}

impl Subscriber for PySubscriber {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        attach(|py| {
            let polled = self.poller.poll(py, timeout, take);
            self.end.map_exception(py, "poll", polled)
        })
    }
}

/// The client of an rpc link.
pub struct PyClient {
    sender: Sender,
    poller: Poller,
}

impl PyClient {
    pub fn new(py: Python<'_>, end: End, detach: Detach) -> Result<Self> {
        let poller = Poller::new(py, &end, detach)?;
        Ok(Self { sender: Sender::new(py, end, "start")?, poller })
    }
}

impl Client for PyClient {
    fn start(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        self.sender.send(payload_bytes, fill)
    }

    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        attach(|py| {
            let polled = self.poller.poll(py, timeout, take);
            self.sender.end.map_exception(py, "poll", polled)
        })
    }
}
