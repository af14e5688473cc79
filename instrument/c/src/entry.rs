//! Provides the entry point of a C++ node.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::process::ExitCode;
use std::sync::Arc;

use hopmeter_instrument::contract::{Setup, Transport};
use hopmeter_instrument::{Result, copying, node};

use crate::abi::ABI_VERSION;
use crate::calls::Adapter;
use crate::text::read_text;
use crate::transport::CTransport;

/// Runs the node: reads its command line, takes part in the trial and returns the exit status.
///
/// # Safety
/// `argv` must hold `argc` null-terminated strings; `adapter` must be valid as long as the process runs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hopmeter_main(argc: c_int, argv: *const *const c_char, adapter: *const Adapter) -> c_int {
    // SAFETY: the caller guarantees that `adapter` is valid as long as the process runs.
    let adapter = unsafe { &*adapter };
    if adapter.abi != ABI_VERSION {
        eprintln!(
            "hopmeter: the node was compiled with headers of version {}, the library has {ABI_VERSION} (run `hopmeter build`)",
            adapter.abi
        );
        return 1;
    }
    let arguments: Vec<String> = (1..usize::try_from(argc).unwrap_or(0))
        // SAFETY: the caller guarantees that `argv` holds `argc` null-terminated strings.
        .map(|at| unsafe { c_string(*argv.add(at)) })
        .collect();
    c_int::from(run(adapter, arguments) != ExitCode::SUCCESS)
}

/// Sets the adapter library's copy function, which relays and servers use if their work is `copy:…:own`. Call this
/// function before `hopmeter_main`.
#[unsafe(no_mangle)]
pub extern "C" fn hopmeter_copy_with(copy: unsafe extern "C" fn(to: *mut c_void, from: *const c_void, bytes: usize)) {
    copying::copy_with(copy);
}

/// Returns the instrument's version, for an adapter that has no library.
#[unsafe(no_mangle)]
pub extern "C" fn hopmeter_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

fn run(adapter: &Adapter, arguments: Vec<String>) -> ExitCode {
    // SAFETY: the ABI guarantees that the strings are valid as long as the process runs.
    let [transport, compiler, flags] =
        [adapter.transport, adapter.compiler, adapter.flags].map(|text| unsafe { c_string(text) });
    let open = |setup: &Setup| -> Result<Arc<dyn Transport>> { Ok(Arc::new(CTransport::open(adapter.open, setup)?)) };
    let open_empty =
        |setup: &Setup| -> Result<Arc<dyn Transport>> { Ok(Arc::new(CTransport::open(adapter.open_empty, setup)?)) };
    let version = || read_text(|out| (adapter.version)(out));
    let host = node::Host {
        transport: &transport,
        language: "c++",
        compiler,
        flags,
        version: &version,
        open: &open,
        open_empty: &open_empty,
        codec: None,
        around: |body| body(),
    };
    node::run(&host, arguments.into_iter())
}

/// # Safety
/// `text` must be a null-terminated string.
unsafe fn c_string(text: *const c_char) -> String {
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
