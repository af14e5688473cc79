//! Generates the messages and the service from the IDL, without a protoc on the system.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=../idl");
    let described = protox::compile(["../idl/hopmeter.proto"], ["../idl"])?;
    tonic_prost_build::configure().bytes(".").compile_fds(described)?;
    Ok(())
}
