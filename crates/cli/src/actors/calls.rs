//! `wigwag ask` and `tell`: call the methods of an actor from the shell.

use clap::Args;
use wigwag::dynamic::{Dynamic, json};
use wigwag::{CallError, CallErrorKind};
use wigwag_describe::signature;

use crate::actors::caller::{CLOSE_MAX, Caller, TargetArguments};
use crate::actors::named;
use crate::exit::{Code, Failed};
use crate::print;
use crate::print::clean;

#[derive(Args)]
#[command(after_help = "Examples:
  wigwag ask tcp://127.0.0.1:7005/sum add 2 3                  the arguments in order
  wigwag ask tcp://127.0.0.1:7005/sum add b=3 a=2              by their names
  wigwag ask tcp://127.0.0.1:7005/sum add '{\"a\": 2, \"b\": 3}'  as one JSON object")]
pub(crate) struct Ask {
    #[command(flatten)]
    pub(crate) call: CallArguments,
}

#[derive(Args)]
#[command(after_help = "Examples:
  wigwag tell tcp://127.0.0.1:7005/counter count 50 0 0
  wigwag tell tcp://127.0.0.1:7005/counter count amount=50 sender=0 number=0")]
pub(crate) struct Tell {
    #[command(flatten)]
    pub(crate) call: CallArguments,
}

/// A method and its arguments.
#[derive(Args)]
pub(crate) struct CallArguments {
    #[command(flatten)]
    pub(crate) target: TargetArguments,
    /// Name of the method
    pub(crate) method: String,
    /// Arguments in order or as NAME=VALUE, each as JSON (text needs no quotes), or one JSON object
    /// of names
    #[arg(allow_negative_numbers = true)]
    pub(crate) arguments: Vec<String>,
}

impl Ask {
    pub(crate) async fn run(self) -> Result<Code, Failed> {
        let CallArguments { target, method, arguments } = self.call;
        let caller = Caller::new(target)?;
        let reply = caller
            .call(async |node, address| {
                let actor = node.dynamic(address).await?;
                let arguments = encode(&actor, &method, &arguments)?;
                actor
                    .ask(&method, &arguments)
                    .await
                    .map_err(|error| refused(&actor, &method, error))
            })
            .await;
        let printed = reply.and_then(|reply| {
            let text = json::text(&reply).map_err(|error| Failed::new(Code::Internal, error))?;
            print::result(format!("{text}\n").as_bytes())?;
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

/// Encodes the arguments for `method`. For an unknown method it encodes none, and the call itself
/// fails.
fn encode(actor: &Dynamic, method: &str, words: &[String]) -> Result<Vec<u8>, Failed> {
    let methods = &actor.described().methods;
    let Some((_, parameters, _)) = methods.iter().find(|(name, ..)| name == method) else {
        return match named::similar(method, methods.iter().map(|(name, ..)| name.as_str())) {
            Some(near) => Err(slip(actor, method, near)),
            None => Ok(Vec::new()),
        };
    };
    let encoded = named::in_order(parameters, words.to_vec())
        .and_then(|words| json::arguments(parameters, &words));
    encoded.map_err(|wrong| {
        let what = clean(&format!("{}: {wrong}", signature(method, parameters)));
        let hint = "give the arguments in that order, or each as NAME=VALUE, as JSON; text needs no \
                    quotes";
        Failed::with_hint(Code::Usage, &what, actor.target(), hint)
    })
}

/// The failure of a call. The actor itself has refused arguments whose types the command does not know.
fn refused(actor: &Dynamic, method: &str, error: CallError) -> Failed {
    let methods = &actor.described().methods;
    let called = methods.iter().find(|(name, ..)| name == method);
    let (CallErrorKind::BadArguments, Some((_, parameters, _))) = (error.kind, called) else {
        return error.into();
    };
    let signature = signature(method, parameters);
    let what = clean(&format!("the method takes other arguments: {signature}"));
    let hint = "write a struct as an array of its fields and an enum as one with its number in \
                front; `wigwag describe ADDRESS` has the fields";
    Failed::with_hint(Code::Usage, &what, actor.target(), hint)
}

/// The failure of a call of a method whose name is nearly that of another one.
fn slip(actor: &Dynamic, method: &str, near: &str) -> Failed {
    let what = format!("no such method: {method}");
    let hint = clean(&format!("did you mean {near}? `wigwag describe ADDRESS` has all methods"));
    Failed::with_hint(Code::Usage, &what, actor.target(), &hint)
}
