//! The cells `chain` and `join`: what can be asked for in one round trip.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Instant;

use serde_json::{Value, json};
use wigwag::{Actor, Node};

use super::{LedgerRef, ledger_of};
use crate::contract::{Failure, Orders, PayloadDraws};
use crate::figures::times::Times;

/// Asks that are awaited together, as the lab orders messages.
const TOGETHER: u64 = 80;

/// Knows the ledger.
pub(super) struct Office {
    ledger: LedgerRef,
}

#[wigwag::actor]
impl Office {
    pub fn ledger(&self) -> LedgerRef {
        self.ledger.clone()
    }
}

/// Knows the office.
pub(super) struct Entrance {
    office: OfficeRef,
}

#[wigwag::actor]
impl Entrance {
    pub fn office(&self) -> OfficeRef {
        self.office.clone()
    }
}

/// Exports the way to a ledger.
pub(super) fn serve(node: &Node, ledger: &LedgerRef) -> Result<(), Failure> {
    let office = Office { ledger: ledger.clone() }.spawn();
    Ok(node.export("entrance", &Entrance { office }.spawn())?)
}

/// Each message is the last of three calls.
pub(super) async fn chains(node: &Node, orders: &Orders) -> Result<Value, Failure> {
    let entrance = node.actor::<Entrance>(&ledger_of(orders, "entrance")?).await?;
    let (messages, mut draws) = (orders.messages, PayloadDraws::of(orders.seed, 0));
    let chained = wigwag::spawn(async move {
        let (mut times, mut wrong, mut sum) = (Times::new(), 0_u64, 0_u64);
        for number in 0..messages {
            let payload = draws.next();
            let begun = Instant::now();
            let reply = entrance.office().pipe().ledger().pipe().add(number, payload).ask().await?;
            times.take(begun.elapsed());
            wrong += u64::from(reply != number + u64::from(payload));
            sum = sum.wrapping_add(reply);
        }
        Ok(account(messages, wrong, sum, &times))
    });
    chained.await?
}

/// Messages that are awaited together.
pub(super) async fn together(
    ledger: LedgerRef,
    messages: u64,
    mut draws: PayloadDraws,
) -> Result<Value, Failure> {
    let (mut times, mut wrong, mut sum) = (Times::new(), 0_u64, 0_u64);
    for first in (0..messages).step_by(TOGETHER as usize) {
        let begun = Instant::now();
        let mut due = Vec::new();
        let mut asks = Vec::new();
        for number in first..messages.min(first + TOGETHER) {
            let payload = draws.next();
            due.push(number + u64::from(payload));
            asks.push(ledger.add(number, payload).ask());
        }
        for (reply, due) in join_all(asks).await.into_iter().zip(due) {
            let reply = reply?;
            wrong += u64::from(reply != due);
            sum = sum.wrapping_add(reply);
        }
        times.take(begun.elapsed());
    }
    Ok(account(messages, wrong, sum, &times))
}

/// As that of the crate `futures`.
async fn join_all<F: Future + Unpin>(mut futures: Vec<F>) -> Vec<F::Output> {
    let mut outputs: Vec<_> = futures.iter().map(|_| None).collect();
    poll_fn(|context| {
        let mut is_complete = true;
        for (future, output) in futures.iter_mut().zip(&mut outputs) {
            if output.is_none() {
                match Pin::new(future).poll(context) {
                    Poll::Ready(reply) => *output = Some(reply),
                    Poll::Pending => is_complete = false,
                }
            }
        }
        if is_complete { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outputs.into_iter().flatten().collect()
}

fn account(messages: u64, wrong: u64, sum: u64, times: &Times) -> Value {
    json!({
        "replies": messages,
        "wrong": wrong,
        "sum": sum.to_string(),
        "rtt_us": times.to_json(),
    })
}
