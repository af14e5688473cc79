//! The Rust adapter, which combines the instrument's ring with the settings of this transport.

use std::process::ExitCode;
use std::sync::Arc;

use hopmeter_instrument::prelude::*;
use hopmeter_shm::{RingTransport, WhenFull};

fn main() -> ExitCode {
    node::main("shm", "rust", |setup| Ok(Arc::new(open(setup)?)), version)
}

fn version() -> String {
    format!("hopmeter-shm {}", env!("CARGO_PKG_VERSION"))
}

fn open(setup: &Setup) -> Result<RingTransport> {
    Ok(RingTransport { slots: setup.setting("slots")?, when_full: when_full(setup)? })
}

fn when_full(setup: &Setup) -> Result<WhenFull> {
    match setup.setting::<String>("when_full")?.as_str() {
        "busy" => Ok(WhenFull::Busy),
        "drop_oldest" => Ok(WhenFull::DropOldest),
        other => Err(Error::new(format!("when_full = \"{other}\" is unknown")).remedy("use busy or drop_oldest")),
    }
}
