//! A program that knows one version of each interface: it serves the actors, or calls those of a
//! program of the other version.
//!
//! ```console
//! $ older_program serve
//! tcp://127.0.0.1:40123
//! $ newer_program call tcp://127.0.0.1:40123 methods_renamed
//! distance: 3
//! ```

#![expect(clippy::print_stdout, reason = "the program talks to the test")]

use std::error::Error;
use std::fmt::Debug;
use std::time::Duration;

use wigwag::{AskError, Node};

/// How long a program may run. It ends much earlier; this ends one that hangs, if its test is gone.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs the program as its arguments say: `export` exports the actor of each row to a node, and
/// `call` makes the calls of one row from a node, given the address of the other program and the
/// row.
pub(crate) async fn run(
    export: impl FnOnce(&Node) -> Result<(), Box<dyn Error>>,
    call: impl AsyncFnOnce(&Node, &str, &str) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let node = Node::new();
    let work = async {
        match arguments[..] {
            ["serve"] => {
                export(&node)?;
                println!("{}", node.listen("tcp://127.0.0.1:0").await?);
                let end_of_input = || std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
                tokio::task::spawn_blocking(end_of_input).await??;
                Ok(())
            }
            ["call", address, row] => call(&node, address, row).await,
            _ => Err("usage: serve | call ADDRESS ROW".into()),
        }
    };
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(done) => done,
        // The thread that reads the input would hold up the end of `main`.
        Err(_) => std::process::exit(1),
    }
}

/// Exports and calls the actors of the rows: each row is a module with the actor, and with a function
/// `call` that makes calls of it.
macro_rules! rows {
    ($($row:ident: $actor:ident,)*) => {
        /// Exports the actor of each row under the row's name.
        pub(crate) fn export(node: &wigwag::Node) -> Result<(), Box<dyn std::error::Error>> {
            $(node.export(stringify!($row), &wigwag::Actor::spawn($row::$actor))?;)*
            Ok(())
        }

        /// Makes the calls of a row.
        pub(crate) async fn call(
            node: &wigwag::Node,
            address: &str,
            row: &str,
        ) -> Result<(), Box<dyn std::error::Error>> {
            let there = format!("{address}/{row}");
            match row {
                $(stringify!($row) => $row::call(node.actor::<$row::$actor>(&there).await?).await,)*
                _ => return Err(format!("there is no row {row}").into()),
            }
            Ok(())
        }
    };
}
pub(crate) use rows;

/// Prints the outcome of a call in a line, with the text that a log would have.
pub(crate) fn print<T: Debug, M>(call: &str, outcome: Result<T, AskError<M>>) {
    match outcome {
        Ok(answer) => println!("{call}: {answer:?}"),
        Err(AskError::Refused(refused)) => {
            println!("{call} is refused, {:?}: {}", refused.error.kind, refused.error);
        }
        Err(AskError::Failed(error)) => println!("{call} has failed, {:?}: {error}", error.kind),
    }
}

/// Prints something else that a caller learns.
pub(crate) fn print_line(line: &str) {
    println!("{line}");
}
