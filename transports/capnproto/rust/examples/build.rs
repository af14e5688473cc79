fn main() -> Result<(), Box<dyn std::error::Error>> {
    capnpc::CompilerCommand::new().file("example.capnp").run()?;
    Ok(())
}
