//! Generates the C header from the Rust sources, so that both always match.

use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=src");
    println!("cargo:rerun-if-changed=cbindgen.toml");
    let here = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    let header = here.join("../../cpp/include/hopmeter/abi.h");
    println!("cargo:rerun-if-changed={}", header.display());
    let config = cbindgen::Config::from_file(here.join("cbindgen.toml"))?;
    let sources = ["src/abi.rs", "src/calls.rs", "src/settings.rs", "src/frames.rs", "src/typed.rs", "src/entry.rs"]
        .map(|file| here.join(file));
    let builder = sources.into_iter().fold(cbindgen::Builder::new(), |builder, file| builder.with_src(file));
    // Writes the file only if its content has changed, to avoid recompiling C++ code.
    builder.with_config(config).generate()?.write_to_file(header);
    Ok(())
}
