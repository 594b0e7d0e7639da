//! The cells within one process: `slow`, `local ask`, `bounce`, `ring` and `spawn`, each actor with
//! the default mailbox (bounded, 64).

use std::{
    env,
    sync::{Arc, OnceLock},
};

use kameo::{
    Actor, Reply,
    actor::{ActorRef, Spawn},
    message::{Context, Message},
};
use peer_common::{
    Asker, Here, Hop, Payloads, Place, Result, Roll, Seen, order, ready_and_wait_for_go, say,
    say_and_stay, work,
};
use tokio::sync::mpsc::{Sender, channel};

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

struct Count {
    amount: u64,
    sender: u32,
    number: u64,
    payload: u32,
}

struct Account;

#[derive(Actor)]
struct Slow {
    total: u64,
    worked: u64,
    draws: u32,
    seen: Seen,
}

impl Message<Count> for Slow {
    type Reply = ();

    async fn handle(&mut self, message: Count, _: &mut Context<Self, ()>) {
        self.total += message.amount;
        self.seen.accept(message.sender, message.number, message.payload);
        self.worked = self.worked.wrapping_add(work(self.draws, message.payload));
    }
}

impl Message<Account> for Slow {
    type Reply = String;

    async fn handle(&mut self, _: Account, _: &mut Context<Self, String>) -> String {
        let Self { total, worked, seen, .. } = self;
        format!(r#"{{"total": {total}, {}, "worked": "{worked}"}}"#, seen.account())
    }
}

async fn slow() -> Result<()> {
    let (senders, amount, seed): (u32, u64, u32) =
        (order("SENDERS")?, order("AMOUNT")?, order("SEED")?);
    let (each, draws) = (order::<u64>("MESSAGES")? / u64::from(senders), order("WORK")?);
    let seen = Seen::new(senders as usize);
    let counter = Slow::spawn(Slow { total: 0, worked: 0, draws, seen });
    ready_and_wait_for_go()?;
    let send = |sender| {
        let counter = counter.clone();
        tokio::spawn(async move {
            for (number, payload) in (0..each).zip(Payloads::new(seed, sender)) {
                let told = counter.tell(Count { amount, sender, number, payload }).await;
                told.map_err(|_| "the counter is gone")?;
            }
            Ok::<(), &str>(())
        })
    };
    let tasks: Vec<_> = (0..senders).map(send).collect();
    for task in tasks {
        task.await??;
    }
    say_and_stay(&counter.ask(Account).await.map_err(|_| "the counter is gone")?)
}

#[derive(Actor)]
struct Answerer(Seen);

struct Ask(u64, u32);

impl Message<Ask> for Answerer {
    type Reply = u64;

    async fn handle(&mut self, Ask(number, payload): Ask, _: &mut Context<Self, u64>) -> u64 {
        self.0.accept(0, number, payload);
        number + u64::from(payload)
    }
}

#[derive(Reply)]
struct WasSeen(Seen);

impl Message<Account> for Answerer {
    type Reply = WasSeen;

    async fn handle(&mut self, _: Account, _: &mut Context<Self, WasSeen>) -> WasSeen {
        WasSeen(self.0.clone())
    }
}

async fn ask() -> Result<()> {
    let (asks, mut asker) = (order::<u64>("MESSAGES")?, Asker::new(order("SEED")?));
    let answerer = Answerer::spawn(Answerer(Seen::new(1)));
    ready_and_wait_for_go()?;
    let asking = tokio::spawn(async move {
        for _ in 0..asks {
            let (number, payload) = asker.ask();
            let answer = answerer.ask(Ask(number, payload)).await;
            asker.hold(answer.map_err(|_| "the answerer is gone")?);
        }
        let WasSeen(seen) = answerer.ask(Account).await.map_err(|_| "the answerer is gone")?;
        Ok::<_, &str>(asker.account(&seen))
    });
    say(&asking.await??)
}

struct Token(u64, u32);

#[derive(Actor)]
struct Node {
    place: Place,
    next: Arc<OnceLock<ActorRef<Node>>>,
    done: Sender<u32>,
}

impl Message<Token> for Node {
    type Reply = ();

    async fn handle(&mut self, Token(number, value): Token, _: &mut Context<Self, ()>) {
        match (self.place.pass(number, value), self.next.get()) {
            // Refused when the next one has ended: the number is missed then.
            (Hop::On(number, value), Some(next)) => drop(next.tell(Token(number, value)).await),
            (Hop::On(..), None) => {}
            (Hop::End(value), _) => drop(self.done.try_send(value)),
        }
    }
}

#[derive(Reply)]
struct HasPlace(Place);

impl Message<Account> for Node {
    type Reply = HasPlace;

    async fn handle(&mut self, _: Account, _: &mut Context<Self, HasPlace>) -> HasPlace {
        HasPlace(self.place.clone())
    }
}

async fn ring() -> Result<()> {
    let (places, seed) = (Place::all()?, order("SEED")?);
    let (done, mut ended) = channel(1);
    let mut nodes = Vec::new();
    for place in places {
        let next = Arc::<OnceLock<ActorRef<Node>>>::default();
        let node = Node::spawn(Node { place, next: next.clone(), done: done.clone() });
        nodes.push((node, next));
    }
    for (at, (_, next)) in nodes.iter().enumerate() {
        // It was empty until now.
        let _ = next.set(nodes[(at + 1) % nodes.len()].0.clone());
    }
    ready_and_wait_for_go()?;
    nodes[0].0.tell(Token(0, seed)).await.map_err(|_| "the ring has ended")?;
    let value = ended.recv().await.ok_or("the ring has ended")?;
    let mut places = Vec::new();
    for (node, _) in &nodes {
        let HasPlace(place) = node.ask(Account).await.map_err(|_| "one of the ring is gone")?;
        places.push(place);
    }
    say(&Place::account(value, places))
}

struct Hello(u32);

#[derive(Actor)]
struct Idler {
    number: u64,
    told: u64,
    roll: ActorRef<RollCall>,
}

impl Message<Hello> for Idler {
    type Reply = ();

    async fn handle(&mut self, Hello(payload): Hello, _: &mut Context<Self, ()>) {
        self.told += 1;
        let here = IsHere(Here { number: self.number, told: self.told, payload });
        // Refused when the roll has ended, and then nobody wants to know.
        let _ = self.roll.tell(here).await;
    }
}

struct IsHere(Here);

#[derive(Actor)]
struct RollCall {
    roll: Roll,
    of: u64,
    done: Sender<Roll>,
}

impl Message<IsHere> for RollCall {
    type Reply = ();

    async fn handle(&mut self, IsHere(here): IsHere, _: &mut Context<Self, ()>) {
        if self.roll.enter(here) == self.of {
            // Somebody waits for it as long as the program runs.
            let _ = self.done.try_send(self.roll.clone());
        }
    }
}

async fn spawn() -> Result<()> {
    let (actors, seed) = (order::<u64>("MESSAGES")?, order("SEED")?);
    let (done, mut ended) = channel(1);
    let roll = RollCall::spawn(RollCall { roll: Roll::default(), of: actors, done });
    ready_and_wait_for_go()?;
    let start = |number| Idler::spawn(Idler { number, told: 0, roll: roll.clone() });
    let all: Vec<_> = (0..actors).map(start).collect();
    for (one, payload) in all.iter().zip(Payloads::new(seed, 0)) {
        one.tell(Hello(payload)).await.map_err(|_| "one of them is gone")?;
    }
    let roll = ended.recv().await.ok_or("the roll has ended")?;
    say_and_stay(&roll.account())
}
