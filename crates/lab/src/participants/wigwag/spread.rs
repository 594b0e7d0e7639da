//! Tells of the remote workload that come from many senders, go to many actors, or go over many
//! sessions.

use std::time::Duration;

use serde_json::json;
use wigwag::{Actor, Node, NodeOptions};

use super::clerk::{Clerk, CountedRef, serve_node};
use crate::contract::Failure;
use crate::contract::{Counts, Orders, PayloadDraws, Tally, print_line, ready_and_go};

/// Fetches, and asks of different actors, that are under way at once.
const AT_ONCE: usize = 1_024;

/// The default of a node.
const ACTORS_PER_PEER: u64 = 8_192;

/// Takes note of one sequence, or of as many as send to it.
pub(super) struct SpreadLedger {
    tallies: Vec<Tally>,
}

#[wigwag::actor]
impl SpreadLedger {
    #[inline]
    pub fn note(&mut self, sender: u32, number: u64, payload: u32) {
        if let Some(tally) = self.tallies.get_mut(sender as usize) {
            tally.take(number, payload);
        }
    }

    pub fn counts(&self) -> Vec<Counts> {
        self.tallies.iter().map(|tally| tally.to_counts()).collect()
    }

    /// Answers when all that was told before has been handled.
    pub fn settle(&self) {}
}

pub(crate) async fn serve(orders: &Orders) -> Result<(), Failure> {
    // The actors and the clerk.
    let actors = u64::from(orders.senders) + 1;
    let node = Node::with(NodeOptions::default().actors_per_peer(actors.max(ACTORS_PER_PEER)));
    let ledger = |sequences: u32| {
        SpreadLedger { tallies: (0..sequences).map(|_| Tally::default()).collect() }.spawn()
    };
    let ledgers: Vec<SpreadLedgerRef> = match orders.cell.as_str() {
        "actors" | "actors-random" => (0..orders.senders).map(|_| ledger(1)).collect(),
        _ => vec![ledger(orders.senders)],
    };
    for (at, ledger) in ledgers.iter().enumerate() {
        node.export(&format!("ledger{at}"), ledger)?;
    }
    let counted = ledgers.iter().map(CountedRef::from).collect();
    node.export("clerk", &Clerk { counted }.spawn())?;
    serve_node(&node).await
}

pub(crate) async fn drive(orders: &Orders) -> Result<(), Failure> {
    let address = format!("tcp://127.0.0.1:{}", orders.port);
    let node = Node::new();
    let clerk = node.actor::<Clerk>(&format!("{address}/clerk")).await?;
    let each = orders.messages / u64::from(orders.senders);
    let draws = (0..orders.senders).map(|sender| PayloadDraws::of(orders.seed, sender));
    let mut nodes = vec![node];
    match orders.cell.as_str() {
        "actors" => {
            let (ledgers, draws) =
                (fetch(&nodes[0], &address, orders.senders).await?, draws.collect());
            ready_and_go()?;
            wigwag::spawn(in_turn(ledgers, draws, each)).await??;
        }
        "actors-random" => {
            let ledgers = fetch(&nodes[0], &address, orders.senders).await?;
            let draws = PayloadDraws::of(orders.seed, 0);
            ready_and_go()?;
            wigwag::spawn(at_random(ledgers, draws, orders.messages)).await??;
        }
        cell => {
            let mut senders = Vec::new();
            for (sender, draws) in (0..).zip(draws) {
                if cell == "links" {
                    nodes.push(Node::new());
                }
                let node = &nodes[nodes.len() - 1];
                let ledger = node.actor::<SpreadLedger>(&format!("{address}/ledger0")).await?;
                senders.push((ledger, sender, draws));
            }
            ready_and_go()?;
            let sending = senders
                .into_iter()
                .map(|(ledger, sender, draws)| wigwag::spawn(alone(ledger, sender, draws, each)));
            let sending: Vec<_> = sending.collect();
            for one in sending {
                one.await??;
            }
        }
    }
    if !clerk.finish().ask().await? {
        return Err("the server could not print its account".into());
    }
    print_line(&json!({ "sent": orders.messages }).to_string())?;
    let close = |node: Node| async move { node.close(Duration::from_secs(1)).await };
    let closing: Vec<_> = nodes.into_iter().map(|node| tokio::spawn(close(node))).collect();
    for closed in closing {
        closed.await?;
    }
    Ok(())
}

/// References to all actors. Each fetch is a round trip, so many of them are under way.
async fn fetch(node: &Node, address: &str, actors: u32) -> Result<Vec<SpreadLedgerRef>, Failure> {
    let mut ledgers = Vec::with_capacity(actors as usize);
    for from in (0..actors).step_by(AT_ONCE) {
        let some = from..actors.min(from + AT_ONCE as u32);
        let fetches: Vec<_> = some
            .map(|at| tokio::spawn(node.actor::<SpreadLedger>(&format!("{address}/ledger{at}"))))
            .collect();
        for fetched in fetches {
            let at = ledgers.len();
            let why = |error| format!("actor {at} of {actors} cannot be fetched: {error}");
            ledgers.push(fetched.await?.map_err(why)?);
        }
    }
    Ok(ledgers)
}

async fn tell(
    ledger: &SpreadLedgerRef,
    sender: u32,
    number: u64,
    payload: u32,
) -> Result<(), Failure> {
    if let Err(refused) = ledger.note(sender, number, payload).try_tell() {
        ledger.call::<()>(refused.message).tell().await?;
    }
    Ok(())
}

/// One sender of many.
async fn alone(
    ledger: SpreadLedgerRef,
    sender: u32,
    mut draws: PayloadDraws,
    messages: u64,
) -> Result<(), Failure> {
    for number in 0..messages {
        tell(&ledger, sender, number, draws.next()).await?;
    }
    settle(&[ledger]).await
}

/// Waits until what was told has been handled: the clerk asks from the ledger's own process, and
/// may come before what lies in the session's queue.
async fn settle(ledgers: &[SpreadLedgerRef]) -> Result<(), Failure> {
    for some in ledgers.chunks(AT_ONCE) {
        let mut answers = Vec::with_capacity(some.len());
        for ledger in some {
            answers.push(ledger.settle().ask().sent().await?);
        }
        for answer in answers {
            answer.await?;
        }
    }
    Ok(())
}

/// One sender that tells many actors, one after the other.
async fn in_turn(
    ledgers: Vec<SpreadLedgerRef>,
    mut draws: Vec<PayloadDraws>,
    messages: u64,
) -> Result<(), Failure> {
    for number in 0..messages {
        for (ledger, draws) in ledgers.iter().zip(&mut draws) {
            tell(ledger, 0, number, draws.next()).await?;
        }
    }
    settle(&ledgers).await
}

/// One sender that tells many actors, of which the payload says the next.
async fn at_random(
    ledgers: Vec<SpreadLedgerRef>,
    mut draws: PayloadDraws,
    messages: u64,
) -> Result<(), Failure> {
    let mut numbers = vec![0; ledgers.len()];
    for _ in 0..messages {
        let payload = draws.next();
        let at = payload as usize % ledgers.len();
        tell(&ledgers[at], 0, numbers[at], payload).await?;
        numbers[at] += 1;
    }
    settle(&ledgers).await
}
