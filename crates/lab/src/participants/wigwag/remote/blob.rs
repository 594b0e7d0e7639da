//! Round trips beside long messages, over one session: plain tasks under `#[tokio::main]`.
//!
//! A message is made and checked by `spawn_blocking`, as tokio advises for work of milliseconds; in
//! the raw program, threads of their own do that.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::task::spawn_blocking;
use wigwag::{Actor, Bytes, Node};

use crate::contract::{
    Counts, Failure, Orders, PayloadDraws, Tally, blob, print_line, ready_and_go,
};
use crate::figures::times::Times;
use crate::participants::wigwag::clerk::{Clerk, CountedRef, serve_node};

/// Answers the round trips.
#[derive(Default)]
pub(super) struct Desk {
    tally: Tally,
}

#[wigwag::actor]
impl Desk {
    pub fn add(&mut self, number: u64, payload: u32) -> u64 {
        self.tally.take(number, payload);
        number + u64::from(payload)
    }

    pub fn counts(&self) -> Vec<Counts> {
        vec![self.tally.to_counts()]
    }
}

/// Takes the long messages.
#[derive(Default)]
pub(super) struct Store {
    tally: Tally,
}

#[wigwag::actor]
impl Store {
    pub async fn put(&mut self, number: u64, bytes: Bytes) {
        let payload = spawn_blocking(move || blob::payload(&bytes)).await;
        self.tally.take(number, payload.ok().flatten().unwrap_or(0));
    }

    pub fn counts(&self) -> Vec<Counts> {
        vec![self.tally.to_counts()]
    }
}

pub(super) fn serve() -> Result<(), Failure> {
    Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let node = Node::new();
        let (desk, store) = (Desk::default().spawn(), Store::default().spawn());
        node.export("desk", &desk)?;
        node.export("store", &store)?;
        let counted = vec![CountedRef::from(&desk), CountedRef::from(&store)];
        node.export("clerk", &Clerk { counted }.spawn())?;
        serve_node(&node).await
    })
}

pub(super) fn drive(orders: &Orders) -> Result<(), Failure> {
    Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let (node, address) = (Node::new(), format!("tcp://127.0.0.1:{}", orders.port));
        let clerk = node.actor::<Clerk>(&format!("{address}/clerk")).await?;
        let desk = node.actor::<Desk>(&format!("{address}/desk")).await?;
        let store = node.actor::<Store>(&format!("{address}/store")).await?;
        ready_and_go()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let sending = tokio::spawn(send(store, orders.seed, is_over.clone()));
        let mut account = tokio::spawn(round_trips(desk, orders.clone())).await??;
        is_over.store(true, Ordering::Relaxed);
        account["sent"] = json!(sending.await??);
        if !clerk.finish().ask().await? {
            return Err("the server could not print its account".into());
        }
        print_line(&account.to_string())?;
        node.close(Duration::from_secs(1)).await;
        Ok(())
    })
}

/// Sends long messages until the round trips are over; their number.
async fn send(store: StoreRef, seed: u32, is_over: Arc<AtomicBool>) -> Result<u64, Failure> {
    let (mut draws, mut sent) = (PayloadDraws::of(seed, 1), 0);
    while sent < blob::LEAST || !is_over.load(Ordering::Relaxed) {
        let payload = draws.next();
        let bytes = spawn_blocking(move || blob::of(payload)).await?;
        store.put(sent, bytes.into()).tell().await?;
        sent += 1;
    }
    // The account is asked for behind them, of another actor.
    store.counts().ask().await?;
    Ok(sent)
}

async fn round_trips(desk: DeskRef, orders: Orders) -> Result<Value, Failure> {
    let (mut draws, mut times) = (PayloadDraws::of(orders.seed, 0), Times::new());
    let (mut wrong, mut sum) = (0_u64, 0_u64);
    for number in 0..orders.messages {
        let payload = draws.next();
        let begun = Instant::now();
        let reply = desk.add(number, payload).ask().await?;
        times.take(begun.elapsed());
        wrong += u64::from(reply != number + u64::from(payload));
        sum = sum.wrapping_add(reply);
    }
    Ok(json!({
        "replies": orders.messages,
        "wrong": wrong,
        "sum": sum.to_string(),
        "rtt_us": times.to_json(),
    }))
}
