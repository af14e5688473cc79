//! Prints the description of a node (`--describe`).

use serde::Serialize;

use crate::error::{Error, Result};
use crate::spec::SPEC_FORMAT;

use super::Host;

#[derive(Serialize)]
struct Description<'a> {
    transport: &'a str,
    language: &'a str,
    version: String,
    instrument: &'a str,
    /// The version of the spec format that this build of the node supports.
    spec: u32,
    /// Whether this node supports `pace.turn`.
    turns: bool,
    /// Whether this node supports `begin`.
    at_once: bool,
    /// Whether this node supports `restart`.
    restarts: bool,
    compiler: &'a str,
    flags: &'a str,
}

/// Prints the description as one line of JSON.
pub fn describe(host: &Host<'_>) -> Result<()> {
    let description = Description {
        transport: host.transport,
        language: host.language,
        version: (host.version)(),
        instrument: env!("CARGO_PKG_VERSION"),
        spec: SPEC_FORMAT,
        turns: true,
        at_once: true,
        restarts: true,
        compiler: &host.compiler,
        flags: &host.flags,
    };
    println!("{}", serde_json::to_string(&description).map_err(|cause| Error::new("describing").because(cause))?);
    Ok(())
}
