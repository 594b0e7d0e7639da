//! `wigwag top` and `wigwag metrics`: what a node shows of itself, again and again or once.

mod rates;
mod screen;
mod table;
mod top;

use clap::Args;
use wigwag::metrics::Metrics;
use wigwag::{CallErrorKind, Node, NodeError};

pub(crate) use top::Top;

use crate::actors::caller::{CLOSE_MAX, Caller, TargetArguments};
use crate::exit::{Code, Failed};
use crate::print;

#[derive(Args)]
#[command(after_help = "Examples:
  wigwag metrics tcp://127.0.0.1:7005                   the page for Prometheus
  wigwag metrics ipc:///run/shop/ > wigwag.prom         for the textfile collector of node_exporter")]
pub(crate) struct MetricsPage {
    #[command(flatten)]
    target: TargetArguments,
}

impl MetricsPage {
    pub(crate) async fn run(self) -> Result<Code, Failed> {
        let caller = Caller::new(self.target)?;
        let taken = caller.call(snapshot).await;
        let printed = taken.and_then(|metrics| {
            print::result(metrics.to_prometheus().as_bytes())?;
            Ok(Code::Ok)
        });
        caller.close(CLOSE_MAX).await;
        printed
    }
}

/// Takes a snapshot of the node at an address, which may end in a slash.
async fn snapshot(client: &Node, address: &str) -> Result<Metrics, Failed> {
    let address = address.strip_suffix('/').unwrap_or(address);
    match client.peer_metrics(address).await {
        Err(NodeError::Call(error)) if error.kind == CallErrorKind::NoSuchActor => {
            let what = "the node is not observable";
            let hint = "make it with `NodeOptions::observable(true)`";
            Err(Failed::with_hint(Code::Refused, what, address, hint))
        }
        outcome => Ok(outcome?),
    }
}
