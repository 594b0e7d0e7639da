//! `wigwag ask`, `tell` and `describe`: an actor's methods from the shell.

use std::future::Future;
use std::time::Duration;

use clap::Args;
use serde_json::Value;
use tokio::runtime::Builder;
use wigwag::{Described, Dynamic, Node};

use crate::exit::{Code, Failed};
use crate::{arguments, print};

/// The actor that is called.
#[derive(Args)]
struct Target {
    /// Where it is: tcp://HOST:PORT/NAME, ipc://PATH/NAME
    address: String,
    /// Give up after so many seconds
    #[arg(long, default_value = "5", value_name = "SECONDS", value_parser = seconds)]
    deadline: Duration,
}

#[derive(Args)]
pub(crate) struct Ask {
    #[command(flatten)]
    call: Call,
}

#[derive(Args)]
pub(crate) struct Tell {
    #[command(flatten)]
    call: Call,
}

/// A method and its arguments.
#[derive(Args)]
struct Call {
    #[command(flatten)]
    target: Target,
    /// The method's name
    method: String,
    /// Its arguments in order, each as JSON; text needs no quotes
    #[arg(allow_negative_numbers = true)]
    arguments: Vec<String>,
}

#[derive(Args)]
pub(crate) struct Describe {
    #[command(flatten)]
    target: Target,
    /// One JSON document instead of text
    #[arg(long)]
    json: bool,
}

/// Runs a command on a small runtime.
pub(crate) fn run<F>(command: impl FnOnce() -> F) -> Result<Code, Failed>
where
    F: Future<Output = Result<Code, Failed>>,
{
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(command())
}

impl Ask {
    pub(crate) async fn run(self) -> Result<Code, Failed> {
        let node = Node::new();
        let Call { target, method, arguments } = self.call;
        let reply = within(&target, async {
            let actor = node.dynamic(&target.address).await?;
            let arguments = encode(&actor, &method, &arguments)?;
            Ok(actor.ask(&method, &arguments).await?)
        })
        .await?;
        let value: Value =
            rmp_serde::from_slice(&reply).map_err(|error| Failed::new(Code::Internal, error))?;
        print::line(&value.to_string());
        Ok(Code::Ok)
    }
}

impl Tell {
    pub(crate) async fn run(self) -> Result<Code, Failed> {
        let node = Node::new();
        let Call { target, method, arguments } = self.call;
        within(&target, async {
            let actor = node.dynamic(&target.address).await?;
            let arguments = encode(&actor, &method, &arguments)?;
            Ok(actor.tell(&method, &arguments).await?)
        })
        .await?;
        let report = node.close(target.deadline).await;
        if !report.is_clean() {
            let error = format!(
                "the peer did not confirm the message within {:?}\n   at: {}\n mend: it may have arrived: look there before you send it again",
                target.deadline, target.address
            );
            return Err(Failed::new(Code::NoAnswer, error));
        }
        Ok(Code::Ok)
    }
}

impl Describe {
    pub(crate) async fn run(self) -> Result<Code, Failed> {
        let node = Node::new();
        let actor: Dynamic =
            within(&self.target, async { Ok(node.dynamic(&self.target.address).await?) }).await?;
        let described = actor.described();
        if self.json {
            print::line(&as_json(described).to_string());
        } else {
            print::line(&format!("{} at {}", described.name, actor.target()));
            for (name, taken, reply) in &described.methods {
                print::line(&format!("  {} -> {reply}", signature(name, taken)));
            }
        }
        Ok(Code::Ok)
    }
}

fn as_json(described: &Described) -> Value {
    let methods: Vec<Value> = described
        .methods
        .iter()
        .map(|(name, arguments, reply)| {
            let arguments: Vec<Value> = arguments
                .iter()
                .map(|(name, kind)| serde_json::json!({"name": name, "type": kind}))
                .collect();
            serde_json::json!({"name": name, "arguments": arguments, "reply": reply})
        })
        .collect();
    let hash = format!("{:016x}", described.hash);
    serde_json::json!({"name": described.name, "schema_hash": hash, "methods": methods})
}

/// Arguments as the method takes them. A method that is unknown is told by the call itself.
fn encode(actor: &Dynamic, method: &str, words: &[String]) -> Result<Vec<u8>, Failed> {
    let described = actor.described().methods.iter();
    let Some((_, taken, _)) = described.into_iter().find(|(name, ..)| name == method) else {
        return Ok(Vec::new());
    };
    arguments::encode(taken, words).map_err(|wrong| {
        let error = format!(
            "{}: {wrong}\n   at: {}\n mend: give each argument as JSON, in that order; text needs no quotes",
            signature(method, taken),
            actor.target()
        );
        Failed::new(Code::Usage, error)
    })
}

/// A method as a person reads it.
fn signature(method: &str, taken: &[(String, String)]) -> String {
    let taken: Vec<String> = taken.iter().map(|(name, kind)| format!("{name}: {kind}")).collect();
    format!("{method}({})", taken.join(", "))
}

fn seconds(text: &str) -> Result<Duration, &'static str> {
    let number = text.parse().ok();
    number
        .and_then(|number| Duration::try_from_secs_f64(number).ok())
        .ok_or("it wants a number of seconds, like 0.5")
}

async fn within<T>(
    target: &Target,
    call: impl Future<Output = Result<T, Failed>>,
) -> Result<T, Failed> {
    match tokio::time::timeout(target.deadline, call).await {
        Ok(outcome) => outcome,
        Err(_) => {
            let error = format!(
                "no answer within {:?}\n   at: {}\n mend: check the actor, or give it more time with --deadline",
                target.deadline, target.address
            );
            Err(Failed::new(Code::NoAnswer, error))
        }
    }
}
