//! The instrument as the Python module `hopmeter._instrument`.
//!
//! The module implements the instrument's contract for a Python adapter's objects. A Python node paces, timestamps,
//! records and counts messages with the same code as a node in any other language. The instrument holds the interpreter
//! lock while Python code runs, and releases it while the instrument waits.

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

/// Runs a node with a Python adapter, and returns the node's exit code.
///
/// The callable open(setup) creates the adapter's Transport, and version() returns the library's version. The node
/// calls `open` and `version` only when it needs their results, so that it reports their failures like any other
/// failure. The callable open_empty(setup) creates the Transport of `hopmeter.node.empty`. `facts` are added to the
/// node's result. `works` is true if relays or servers have work to do; other threads of the interpreter may run during
/// this work. The callable objects(number) creates the codec of the flow with this number
/// (`hopmeter.node.payloads.objects.Objects`), if the flow's spec names a codec. `arguments` is the node's command
/// line.
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
        // `attach` registers every thread that calls Python, whether or not Python started the thread.
        around: |body| body(),
    };
    let code = py.detach(|| node::run(&host, arguments.into_iter()));
    u8::from(code != ExitCode::SUCCESS)
}

/// Returns the CRC-32C of a payload, which receivers compare with the frame's checksum.
#[pyfunction]
fn checksum(payload: &[u8]) -> u32 {
    payload::checksum(payload)
}

/// Notes that the process has imported the transport's library.
#[pyfunction]
fn note_loaded() {
    node::note_loaded();
}

#[pymodule]
fn _instrument(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(checksum, module)?)?;
    module.add_function(wrap_pyfunction!(note_loaded, module)?)?;
    probes::register(module)?;
    background::register(module)?;
    clock_exchange::register(module)?;
    typed::register(module)
}
