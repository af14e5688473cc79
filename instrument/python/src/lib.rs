//! The instrument as the Python module `hopmeter._instrument`.
//!
//! A Python adapter consists of objects. This module implements the instrument's contract for these objects, so that a
//! Python node paces, stamps, records and counts with the same code as any other node. The instrument holds the
//! interpreter lock while Python code runs, and releases it while the instrument waits.

mod attach;
mod background;
mod call;
mod clock_exchange;
mod end;
mod ends;
mod failure;
mod fill;
mod gates;
mod loan;
mod objects;
mod probes;
mod server;
mod take;
mod transport;
mod typed;
mod view;

use std::collections::BTreeMap;
use std::process::ExitCode;

use hopmeter_instrument::contract::Setup;
use hopmeter_instrument::node::{self, Host};
use hopmeter_instrument::payload;
use hopmeter_instrument::spec::Flow;
use pyo3::prelude::*;

use crate::objects::PyCodec;
use crate::take::Detach;
use crate::transport::PyTransport;

/// Runs a node with an adapter in Python; returns its exit code.
///
/// open(setup) creates the adapter's Transport; version() returns the library's version. The node calls both only when
/// it needs them, so that a failure in them is reported like any other failure. open_empty(setup) creates the Transport
/// of `hopmeter.node.empty`. `facts` are added to the result. `works` is true if relays or servers have work to do;
/// other threads of the interpreter may run during that work. objects(number) creates the codec of the flow with this
/// number (`hopmeter.node.payloads.objects.Objects`); it is called for each flow whose spec names a codec. `arguments` are the node's.
#[pyfunction]
#[pyo3(signature = (transport, open, open_empty, version, facts, works, arguments, objects = None))]
#[allow(clippy::too_many_arguments)] // Python passes these arguments by name
fn run(
    py: Python<'_>,
    transport: &str,
    open: Py<PyAny>,
    open_empty: Py<PyAny>,
    version: Py<PyAny>,
    facts: BTreeMap<String, String>,
    works: bool,
    arguments: Vec<String>,
    objects: Option<Py<PyAny>>,
) -> u8 {
    let tell = || transport::version(&version);
    let open = |setup: &Setup| PyTransport::open(&open, setup, Detach(works), &facts);
    let open_empty = |setup: &Setup| PyTransport::open(&open_empty, setup, Detach(false), &BTreeMap::new());
    let codec = objects.map(|make| move |flow: &Flow| PyCodec::open(&make, flow.number));
    let host = Host {
        transport,
        language: "python",
        compiler: format!("Python {}", Python::version_str().replace('\n', " ")),
        flags: String::new(),
        version: &tell,
        open: &open,
        open_empty: &open_empty,
        codec: codec.as_ref().map(|codec| codec as _),
        // `attach` registers every thread that calls Python, whether or not Python started it.
        around: |body| body(),
    };
    let code = py.detach(|| node::run(&host, arguments.into_iter()));
    u8::from(code != ExitCode::SUCCESS)
}

/// Returns the CRC-32C of a payload, as receivers check it.
#[pyfunction]
fn checksum(payload: &[u8]) -> u32 {
    payload::checksum(payload)
}

#[pymodule]
fn _instrument(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(checksum, module)?)?;
    probes::register(module)?;
    background::register(module)?;
    clock_exchange::register(module)?;
    typed::register(module)
}
