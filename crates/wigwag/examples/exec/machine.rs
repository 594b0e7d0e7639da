//! Tells how busy its machine is. It serves the one program that started it, over standard input
//! and output, and ends with it; see `observer.rs`.

mod interface;
mod pipes;
mod stdio;

use std::error::Error;
use std::fs;

use interface::{Load, MachineInterface};
use wigwag::{Actor, Interface, Node, transport};

// The actor has the calls of the trait, with the same names, arguments and replies.
const _: () = assert!(Machine::SCHEMA.hash == MachineInterface::SCHEMA.hash);

struct Machine {
    host: String,
}

#[wigwag::actor]
impl Machine {
    pub fn load(&mut self) -> Load {
        let averages = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let average = averages.split(' ').next().and_then(|average| average.parse().ok());
        Load {
            host: self.host.clone(),
            process: std::process::id(),
            average: average.unwrap_or(f32::NAN),
        }
    }
}

#[wigwag::main]
async fn main() -> Result<(), Box<dyn Error>> {
    transport::register(&stdio::Stdio)?;
    let host = fs::read_to_string("/proc/sys/kernel/hostname")?.trim().to_owned();
    let machine = Machine { host }.spawn();
    let node = Node::new();
    node.export("machine", &machine)?;
    node.listen("stdio://-").await?;
    stdio::ended().await;
    Ok(())
}
