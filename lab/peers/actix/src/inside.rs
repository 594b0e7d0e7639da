//! The cells within one process: `slow`, `local ask`, `bounce`, `ring` and `spawn`.
//!
//! A slow actor and an answerer have arbiters of their own, a ring has two, and the actors of
//! `spawn` run on the arbiter that started them.

use std::{
    env,
    sync::{Arc, OnceLock},
    thread,
};

use actix::{Actor, Addr, Arbiter, Context, Handler, Message, MessageResult, Recipient};
use peer_common::{
    Asker, Here, Hop, Payloads, Place, Result, Roll, Seen, order, ready_and_wait_for_go, say,
    say_and_stay, work,
};
use tokio::sync::mpsc::{Sender, channel};

/// Arbiters of a ring.
const ARBITERS: usize = 2;

/// Plays the cell that was ordered; false if it is the plain counter.
pub async fn play() -> Result<bool> {
    match env::var("CELL").as_deref() {
        Ok("slow") => slow().await?,
        Ok("ask") => ask().await?,
        Ok("bounce" | "ring") => ring().await?,
        Ok("spawn") => spawn().await?,
        _ => return Ok(false),
    }
    Ok(true)
}

#[derive(Message)]
#[rtype(result = "()")]
struct Count {
    amount: u64,
    sender: u32,
    number: u64,
    payload: u32,
}

#[derive(Message)]
#[rtype(result = "String")]
struct Account;

struct Slow {
    total: u64,
    worked: u64,
    draws: u32,
    seen: Seen,
}

impl Actor for Slow {
    type Context = Context<Self>;
}

impl Handler<Count> for Slow {
    type Result = ();

    fn handle(&mut self, message: Count, _: &mut Context<Self>) {
        self.total += message.amount;
        self.seen.accept(message.sender, message.number, message.payload);
        self.worked = self.worked.wrapping_add(work(self.draws, message.payload));
    }
}

impl Handler<Account> for Slow {
    type Result = String;

    fn handle(&mut self, _: Account, _: &mut Context<Self>) -> String {
        let Self { total, worked, seen, .. } = self;
        format!(r#"{{"total": {total}, {}, "worked": "{worked}"}}"#, seen.account())
    }
}

async fn slow() -> Result<()> {
    let (senders, amount, seed): (u32, u64, u32) =
        (order("SENDERS")?, order("AMOUNT")?, order("SEED")?);
    let (each, draws) = (order::<u64>("MESSAGES")? / u64::from(senders), order("WORK")?);
    let counter = Slow::start_in_arbiter(&Arbiter::new().handle(), move |_| Slow {
        total: 0,
        worked: 0,
        draws,
        seen: Seen::new(senders as usize),
    });
    ready_and_wait_for_go()?;
    let send = |sender| {
        let counter = counter.clone();
        thread::spawn(move || {
            for (number, payload) in (0..each).zip(Payloads::new(seed, sender)) {
                counter.do_send(Count { amount, sender, number, payload });
            }
        })
    };
    let threads: Vec<_> = (0..senders).map(send).collect();
    for thread in threads {
        thread.join().map_err(|_| "a sender panicked")?;
    }
    say_and_stay(&counter.send(Account).await?)
}

#[derive(Message)]
#[rtype(result = "u64")]
struct Ask(u64, u32);

#[derive(Message)]
#[rtype(result = "Seen")]
struct WhatWasSeen;

struct Answerer(Seen);

impl Actor for Answerer {
    type Context = Context<Self>;
}

impl Handler<Ask> for Answerer {
    type Result = u64;

    fn handle(&mut self, Ask(number, payload): Ask, _: &mut Context<Self>) -> u64 {
        self.0.accept(0, number, payload);
        number + u64::from(payload)
    }
}

impl Handler<WhatWasSeen> for Answerer {
    type Result = MessageResult<WhatWasSeen>;

    fn handle(&mut self, _: WhatWasSeen, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.0.clone())
    }
}

async fn ask() -> Result<()> {
    let (asks, mut asker) = (order::<u64>("MESSAGES")?, Asker::new(order("SEED")?));
    let answerer = Answerer::start_in_arbiter(&Arbiter::new().handle(), |_| Answerer(Seen::new(1)));
    ready_and_wait_for_go()?;
    for _ in 0..asks {
        let (number, payload) = asker.ask();
        asker.hold(answerer.send(Ask(number, payload)).await?);
    }
    say(&asker.account(&answerer.send(WhatWasSeen).await?))
}

