//! Implements the instrument's transport trait for a Python adapter.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use hopmeter_instrument::contract::{
    Client, Link, OnFrame, Publisher, Server, Setup, Subscriber, Subscription, Transport,
};
use hopmeter_instrument::spec::{PayloadKind, Wait};
use hopmeter_instrument::{Error, Result};
use pyo3::prelude::*;

use crate::attach::attach;
use crate::end::{End, implements};
use crate::ends::{PyClient, PyPublisher, PySubscriber};
use crate::failure::failure;
use crate::gates::{CallbackSubscription, FrameGate, open_with_gate};
use crate::server::PyServer;
use crate::take::Detach;

/// The Python form of `hopmeter_instrument::contract::Setup`.
#[pyclass(frozen, get_all, name = "Setup", module = "hopmeter._instrument")]
struct PySetup {
    run: String,
    directory: String,
    broker: String,
    bind: String,
    advertised: String,
    settings: Py<PyAny>,
    largest_frame_bytes: usize,
}

/// The Python form of `hopmeter_instrument::contract::Link`.
#[pyclass(frozen, get_all, name = "Link", module = "hopmeter._instrument")]
struct PyLink {
    name: String,
    address: String,
    receivers: u32,
    payload: &'static str,
    width: u32,
    height: u32,
    frame_bytes: usize,
    wait: &'static str,
    message_type: String,
    message_code: String,
    message_object: String,
}

impl From<&Link> for PyLink {
    fn from(link: &Link) -> Self {
        let (payload, width, height) = payload(link.payload);
        let message = link.message.clone();
        let (message_type, message_code, message_object) =
            message.map(|each| (each.name, each.code, each.object)).unwrap_or_default();
        Self {
            name: link.name.clone(),
            address: link.address.clone(),
            receivers: link.receivers,
            payload,
            width,
            height,
            frame_bytes: link.frame_bytes,
            wait: word(link.wait),
            message_type,
            message_code,
            message_object,
        }
    }
}

impl PySetup {
    fn new(py: Python<'_>, setup: &Setup) -> PyResult<Self> {
        let settings = serde_json::Value::Object(setup.settings.clone()).to_string();
        Ok(Self {
            run: setup.run.clone(),
            directory: setup.directory.to_string_lossy().into_owned(),
            broker: setup.broker.clone(),
            bind: setup.bind.to_string(),
            advertised: setup.advertised.to_string(),
            settings: py.import("json")?.call_method1("loads", (settings,))?.unbind(),
            largest_frame_bytes: setup.largest_frame_bytes,
        })
    }
}

#[pymethods]
impl PySetup {
    /// The broker's address, under the attribute name that earlier versions of hopmeter used.
    #[getter]
    fn daemon(&self) -> &str {
        &self.broker
    }
}

fn word(wait: Wait) -> &'static str {
    match wait {
        Wait::Spin => "spin",
        Wait::Block => "block",
        Wait::Callback => "callback",
    }
}

fn payload(kind: PayloadKind) -> (&'static str, u32, u32) {
    match kind {
        PayloadKind::Timing => ("timing", 0, 0),
        PayloadKind::Bytes => ("bytes", 0, 0),
        PayloadKind::Image { width, height } => ("image", width, height),
    }
}

/// Returns the library's version, as the adapter reports it.
pub fn version(tell: &Py<PyAny>) -> String {
    attach(|py| {
        let version = tell.call0(py).and_then(|version| version.extract::<String>(py));
        version.unwrap_or_else(|raised| format!("unknown: {raised}"))
    })
}

/// An adapter's `Transport` object.
pub struct PyTransport {
    end: End,
    detach: Detach,
    /// Facts about the node itself, such as the interpreter's version.
    facts: BTreeMap<String, String>,
}

impl PyTransport {
    pub fn open(
        open: &Py<PyAny>,
        setup: &Setup,
        detach: Detach,
        facts: &BTreeMap<String, String>,
    ) -> Result<Arc<dyn Transport>> {
        attach(|py| {
            let opened = PySetup::new(py, setup).and_then(|setup| open.bind(py).call1((setup,)));
            let object = opened.map_err(|raised| failure(py, "opening the adapter's Transport", &raised))?;
            let end = End::new(object, "Transport".to_owned())?;
            Ok(Arc::new(Self { end, detach, facts: facts.clone() }) as Arc<dyn Transport>)
        })
    }

    /// Opens one link end through the adapter. `open` receives the adapter's method and the link.
    fn open_end<'py, T>(
        &self,
        py: Python<'py>,
        method: &str,
        link: &Link,
        open: impl FnOnce(&Bound<'py, PyAny>, Bound<'py, PyLink>) -> PyResult<(Bound<'py, PyAny>, T)>,
    ) -> Result<(End, T)> {
        let object = self.end.object.bind(py);
        let opener = object.getattr(method).map_err(|_| Error::unsupported(method, &link.name))?;
        let opened = Bound::new(py, PyLink::from(link)).and_then(|link| open(&opener, link));
        let (end, more) = self.end.map_exception(py, &format!("{method} of link {}", link.name), opened)?;
        Ok((End::new(end, format!("{method} of link {}", link.name))?, more))
    }

    fn plain_end(&self, py: Python<'_>, method: &str, link: &Link) -> Result<End> {
        let (end, ()) = self.open_end(py, method, link, |opener, link| Ok((opener.call1((link,))?, ())))?;
        Ok(end)
    }

    fn adapter_facts(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let object = self.end.object.bind(py);
        if !implements(object, "ReportingTransport")? {
            return Ok(Vec::new());
        }
        let items = object.call_method0("facts")?.call_method0("items")?;
        items.try_iter()?.map(|item| item?.extract()).collect()
    }
}

impl Transport for PyTransport {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        attach(|py| Ok(Box::new(PyPublisher::new(py, self.plain_end(py, "publisher", link)?)?) as _))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        attach(|py| Ok(Box::new(PySubscriber::new(py, self.plain_end(py, "subscriber", link)?, self.detach)?) as _))
    }

    fn subscribe(&self, link: &Link, on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
        attach(|py| {
            let gate = FrameGate { role: Mutex::new(Some(on_frame)), detach: self.detach };
            let (end, gate) = self.open_end(py, "subscribe", link, |opener, link| {
                open_with_gate(py, gate, "on_frame", |on_frame| opener.call1((link, on_frame)))
            })?;
            Ok(Box::new(CallbackSubscription::new(end, gate, None)) as _)
        })
    }

    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        attach(|py| Ok(Box::new(PyServer::new(py, self.plain_end(py, "server", link)?, self.detach)?) as _))
    }

    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        attach(|py| Ok(Box::new(PyClient::new(py, self.plain_end(py, "client", link)?, self.detach)?) as _))
    }

    fn facts(&self) -> Vec<(String, String)> {
        let told = attach(|py| {
            let told = self.adapter_facts(py);
            self.end.map_exception(py, "facts", told)
        });
        let told = told.unwrap_or_else(|failed| vec![("facts".to_owned(), failed.to_string())]);
        self.facts.clone().into_iter().chain(told).collect()
    }
}
