//! `wigwag ask`, `tell` and `describe`: call the methods of an actor from the shell.

use std::future::Future;
use std::time::Duration;

use clap::Args;
use serde_json::Value;
use tokio::runtime::Builder;
use tokio::time::Instant;
use wigwag::{
    CloseReport, Node,
    dynamic::{Described, DescribedType, Dynamic, json},
};

use crate::exit::{Code, Failed};
use crate::tls::TlsArguments;
use crate::{print, units};

/// Time limit for the peer to confirm the end of the session, once the result is known. A round trip
/// around the earth takes a third of it.
const CLOSE_MAX: Duration = Duration::from_secs(1);

/// The actor to call.
#[derive(Args)]
struct TargetArguments {
    /// Address of the actor: tcp://HOST:PORT/NAME, ipc://PATH/NAME
    address: String,
    /// Give up after this time, such as 200ms, 5s or 2m
    #[arg(long, value_name = "TIME", value_parser = units::time, default_value = "5s")]
    deadline: Duration,
    #[command(flatten)]
    tls: TlsArguments,
}

#[derive(Args)]
pub(crate) struct Ask {
    #[command(flatten)]
    call: CallArguments,
}

#[derive(Args)]
pub(crate) struct Tell {
    #[command(flatten)]
    call: CallArguments,
}

/// A method and its arguments.
#[derive(Args)]
struct CallArguments {
    #[command(flatten)]
    target: TargetArguments,
    /// Name of the method
    method: String,
    /// Arguments of the method in order, each as JSON; text needs no quotes
    #[arg(allow_negative_numbers = true)]
    arguments: Vec<String>,
}

#[derive(Args)]
pub(crate) struct Describe {
    #[command(flatten)]
    target: TargetArguments,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

/// Runs a command on a single-threaded runtime.
pub(crate) fn run<F>(command: impl FnOnce() -> F) -> Result<Code, Failed>
where
    F: Future<Output = Result<Code, Failed>>,
{
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(command())
}

impl Ask {
    pub(crate) async fn run(self) -> Result<Code, Failed> {
        let CallArguments { target, method, arguments } = self.call;
        let caller = Caller::new(target)?;
        let reply = caller
            .call(async |node, address| {
                let actor = node.dynamic(address).await?;
                let arguments = encode(&actor, &method, &arguments)?;
                Ok(actor.ask(&method, &arguments).await?)
            })
            .await;
        let printed = reply.and_then(|reply| {
            let text = json::text(&reply).map_err(|error| Failed::new(Code::Internal, error))?;
            print::line(&text);
            Ok(Code::Ok)
        });
        caller.close(CLOSE_MAX).await;
        printed
    }
}

impl Tell {
    pub(crate) async fn run(self) -> Result<Code, Failed> {
        let CallArguments { target, method, arguments } = self.call;
        let caller = Caller::new(target)?;
        let sent = caller
            .call(async |node, address| {
                let actor = node.dynamic(address).await?;
                let arguments = encode(&actor, &method, &arguments)?;
                Ok(actor.tell(&method, &arguments).await?)
            })
            .await;
        // Only the orderly end of the session confirms that the message has arrived.
        let closing = if sent.is_ok() { caller.target.deadline } else { CLOSE_MAX };
        let report = caller.close(closing).await;
        sent?;
        if report.is_clean() { Ok(Code::Ok) } else { Err(caller.unconfirmed_failure()) }
    }
}

impl Describe {
    pub(crate) async fn run(self) -> Result<Code, Failed> {
        let caller = Caller::new(self.target)?;
        let actor = caller.call(async |node, address| Ok(node.dynamic(address).await?)).await;
        let printed = actor.map(|actor| {
            print_description(&actor, self.json);
            Code::Ok
        });
        caller.close(CLOSE_MAX).await;
        printed
    }
}

/// The node of one command. Every orderly end of the command closes it, so that the peer does not
/// keep a session that will never be resumed.
struct Caller {
    node: Node,
    target: TargetArguments,
    /// The time at which the deadline expires.
    end: Instant,
}

impl Caller {
    fn new(target: TargetArguments) -> Result<Caller, Failed> {
        let end = Instant::now() + target.deadline;
        let node = Node::with(target.tls.node_options(&target.address)?);
        Ok(Caller { node, target, end })
    }

    /// Runs `call` with the node and the actor's address until the deadline.
    async fn call<T>(
        &self,
        call: impl AsyncFnOnce(&Node, &str) -> Result<T, Failed>,
    ) -> Result<T, Failed> {
        let call = call(&self.node, &self.target.address);
        match tokio::time::timeout_at(self.end, call).await {
            Ok(outcome) => outcome,
            Err(_) => Err(self.timeout_failure()),
        }
    }

