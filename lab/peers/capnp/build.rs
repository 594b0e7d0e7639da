//! Generates the interfaces from their description, with the `capnp` tool of the system.

fn main() -> Result<(), capnp::Error> {
    println!("cargo::rerun-if-changed=remote.capnp");
    capnpc::CompilerCommand::new().file("remote.capnp").run()
}