#[derive(Message)]
#[rtype(result = "()")]
struct Token(u64, u32);

#[derive(Message)]
#[rtype(result = "Place")]
struct WhichPlace;

struct Node {
    place: Place,
    next: Arc<OnceLock<Addr<Node>>>,
    done: Sender<u32>,
}

impl Actor for Node {
    type Context = Context<Self>;
}

impl Handler<Token> for Node {
    type Result = ();

    fn handle(&mut self, Token(number, value): Token, _: &mut Context<Self>) {
        match (self.place.pass(number, value), self.next.get()) {
            (Hop::On(number, value), Some(next)) => next.do_send(Token(number, value)),
            // Nobody is there who would go on: the number is missed.
            (Hop::On(..), None) => {}
            (Hop::End(value), _) => drop(self.done.try_send(value)),
        }
    }
}

impl Handler<WhichPlace> for Node {
    type Result = MessageResult<WhichPlace>;

    fn handle(&mut self, _: WhichPlace, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.place.clone())
    }
}

async fn ring() -> Result<()> {
    let (places, seed) = (Place::all()?, order("SEED")?);
    let (done, mut ended) = channel(1);
    let arbiters = [(); ARBITERS].map(|()| Arbiter::new());
    let mut nodes: Vec<(Addr<Node>, Arc<OnceLock<Addr<Node>>>)> = Vec::new();
    // Neighbours share an arbiter, but for one pair.
    let half = places.len().div_ceil(ARBITERS);
    for (at, place) in places.into_iter().enumerate() {
        let (next, done) = (Arc::<OnceLock<_>>::default(), done.clone());
        let its_next = next.clone();
        let node = Node::start_in_arbiter(&arbiters[at / half].handle(), move |_| Node {
            place,
            next: its_next,
            done,
        });
        nodes.push((node, next));
    }
    for (at, (_, next)) in nodes.iter().enumerate() {
        // It was empty until now.
        let _ = next.set(nodes[(at + 1) % nodes.len()].0.clone());
    }
    ready_and_wait_for_go()?;
    nodes[0].0.do_send(Token(0, seed));
    let value = ended.recv().await.ok_or("the ring has ended")?;
    let mut places = Vec::new();
    for (node, _) in &nodes {
        places.push(node.send(WhichPlace).await?);
    }
    say(&Place::account(value, places))
}

#[derive(Message)]
#[rtype(result = "()")]
struct Hello(u32);

#[derive(Message)]
#[rtype(result = "()")]
struct IsHere(Here);

struct Idler {
    number: u64,
    told: u64,
    roll: Recipient<IsHere>,
}

impl Actor for Idler {
    type Context = Context<Self>;
}

impl Handler<Hello> for Idler {
    type Result = ();

    fn handle(&mut self, Hello(payload): Hello, _: &mut Context<Self>) {
        self.told += 1;
        self.roll.do_send(IsHere(Here { number: self.number, told: self.told, payload }));
    }
}

struct RollCall {
    roll: Roll,
    of: u64,
    done: Sender<Roll>,
}

impl Actor for RollCall {
    type Context = Context<Self>;
}

impl Handler<IsHere> for RollCall {
    type Result = ();

    fn handle(&mut self, IsHere(here): IsHere, _: &mut Context<Self>) {
        if self.roll.enter(here) == self.of {
            // Somebody waits for it as long as the program runs.
            let _ = self.done.try_send(self.roll.clone());
        }
    }
}

async fn spawn() -> Result<()> {
    let (actors, seed) = (order::<u64>("MESSAGES")?, order("SEED")?);
    let (done, mut ended) = channel(1);
    let roll = RollCall { roll: Roll::default(), of: actors, done }.start();
    ready_and_wait_for_go()?;
    let start = |number| {
        let roll = roll.clone().recipient();
        Idler::create(|_: &mut Context<Idler>| Idler { number, told: 0, roll })
    };
    let all: Vec<_> = (0..actors).map(start).collect();
    for (one, payload) in all.iter().zip(Payloads::new(seed, 0)) {
        one.do_send(Hello(payload));
    }
    let roll = ended.recv().await.ok_or("the roll has ended")?;
    say_and_stay(&roll.account())
}
