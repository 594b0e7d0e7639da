//! ractor: the counter is an actor on Tokio's runtime.
//!
//! After the README of ractor, "Working with Actors" (one message enum; `cast` tells, `call`
//! asks). `cast` never waits, so a sender is a loop without an await and runs where Tokio's
//! documentation ("CPU-bound tasks and blocking code") wants such loops: `spawn_blocking`.
#![forbid(unsafe_code)]

mod inside;

use std::env;

use peer_common::{Payloads, Result, Seen, order, say};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, call, cast};
use tokio::task::JoinSet;

enum Message {
    Count { amount: u64, sender: u32, number: u64, payload: u32 },
    GetAndReset(RpcReplyPort<(u64, Seen)>),
}

struct Counter;

struct State {
    total: u64,
    seen: Seen,
}

impl Actor for Counter {
    type Msg = Message;
    type State = State;
    type Arguments = usize;

    async fn pre_start(
        &self,
        _: ActorRef<Message>,
        senders: usize,
    ) -> std::result::Result<State, ActorProcessingErr> {
        Ok(State { total: 0, seen: Seen::new(senders) })
    }

    async fn handle(
        &self,
        _: ActorRef<Message>,
        message: Message,
        state: &mut State,
    ) -> std::result::Result<(), ActorProcessingErr> {
        match message {
            Message::Count { amount, sender, number, payload } => {
                state.total += amount;
                state.seen.accept(sender, number, payload);
            }
            Message::GetAndReset(reply) => {
                reply.send((std::mem::take(&mut state.total), state.seen.clone()))?;
            }
        }
        Ok(())
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
    let (counter, _) = Actor::spawn(None, Counter, senders as usize).await?;
    peer_common::ready_and_wait_for_go()?;
    let mut tasks = JoinSet::new();
    for sender in 0..senders {
        let counter = counter.clone();
        tasks.spawn_blocking(move || -> Result<()> {
            for (number, payload) in (0..each).zip(Payloads::new(seed, sender)) {
                cast!(counter, Message::Count { amount, sender, number, payload })
                    .map_err(|_| "the counter is gone")?;
            }
            Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    let (total, seen) = call!(counter, Message::GetAndReset).map_err(|_| "the counter is gone")?;
    say(&format!(r#"{{"total": {total}, {}}}"#, seen.account()))
}
