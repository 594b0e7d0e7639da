//! Generates the service from its description, with a compiler from the package registry, so
//! that `protoc` need not be installed.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    tonic_prost_build::compile_fds(protox::compile(["remote.proto"], ["."])?)?;
    Ok(())
}
