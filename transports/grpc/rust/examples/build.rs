fn main() -> Result<(), Box<dyn std::error::Error>> {
    tonic_prost_build::configure().compile_fds(protox::compile(["example.proto"], ["."])?)?;
    Ok(())
}
