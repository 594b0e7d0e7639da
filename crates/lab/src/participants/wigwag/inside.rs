//! Other things that actors do within a process, as wigwag's documentation tells a user to write
//! it: they answer, hand a number round, and are very many.

use std::sync::{Arc, OnceLock};

use serde_json::json;
use tokio::runtime::Builder;
use tokio::sync::mpsc::{Sender, channel};
use wigwag::Actor;

use super::{counter, slow};
use crate::contract::Failure;
use crate::contract::{
    Orders, PayloadDraws, Tally, print_line, print_line_and_wait, ready_and_go, senders, step,
};

pub(crate) fn play(orders: &Orders) -> Result<(), Failure> {
    match orders.cell.as_str() {
        "slow" => return slow::count(orders),
        "actors" => return counter::count_each(orders),
        "count" | "" => return counter::count(orders),
        _ => {}
    }
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match orders.cell.as_str() {
        "ask" => runtime.block_on(ask(orders)),
        "bounce" | "ring" => runtime.block_on(ring(orders)),
        "spawn" => runtime.block_on(spawn(orders)),
        other => Err(format!("no such cell: {other:?}").into()),
    }
}

#[derive(Default)]
pub(super) struct Answerer {
    tally: Tally,
}

#[wigwag::actor]
impl Answerer {
    pub fn add(&mut self, number: u64, payload: u32) -> u64 {
        self.tally.take(number, payload);
        number + u64::from(payload)
    }

    pub fn account(&self) -> String {
        senders(&[self.tally]).to_string()
    }
}

async fn ask(orders: &Orders) -> Result<(), Failure> {
    let answerer = Answerer::default().spawn();
    let (asker, messages, mut draws) =
        (answerer.clone(), orders.messages, PayloadDraws::of(orders.seed, 0));
    ready_and_go()?;
    let asker = wigwag::spawn(async move {
        let (mut answer, mut wrong, mut sum) = (0_u64, 0_u64, 0_u64);
        for number in 0..messages {
            let payload = draws.next() ^ answer as u32;
            answer = asker.add(number, payload).ask().await?;
            wrong += u64::from(answer != number + u64::from(payload));
            sum = sum.wrapping_add(answer);
        }
        Ok::<_, Failure>((wrong, sum))
    });
    let (wrong, sum) = asker.await??;
    let senders = answerer.account().ask().await?;
    Ok(print_line(&format!(
        r#"{{"senders": {senders}, "replies": {messages}, "wrong": {wrong}, "sum": "{sum}"}}"#
    ))?)
}

/// A member of a ring, which learns of the next member when that one has started.
pub(super) struct RingNode {
    key: u32,
    actors: u64,
    hops: u64,
    tally: Tally,
    next: Arc<OnceLock<RingNodeRef>>,
    /// For the number after the last hop, or why it got lost.
    done: Sender<Result<u32, String>>,
}

#[wigwag::actor]
impl RingNode {
    pub fn hop(&mut self, number: u64, value: u32) {
        self.tally.take(number / self.actors, value);
        let value = step(value ^ self.key);
        if number + 1 == self.hops {
            return self.end(Ok(value));
        }
        let Some(next) = self.next.get() else {
            return self.end(Err("the ring is not closed".to_owned()));
        };
        if let Err(refused) = next.hop(number + 1, value).try_tell() {
            self.end(Err(refused.to_string()));
        }
    }

    pub fn account(&self) -> String {
        self.tally.to_json().to_string()
    }

    fn end(&self, how: Result<u32, String>) {
        // Only one end is waited for.
        let _ = self.done.try_send(how);
    }
}

async fn ring(orders: &Orders) -> Result<(), Failure> {
    let (done, mut ended) = channel(1);
    let nexts: Vec<Arc<OnceLock<RingNodeRef>>> =
        (0..orders.actors).map(|_| Arc::default()).collect();
    let node = |(at, next): (usize, &Arc<OnceLock<RingNodeRef>>)| RingNode {
        key: PayloadDraws::of(orders.seed, at as u32).next(),
        actors: orders.actors as u64,
        hops: orders.messages,
        tally: Tally::default(),
        next: next.clone(),
        done: done.clone(),
    };
    let nodes: Vec<RingNodeRef> = nexts.iter().enumerate().map(|it| node(it).spawn()).collect();
    for (next, node) in nexts.iter().zip(nodes.iter().cycle().skip(1)) {
        // The cell is empty, so this cannot fail.
        let _ = next.set(node.clone());
    }
    ready_and_go()?;
    nodes[0].hop(0, orders.seed).tell().await?;
    let value = ended.recv().await.ok_or("the ring has ended")??;
    let mut accounts = Vec::new();
    for node in &nodes {
        accounts.push(node.account().ask().await?);
    }
    Ok(print_line(&format!(r#"{{"value": {value}, "senders": [{}]}}"#, accounts.join(", ")))?)
}

/// Asks in flight at once, of as many actors.
const ASKS_IN_FLIGHT: usize = 1_024;

/// One of very many actors.
pub(super) struct Idler {
    number: u64,
    told: u64,
}

#[wigwag::actor]
impl Idler {
    /// Its own number, how often it was told, and what.
    pub fn hello(&mut self, payload: u32) -> (u64, u64, u32) {
        self.told += 1;
        (self.number, self.told, payload)
    }
}

async fn spawn(orders: &Orders) -> Result<(), Failure> {
    let (messages, mut draws) = (orders.messages, PayloadDraws::of(orders.seed, 0));
    ready_and_go()?;
    let roll = wigwag::spawn(async move {
        let idlers: Vec<IdlerRef> =
            (0..messages).map(|number| Idler { number, told: 0 }.spawn()).collect();
        let (mut alive, mut sum, mut pairs, mut again) = (0_u64, 0_u64, 0_u64, 0_u64);
        for some in idlers.chunks(ASKS_IN_FLIGHT) {
            let asked: Result<Vec<_>, _> =
                some.iter().map(|idler| idler.hello(draws.next()).try_ask()).collect();
            for answer in asked? {
                let (number, told, payload) = answer.await?;
                alive += 1;
                sum += u64::from(payload);
                pairs = pairs.wrapping_add(number.wrapping_mul(payload.into()));
                again += u64::from(told != 1);
            }
        }
        let (sum, pairs) = (sum.to_string(), pairs.to_string());
        let account = json!({ "alive": alive, "sum": sum, "pairs": pairs, "again": again });
        Ok::<_, Failure>((account, idlers))
    });
    let (account, _alive) = roll.await??;
    Ok(print_line_and_wait(&account.to_string())?)
}
