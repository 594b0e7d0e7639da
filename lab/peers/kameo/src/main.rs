//! kameo: the counter is an actor with the default mailbox (bounded, 64), senders are tasks.
//!
//! After the README of kameo, "Basic Example", and the documentation of `ActorRef::tell` and
//! `ActorRef::ask`.
#![forbid(unsafe_code)]

mod inside;

use std::env;

use kameo::{
    Actor, Reply,
    actor::Spawn,
    message::{Context, Message},
};
use peer_common::{Payloads, Result, Seen, order, say};
use tokio::task::JoinSet;

#[derive(Actor)]
struct Counter {
    total: u64,
    seen: Seen,
}

struct Count {
    amount: u64,
    sender: u32,
    number: u64,
    payload: u32,
}

impl Message<Count> for Counter {
    type Reply = ();

    async fn handle(&mut self, message: Count, _: &mut Context<Self, ()>) {
        self.total += message.amount;
        self.seen.accept(message.sender, message.number, message.payload);
    }
}

struct GetAndReset;

#[derive(Reply)]
struct Totals {
    total: u64,
    seen: Seen,
}

impl Message<GetAndReset> for Counter {
    type Reply = Totals;

    async fn handle(&mut self, _: GetAndReset, _: &mut Context<Self, Totals>) -> Totals {
        Totals { total: std::mem::take(&mut self.total), seen: self.seen.clone() }
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    match env::args().nth(1).as_deref() {
        Some("counter") if inside::play().await? => Ok(()),
        Some("counter") => counter().await,
        role => Err(format!("no such role: {role:?}").into()),
    }
}

async fn counter() -> Result<()> {
    let (senders, amount, seed) = (order("SENDERS")?, order("AMOUNT")?, order("SEED")?);
    let each = order::<u64>("MESSAGES")? / u64::from(senders);
    let counter = Counter::spawn(Counter { total: 0, seen: Seen::new(senders as usize) });
    peer_common::ready_and_wait_for_go()?;
    let mut tasks = JoinSet::new();
    for sender in 0..senders {
        let counter = counter.clone();
        tasks.spawn(async move {
            for (number, payload) in (0..each).zip(Payloads::new(seed, sender)) {
                counter
                    .tell(Count { amount, sender, number, payload })
                    .await
                    .map_err(|_| "the counter is gone")?;
            }
            Ok::<(), &str>(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    let Totals { total, seen } =
        counter.ask(GetAndReset).await.map_err(|_| "the counter is gone")?;
    say(&format!(r#"{{"total": {total}, {}}}"#, seen.account()))
}
