//! `wigwag top`: the actors and sessions of nodes, once a second.

use std::io::{self, IsTerminal};
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tokio::time::{MissedTickBehavior, interval, timeout};
use wigwag::Node;
use wigwag::metrics::Metrics;

use super::rates::Rates;
use super::screen::Screen;
use super::{snapshot, table};
use crate::actors::caller::CLOSE_MAX;
use crate::exit::{Code, Failed};
use crate::options::key_option::KeyArguments;
use crate::options::tls::TlsArguments;
use crate::options::units;
use crate::print;
use crate::socket::Interrupt;

/// The shortest time between two snapshots: each takes every lock of the node once.
const INTERVAL_MIN: Duration = Duration::from_millis(10);

#[derive(Args)]
#[command(after_help = "Examples:
  wigwag top tcp://127.0.0.1:7005                     until Ctrl-C
  wigwag top tcp://127.0.0.1:7005 ipc:///run/shop/    two nodes, one below the other
  wigwag top tcp://127.0.0.1:7005 --count 2 | cat     two plain tables, the second with rates
  wigwag top tcp://127.0.0.1:7005 --json --count 1    all counters, for programs")]
pub(crate) struct Top {
    /// Addresses of nodes: tcp://HOST:PORT, ipc://PATH/
    #[arg(required = true, value_name = "URL")]
    addresses: Vec<String>,
    /// Time between two snapshots
    #[arg(long, value_name = "TIME", value_parser = units::time, default_value = "1s")]
    interval: Duration,
    /// End after this many snapshots [default: with Ctrl-C]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Print one JSON object a line for each node and snapshot, with all counters
    #[arg(long)]
    json: bool,
    /// Give a node up that has not answered after this time
    #[arg(long, value_name = "TIME", value_parser = units::time, default_value = "5s")]
    deadline: Duration,
    #[command(flatten)]
    key: KeyArguments,
    #[command(flatten)]
    tls: TlsArguments,
}

/// A node that is watched.
struct Watched {
    address: String,
    client: Node,
    last: Option<Metrics>,
}

impl Top {
    pub(crate) async fn run(self) -> Result<Code, Failed> {
        let mut nodes = Vec::new();
        for address in &self.addresses {
            let client = Node::with(self.key.with(self.tls.node_options(address)?)?);
            nodes.push(Watched { address: address.clone(), client, last: None });
        }
        let mut interrupt = Interrupt::new()?;
        let outcome = tokio::select! {
            outcome = self.watch(&mut nodes) => outcome,
            () = interrupt.recv() => Ok(Code::Interrupted),
        };
        for node in &nodes {
            node.client.close(CLOSE_MAX.min(self.deadline)).await;
        }
        outcome
    }

    async fn watch(&self, nodes: &mut [Watched]) -> Result<Code, Failed> {
        let mut screen = (!self.json && io::stdout().is_terminal()).then(Screen::open);
        let mut ticks = interval(self.interval.max(INTERVAL_MIN));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut taken = 0;
        while self.count.is_none_or(|most| taken < most) {
            ticks.tick().await;
            let mut lines = Vec::new();
            for node in &mut *nodes {
                let now = self.snapshot(node).await;
                // A node that was there once may come back.
                let now = match now {
                    Err(failed) if taken == 0 => return Err(failed),
                    now => now,
                };
                match self.json {
                    true => print::line(&document(&node.address, &now)),
                    false => lines.extend(table(&node.address, node.last.as_ref(), &now)),
                }
                node.last = now.ok().or(node.last.take());
            }
            taken += 1;
            match &mut screen {
                Some(screen) => screen.show(&lines),
                None => lines.iter().for_each(|line| print::line(line)),
            }
        }
        Ok(Code::Ok)
    }

    async fn snapshot(&self, node: &Watched) -> Result<Metrics, Failed> {
        let taken = timeout(self.deadline, snapshot(&node.client, &node.address));
        taken.await.unwrap_or_else(|_| {
            let what = format!("no answer within {:?}", self.deadline);
            let hint = "check the node, or allow more time with --deadline";
            Err(Failed::with_hint(Code::NoAnswer, &what, &node.address, hint))
        })
    }
}

/// A snapshot, or why there is none, as a line of JSON.
fn document(address: &str, now: &Result<Metrics, Failed>) -> String {
    match now {
        Ok(metrics) => json!({"address": address, "metrics": metrics}),
        Err(failed) => json!({"address": address, "error": failed.to_string()}),
    }
    .to_string()
}

/// The lines about one node.
fn table(address: &str, last: Option<&Metrics>, now: &Result<Metrics, Failed>) -> Vec<String> {
    match now {
        Ok(metrics) => table::lines(address, metrics, &Rates::between(last, metrics)),
        Err(failed) => table::missing(address, &failed.to_string()),
    }
}
