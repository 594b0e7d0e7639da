//! The cells within one process: `slow`, `local ask`, `bounce`, `ring` and `spawn`.

use std::env;

use peer_common::{
    Asker, Here, Hop, Payloads, Place, Result, Roll, Seen, order, ready_and_wait_for_go, say,
    say_and_stay, work,
};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, call, cast};
use tokio::{
    sync::mpsc::{Sender, channel},
    task::JoinSet,
};

type Handled = std::result::Result<(), ActorProcessingErr>;

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

/// An actor whose state is what it was started with.
macro_rules! actor {
    ($name:ident, $state:ty, $message:ty) => {
        struct $name;

        impl Actor for $name {
            type Msg = $message;
            type State = $state;
            type Arguments = $state;

            async fn pre_start(
                &self,
                _: ActorRef<$message>,
                state: $state,
            ) -> std::result::Result<$state, ActorProcessingErr> {
                Ok(state)
            }

            async fn handle(
                &self,
                _: ActorRef<$message>,
                message: $message,
                state: &mut $state,
            ) -> Handled {
                state.handle(message)
            }
        }
    };
}

enum ToSlow {
    Count { amount: u64, sender: u32, number: u64, payload: u32 },
    Get(RpcReplyPort<String>),
}

struct SlowState {
    total: u64,
    worked: u64,
    draws: u32,
    seen: Seen,
}

actor!(Slow, SlowState, ToSlow);

