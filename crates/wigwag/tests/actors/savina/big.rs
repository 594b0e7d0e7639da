//! Big: 120 actors send 20,000 pings each to randomly chosen others, and wait for each pong before
//! the next ping. Checks that every ping was answered, by the actor that it was sent to.

use std::sync::Arc;

use tokio::sync::oneshot;
use wigwag::{Actor, Local};

use super::{Alive, Dice, run};

const ACTORS: usize = 120;
const PINGS: u32 = 20_000;

type Members = Local<Arc<[MemberRef]>>;

struct Member {
    number: usize,
    members: Option<Members>,
    sink: SinkRef,
    dice: Dice,
    /// The member whose pong is expected.
    asked: usize,
    sent: u32,
    answered: u32,
    _alive: Alive,
}

#[wigwag::actor]
impl Member {
    /// Called before any member starts, since a ping may arrive at any time after that.
    pub fn meet(&mut self, members: Members) {
        self.members = Some(members);
    }

    pub fn start(&mut self) {
        self.send();
    }

    pub fn ping(&mut self, from: usize) {
        self.answered += 1;
        let Some(members) = &self.members else { panic!("a ping after the end") };
        members[from].pong(self.number).try_tell().unwrap();
    }

    pub fn pong(&mut self, from: usize) {
        assert_eq!(from, self.asked, "the pong of another");
        self.send();
    }

    /// Drops the references to the others; returns the number of answered pings.
    pub fn end(&mut self) -> u32 {
        self.members = None;
        self.answered
    }

    fn send(&mut self) {
        if self.sent == PINGS {
            return self.sink.finished().try_tell().unwrap();
        }
        self.sent += 1;
        let others = self.dice.below(ACTORS as u64 - 1) as usize;
        self.asked = (self.number + 1 + others) % ACTORS;
        let Some(members) = &self.members else { panic!("a pong after the end") };
        members[self.asked].ping(self.number).try_tell().unwrap();
    }
}

struct Sink {
    running: usize,
    done: Option<oneshot::Sender<()>>,
    _alive: Alive,
}

#[wigwag::actor]
impl Sink {
    pub fn finished(&mut self) {
        self.running -= 1;
        if self.running == 0
            && let Some(done) = self.done.take()
        {
            done.send(()).unwrap();
        }
    }
}

#[test]
fn big() {
    run(async |alive| {
        let (done, ended) = oneshot::channel();
        let sink = Sink { running: ACTORS, done: Some(done), _alive: alive.clone() }.spawn();
        let member = |number| {
            let (members, sink, dice) = (None, sink.clone(), Dice(number as u64));
            let (asked, sent, answered) = (number, 0, 0);
            let _alive = alive.clone();
            Member { number, members, sink, dice, asked, sent, answered, _alive }.spawn()
        };
        let members: Arc<[MemberRef]> = (0..ACTORS).map(member).collect();
        for member in members.iter() {
            member.meet(Local(members.clone())).tell().await.unwrap();
        }
        for member in members.iter() {
            member.start().tell().await.unwrap();
        }
        ended.await.unwrap();
        let mut answered = 0;
        for member in members.iter() {
            answered += member.end().ask().await.unwrap();
        }
        assert_eq!(answered, ACTORS as u32 * PINGS);
    });
}
