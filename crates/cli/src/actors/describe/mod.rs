//! `wigwag describe`: the interface of an actor, or the actors of a node.

mod typescript;
mod typescript_schema;
pub(crate) mod text;
mod example;
mod list;
#[cfg(test)]
mod tests;

use clap::Args;
use wigwag::dynamic::Dynamic;
use wigwag::{Address, CallErrorKind, NodeError};
use wigwag_describe::{asyncapi, json_schema};

use crate::actors::caller::{CLOSE_MAX, Caller, TargetArguments};
use crate::exit::{Code, Failed};
use crate::print;

#[derive(Args)]
#[command(after_help = "Examples:
  wigwag describe tcp://127.0.0.1:7005             the actors that the node exports
  wigwag describe ipc:///run/shop/                 the same; with ipc:// a slash ends the path
  wigwag describe tcp://127.0.0.1:7005/sum         methods, types and comments of an actor
  wigwag describe tcp://127.0.0.1:7005/sum --json  the same as JSON Schema, for programs
  wigwag describe tcp://127.0.0.1:7005/sum --ts    the same for the TypeScript client")]
pub(crate) struct Describe {
    #[command(flatten)]
    pub(crate) target: TargetArguments,
    /// Print a JSON Schema (2020-12) of the methods and their types
    #[arg(long)]
    json: bool,
    /// Print an AsyncAPI 3.0 document
    #[arg(long, conflicts_with = "json")]
    asyncapi: bool,
    /// Print the interface and its types for the TypeScript client
    #[arg(long, conflicts_with_all = ["json", "asyncapi"])]
    ts: bool,
}

impl Describe {
    pub(crate) async fn run(self) -> Result<Code, Failed> {
        match node_of(&self.target.address) {
            Some(node) if self.asyncapi || self.ts => {
                let (what, hint) = (
                    "the address names no actor",
                    "add the name of an actor; without --asyncapi and --ts, the actors are listed",
                );
                Err(Failed::with_hint(Code::Usage, what, &node, hint))
            }
            Some(node) => self.list(node).await,
            None => self.describe().await,
        }
    }

    /// Lists the actors of a node.
    async fn list(self, node: String) -> Result<Code, Failed> {
        let caller = Caller::new(self.target)?;
        let listed = caller
            .call(async |client, _| match client.list_actors(&node).await {
                Err(NodeError::Call(error)) if error.kind == CallErrorKind::NoSuchActor => {
                    let what = "the node does not list its actors";
                    let hint = "ask for one of them by its name: wigwag describe ADDRESS/NAME";
                    Err(Failed::with_hint(Code::Refused, what, &node, hint))
                }
                outcome => Ok(outcome?),
            })
            .await;
        let printed = listed.and_then(|listed| {
            let text = match self.json {
                true => list::document(&listed).to_string(),
                false => list::lines(&listed, &node).join("\n"),
            };
            print::result(format!("{text}\n").as_bytes())?;
            Ok(Code::Ok)
        });
        caller.close(CLOSE_MAX).await;
        printed
    }

    /// Describes an actor.
    async fn describe(self) -> Result<Code, Failed> {
        let caller = Caller::new(self.target)?;
        let actor = caller.call(async |node, address| Ok(node.dynamic(address).await?)).await;
        let printed = actor.and_then(|actor| {
            let described = actor.described();
            let text = if self.asyncapi {
                asyncapi_document(&actor)?
            } else if self.ts {
                typescript::document(described).trim_end().to_owned()
            } else if self.json {
                json_schema::document(described).to_string()
            } else {
                let example = example::command_line(described, actor.target());
                text::lines(described, actor.target(), example.as_deref()).join("\n")
            };
            print::result(format!("{text}\n").as_bytes())?;
            Ok(Code::Ok)
        });
        caller.close(CLOSE_MAX).await;
        printed
    }
}

fn asyncapi_document(actor: &Dynamic) -> Result<String, Failed> {
    let address: Address = actor.target().parse().map_err(NodeError::Net)?;
    let (node, name) = address.split_name().expect("the address of an actor has its name");
    Ok(asyncapi::document(actor.described(), &node, name).to_string())
}

/// The address without a slash at its end, if it names no actor.
fn node_of(address: &str) -> Option<String> {
    let node = address.strip_suffix('/').unwrap_or(address);
    let parsed: Address = node.parse().ok()?;
    (node != address || parsed.split_name().is_none()).then(|| node.to_owned())
}
