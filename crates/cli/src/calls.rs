//! `wigwag ask`, `tell` and `describe`: an actor's methods from the shell.

use std::future::Future;
use std::time::Duration;

use clap::Args;
use serde_json::Value;
use tokio::runtime::Builder;
use wigwag::{Described, Dynamic, Node};

use crate::exit::{Code, Failed};
use crate::print;

/// The actor that is called.
#[derive(Args)]
struct Target {
    /// Where it is: tcp://HOST:PORT/NAME, ipc://PATH/NAME
    address: String,
    /// Give up after so many seconds
    #[arg(long, default_value_t = 5.0, value_name = "SECONDS")]
    deadline: f64,
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
    /// Its arguments in order, each as JSON; a word that is no JSON counts as text
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
        let Call {
            target,
            method,
            arguments,
        } = self.call;
        let arguments = encode(&arguments)?;
        let reply = within(target.deadline, async {
            let actor = node.dynamic(&target.address).await?;
            Ok(actor.ask(&method, &arguments).await?)
        })
        .await?;
        let value: Value = rmp_serde::from_slice(reply.as_slice())
            .map_err(|error| Failed::new(Code::Internal, error))?;
        print::line(&value.to_string());
        Ok(Code::Ok)
    }
}

impl Tell {
    pub(crate) async fn run(self) -> Result<Code, Failed> {
        let node = Node::new();
        let Call {
            target,
            method,
            arguments,
        } = self.call;
        let arguments = encode(&arguments)?;
        within(target.deadline, async {
            let actor = node.dynamic(&target.address).await?;
            Ok(actor.tell(&method, &arguments).await?)
        })
        .await?;
        let report = node
            .close(Duration::from_secs_f64(target.deadline.max(0.0)))
            .await;
        if !report.is_clean() {
            let error = format!("the peer did not confirm the message: {report:?}");
            return Err(Failed::new(Code::NoAnswer, error));
        }
        Ok(Code::Ok)
    }
}

impl Describe {
    pub(crate) async fn run(self) -> Result<Code, Failed> {
        let node = Node::new();
        let actor: Dynamic = within(self.target.deadline, async {
            Ok(node.dynamic(&self.target.address).await?)
        })
        .await?;
        let described = actor.described();
        if self.json {
            print::line(&as_json(described).to_string());
        } else {
            print::line(&format!("{} at {}", described.name, actor.target()));
            for (name, arguments, reply) in &described.methods {
                let arguments: Vec<String> = arguments
                    .iter()
                    .map(|(name, kind)| format!("{name}: {kind}"))
                    .collect();
                print::line(&format!("  {name}({}) -> {reply}", arguments.join(", ")));
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

/// Arguments as a MessagePack array.
fn encode(arguments: &[String]) -> Result<Vec<u8>, Failed> {
    let values: Vec<Value> = arguments
        .iter()
        .map(|text| serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone())))
        .collect();
    rmp_serde::to_vec(&values).map_err(|error| Failed::new(Code::Usage, error))
}

async fn within<T>(
    seconds: f64,
    call: impl Future<Output = Result<T, Failed>>,
) -> Result<T, Failed> {
    let limit = Duration::try_from_secs_f64(seconds)
        .map_err(|_| Failed::new(Code::Usage, "--deadline wants a number of seconds"))?;
    match tokio::time::timeout(limit, call).await {
        Ok(outcome) => outcome,
        Err(_) => {
            let error = format!(
                "no answer within {seconds} s\n mend: check the actor, or give it more time with --deadline"
            );
            Err(Failed::new(Code::NoAnswer, error))
        }
    }
}
