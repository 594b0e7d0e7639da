//! The actor of the server, and its messages.

use kameo::{
    Actor, RemoteActor, Reply,
    message::{Context, Message},
    remote_message,
};
use peer_common::{
    callers::{Desks, Quote as Due},
    say,
};
use serde::{Deserialize, Serialize};

/// The name under which the server's actor is registered.
pub const NAME: &str = "desk";

#[derive(Actor, RemoteActor)]
pub struct Desk(pub Desks);

#[derive(Serialize, Deserialize)]
pub struct Tell(pub u64, pub u32);

#[remote_message]
impl Message<Tell> for Desk {
    type Reply = ();

    async fn handle(&mut self, Tell(number, payload): Tell, _: &mut Context<Self, ()>) {
        self.0.accept(0, number, payload);
    }
}

#[derive(Serialize, Deserialize)]
pub struct Ask(pub u64, pub u32);

#[remote_message]
impl Message<Ask> for Desk {
    type Reply = u64;

    async fn handle(&mut self, Ask(number, payload): Ask, _: &mut Context<Self, u64>) -> u64 {
        self.0.accept(0, number, payload);
        number + u64::from(payload)
    }
}

/// A call of `sender`, by its number and payload.
#[derive(Serialize, Deserialize)]
pub struct Quote(pub u32, pub u64, pub u32);

/// The answer to a caller.
#[derive(Debug, PartialEq, Reply, Serialize, Deserialize)]
pub struct Offer {
    pub sum: u64,
    name: String,
    tags: Vec<String>,
    weight: f64,
}

impl From<Due> for Offer {
    fn from(due: Due) -> Self {
        let tags = due.tags().map(str::to_owned).to_vec();
        Self { sum: due.sum(), name: due.name(), tags, weight: due.weight() }
    }
}

#[remote_message]
impl Message<Quote> for Desk {
    type Reply = Offer;

    async fn handle(&mut self, call: Quote, _: &mut Context<Self, Offer>) -> Offer {
        let Quote(sender, number, payload) = call;
        self.0.accept(sender, number, payload);
        Due::of(sender, number, payload).into()
    }
}

#[derive(Serialize, Deserialize)]
pub struct Account;

#[remote_message]
impl Message<Account> for Desk {
    type Reply = bool;

    async fn handle(&mut self, _: Account, _: &mut Context<Self, bool>) -> bool {
        say(&format!("{{{}}}", self.0.account())).is_ok()
    }
}
