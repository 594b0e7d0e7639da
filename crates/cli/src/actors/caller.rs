//! The node of a command that calls an actor, and the options that such commands share.

use std::time::Duration;

use clap::Args;
use tokio::time::Instant;
use wigwag::{CloseReport, Node};

use crate::exit::{Code, Failed};
use crate::options::key_option::KeyArguments;
use crate::options::tls::TlsArguments;
use crate::options::units;

/// Time limit for the peer to confirm the end of the session, once the result is known. A round trip
/// around the earth takes a third of it.
pub(crate) const CLOSE_MAX: Duration = Duration::from_secs(1);

/// The actor to call.
#[derive(Args)]
pub(crate) struct TargetArguments {
    /// Address of the actor: tcp://HOST:PORT/NAME, ipc://PATH/NAME
    pub(crate) address: String,
    /// Give up after this time, such as 200ms, 5s or 2m
    #[arg(long, value_name = "TIME", value_parser = units::time, default_value = "5s")]
    pub(crate) deadline: Duration,
    #[command(flatten)]
    pub(crate) key: KeyArguments,
    #[command(flatten)]
    pub(crate) tls: TlsArguments,
}

/// The node of one command. Every orderly end of the command closes it, so that the peer does not
/// keep a session that will never be resumed.
pub(crate) struct Caller {
    node: Node,
    pub(crate) target: TargetArguments,
    /// The time at which the deadline expires.
    end: Instant,
}

impl Caller {
    pub(crate) fn new(target: TargetArguments) -> Result<Caller, Failed> {
        let end = Instant::now() + target.deadline;
        let options = target.key.with(target.tls.node_options(&target.address)?)?;
        let node = Node::with(options);
        Ok(Caller { node, target, end })
    }

    /// Runs `call` with the node and the actor's address until the deadline.
    pub(crate) async fn call<T>(
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
    pub(crate) async fn close(&self, limit: Duration) -> CloseReport {
        let left = self.end.saturating_duration_since(Instant::now());
        self.node.close(limit.min(left)).await
    }

    fn timeout_failure(&self) -> Failed {
        let what = format!("no answer within {:?}", self.target.deadline);
        let hint = "check the actor, or allow more time with --deadline";
        Failed::with_hint(Code::NoAnswer, &what, &self.target.address, hint)
    }

    pub(crate) fn unconfirmed_failure(&self) -> Failed {
        let what =
            format!("the peer did not confirm the message within {:?}", self.target.deadline);
        let hint = "the message may have arrived: check before you send it again";
        Failed::with_hint(Code::NoAnswer, &what, &self.target.address, hint)
    }
}