impl SlowState {
    fn handle(&mut self, message: ToSlow) -> Handled {
        match message {
            ToSlow::Count { amount, sender, number, payload } => {
                self.total += amount;
                self.seen.accept(sender, number, payload);
                self.worked = self.worked.wrapping_add(work(self.draws, payload));
            }
            ToSlow::Get(reply) => {
                let Self { total, worked, seen, .. } = self;
                let seen = seen.account();
                reply.send(format!(r#"{{"total": {total}, {seen}, "worked": "{worked}"}}"#))?;
            }
        }
        Ok(())
    }
}

async fn slow() -> Result<()> {
    let (senders, amount, seed): (u32, u64, u32) =
        (order("SENDERS")?, order("AMOUNT")?, order("SEED")?);
    let (each, draws) = (order::<u64>("MESSAGES")? / u64::from(senders), order("WORK")?);
    let state = SlowState { total: 0, worked: 0, draws, seen: Seen::new(senders as usize) };
    let (counter, _) = Actor::spawn(None, Slow, state).await?;
    ready_and_wait_for_go()?;
    let mut tasks = JoinSet::new();
    for sender in 0..senders {
        let counter = counter.clone();
        tasks.spawn_blocking(move || -> Result<()> {
            for (number, payload) in (0..each).zip(Payloads::new(seed, sender)) {
                cast!(counter, ToSlow::Count { amount, sender, number, payload })
                    .map_err(|_| "the counter is gone")?;
            }
            Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    say_and_stay(&call!(counter, ToSlow::Get).map_err(|_| "the counter is gone")?)
}

enum ToAnswerer {
    Ask(u64, u32, RpcReplyPort<u64>),
    Get(RpcReplyPort<Seen>),
}

struct AnswererState(Seen);

actor!(Answerer, AnswererState, ToAnswerer);

impl AnswererState {
    fn handle(&mut self, message: ToAnswerer) -> Handled {
        match message {
            ToAnswerer::Ask(number, payload, reply) => {
                self.0.accept(0, number, payload);
                reply.send(number + u64::from(payload))?;
            }
            ToAnswerer::Get(reply) => reply.send(self.0.clone())?,
        }
        Ok(())
    }
}

async fn ask() -> Result<()> {
    let (asks, mut asker) = (order::<u64>("MESSAGES")?, Asker::new(order("SEED")?));
    let (answerer, _) = Actor::spawn(None, Answerer, AnswererState(Seen::new(1))).await?;
    ready_and_wait_for_go()?;
    let asking = tokio::spawn(async move {
        for _ in 0..asks {
            let (number, payload) = asker.ask();
            let answer = call!(answerer, ToAnswerer::Ask, number, payload);
            asker.hold(answer.map_err(|_| "the answerer is gone")?);
        }
        let seen = call!(answerer, ToAnswerer::Get).map_err(|_| "the answerer is gone")?;
        Ok::<_, &str>(asker.account(&seen))
    });
    say(&asking.await??)
}

enum ToNode {
    Next(ActorRef<ToNode>),
    Token(u64, u32),
    Get(RpcReplyPort<Place>),
}

struct NodeState {
    place: Place,
    next: Option<ActorRef<ToNode>>,
    done: Sender<u32>,
}

actor!(Node, NodeState, ToNode);

impl NodeState {
    fn handle(&mut self, message: ToNode) -> Handled {
        match message {
            ToNode::Next(next) => self.next = Some(next),
            ToNode::Token(number, value) => match (self.place.pass(number, value), &self.next) {
                (Hop::On(number, value), Some(next)) => cast!(next, ToNode::Token(number, value))?,
                (Hop::On(..), None) => return Err("the ring is not closed".into()),
                (Hop::End(value), _) => self.done.try_send(value)?,
            },
            ToNode::Get(reply) => reply.send(self.place.clone())?,
        }
        Ok(())
    }
}

async fn ring() -> Result<()> {
    let (places, seed) = (Place::all()?, order("SEED")?);
    let (done, mut ended) = channel(1);
    let mut nodes = Vec::new();
    for place in places {
        let state = NodeState { place, next: None, done: done.clone() };
        nodes.push(Actor::spawn(None, Node, state).await?.0);
    }
    for (node, next) in nodes.iter().zip(nodes.iter().cycle().skip(1)) {
        cast!(node, ToNode::Next(next.clone())).map_err(|_| "one of the ring is gone")?;
    }
    ready_and_wait_for_go()?;
    cast!(nodes[0], ToNode::Token(0, seed)).map_err(|_| "the ring has ended")?;
    let value = ended.recv().await.ok_or("the ring has ended")?;
    let mut places = Vec::new();
    for node in &nodes {
        places.push(call!(node, ToNode::Get).map_err(|_| "one of the ring is gone")?);
    }
    say(&Place::account(value, places))
}

struct IdlerState {
    number: u64,
    told: u64,
    roll: ActorRef<Here>,
}

actor!(Idler, IdlerState, u32);

impl IdlerState {
    fn handle(&mut self, payload: u32) -> Handled {
        self.told += 1;
        Ok(cast!(self.roll, Here { number: self.number, told: self.told, payload })?)
    }
}

struct RollState {
    roll: Roll,
    of: u64,
    done: Sender<Roll>,
}

actor!(RollCall, RollState, Here);

impl RollState {
    fn handle(&mut self, here: Here) -> Handled {
        if self.roll.enter(here) == self.of {
            self.done.try_send(self.roll.clone())?;
        }
        Ok(())
    }
}

async fn spawn() -> Result<()> {
    let (actors, seed) = (order::<u64>("MESSAGES")?, order("SEED")?);
    let (done, mut ended) = channel(1);
    let state = RollState { roll: Roll::default(), of: actors, done };
    let (roll, _) = Actor::spawn(None, RollCall, state).await?;
    ready_and_wait_for_go()?;
    let mut all = Vec::new();
    for number in 0..actors {
        let state = IdlerState { number, told: 0, roll: roll.clone() };
        all.push(Actor::spawn(None, Idler, state).await?.0);
    }
    for (one, payload) in all.iter().zip(Payloads::new(seed, 0)) {
        cast!(one, payload).map_err(|_| "one of them is gone")?;
    }
    let roll = ended.recv().await.ok_or("the roll has ended")?;
    say_and_stay(&roll.account())
}