    /// Closes the node. Waits for the peer's acknowledgement until the deadline, for `limit` at most.
    async fn close(&self, limit: Duration) -> CloseReport {
        let left = self.end.saturating_duration_since(Instant::now());
        self.node.close(limit.min(left)).await
    }

    fn timeout_failure(&self) -> Failed {
        let what = format!("no answer within {:?}", self.target.deadline);
        let hint = "check the actor, or allow more time with --deadline";
        Failed::with_hint(Code::NoAnswer, &what, &self.target.address, hint)
    }

    fn unconfirmed_failure(&self) -> Failed {
        let what =
            format!("the peer did not confirm the message within {:?}", self.target.deadline);
        let hint = "the message may have arrived: check before you send it again";
        Failed::with_hint(Code::NoAnswer, &what, &self.target.address, hint)
    }
}

/// Prints the name and the methods of an actor, and below them the types that they use.
fn print_description(actor: &Dynamic, json: bool) {
    let described = actor.described();
    if json {
        print::line(&as_json(described).to_string());
        return;
    }
    print::line(&format!("{} at {}", described.name, actor.target()));
    for (name, parameters, reply) in &described.methods {
        print::line(&format!("  {} -> {reply}", signature(name, parameters)));
    }
    for one in &described.types {
        print::line(&format!("  {}", definition(one)));
    }
}

/// A struct or an enum as Rust writes it, on one line.
fn definition(of: &DescribedType) -> String {
    if !of.is_enum() {
        let fields: Vec<_> = of
            .parts
            .iter()
            .map(|part| (part.name.clone(), part.kind.clone().unwrap_or_default()))
            .collect();
        return format!("struct {}{}", of.name, fields_as_text(&fields));
    }
    let variants: Vec<String> = of
        .parts
        .iter()
        .map(|part| format!("{}{}", part.name, fields_as_text(&part.fields)))
        .collect();
    format!("enum {} {{ {} }}", of.name, variants.join(", "))
}

/// ` { name: type }`, or `(type)` for the fields of a tuple; nothing if there are none.
fn fields_as_text(fields: &[(String, String)]) -> String {
    let Some((first, _)) = fields.first() else { return String::new() };
    if first == "0" {
        let kinds: Vec<&str> = fields.iter().map(|(_, kind)| kind.as_str()).collect();
        return format!("({})", kinds.join(", "));
    }
    let fields: Vec<String> = fields.iter().map(|(name, kind)| format!("{name}: {kind}")).collect();
    format!(" {{ {} }}", fields.join(", "))
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
    let types: Vec<Value> = described.types.iter().map(type_as_json).collect();
    let hash = format!("{:016x}", described.hash);
    serde_json::json!({
        "name": described.name,
        "schema_hash": hash,
        "methods": methods,
        "types": types,
    })
}

/// A struct has `fields`, an enum has `variants`, each with its fields.
fn type_as_json(of: &DescribedType) -> Value {
    let field = |name: &str, kind: &str| serde_json::json!({"name": name, "type": kind});
    let parts: Vec<Value> = of
        .parts
        .iter()
        .map(|part| match &part.kind {
            Some(kind) => field(&part.name, kind),
            None => {
                let fields: Vec<Value> =
                    part.fields.iter().map(|(name, kind)| field(name, kind)).collect();
                serde_json::json!({"name": part.name, "fields": fields})
            }
        })
        .collect();
    match of.is_enum() {
        true => serde_json::json!({"name": of.name, "variants": parts}),
        false => serde_json::json!({"name": of.name, "fields": parts}),
    }
}

/// Encodes the arguments for `method`. For an unknown method it encodes none, and the call itself
/// fails.
fn encode(actor: &Dynamic, method: &str, words: &[String]) -> Result<Vec<u8>, Failed> {
    let described = actor.described().methods.iter();
    let Some((_, parameters, _)) = described.into_iter().find(|(name, ..)| name == method) else {
        return Ok(Vec::new());
    };
    json::arguments(parameters, words).map_err(|wrong| {
        let error = format!(
            "{}: {wrong}\n   at: {}\n hint: give the arguments in that order, each as JSON; text needs no quotes",
            signature(method, parameters),
            actor.target()
        );
        Failed::new(Code::Usage, error)
    })
}

/// The signature of a method as text.
fn signature(method: &str, parameters: &[(String, String)]) -> String {
    let parameters: Vec<String> =
        parameters.iter().map(|(name, kind)| format!("{name}: {kind}")).collect();
    format!("{method}({})", parameters.join(", "))
}
