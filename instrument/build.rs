//! Stores the names of the compiler and its flags in this build, so that every result can report them.

use std::env::var;
use std::process::Command;

fn main() {
    let rustc = var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = Command::new(rustc).arg("--version").output();
    let version = version.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned()).unwrap_or_default();
    println!("cargo::rustc-env=HOPMETER_RUSTC={version}");
    let level = var("OPT_LEVEL").unwrap_or_default();
    let flags = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default().replace('\x1f', " ");
    println!("cargo::rustc-env=HOPMETER_FLAGS={}", format!("-O{level} {flags}").trim_end());
    println!("cargo::rerun-if-changed=build.rs");
}
