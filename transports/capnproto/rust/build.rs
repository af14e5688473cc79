//! Generates the capabilities from the schema, with the schema compiler `capnp` of the system.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=../idl/hopmeter.capnp");
    capnpc::CompilerCommand::new().src_prefix("../idl").file("../idl/hopmeter.capnp").run()?;
    Ok(())
}
