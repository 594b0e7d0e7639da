//! Starts `exec_machine`, here or on another machine, and prints how busy that machine is whenever
//! a line is entered. When the program has ended or the way to it, the next question starts it again.
//!
//! ```console
//! $ cargo build --example exec_machine
//! $ cargo run --example exec_observer target/debug/examples/exec_machine
//! $ cargo run --example exec_observer 'ssh host exec_machine'
//! ```
#![expect(clippy::print_stdout, reason = "the program talks to its user")]

mod interface;
mod exec;
mod pipes;

use std::error::Error;

use interface::{Load, MachineInterface};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};
use wigwag::{Node, transport};

#[wigwag::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let program = std::env::args().nth(1).ok_or("usage: exec_observer 'PROGRAM ARGUMENTS'")?;
    transport::register(&exec::Exec)?;
    let node = Node::new();
    let address = format!("exec://{program}/machine");
    let machine = node.actor::<MachineInterface>(&address).reconnecting().await?;
    let mut lines = BufReader::new(stdin()).lines();
    while lines.next_line().await?.is_some() {
        match machine.load().ask().await {
            Ok(Load { host, process, average }) => {
                println!("{host} has a load of {average}, says process {process}");
            }
            Err(error) => println!("no answer: {error}"),
        }
    }
    Ok(())
}
