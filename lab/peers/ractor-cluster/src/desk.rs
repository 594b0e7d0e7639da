//! The actor of the server, and its messages.

use peer_common::{
    callers::{Desks, Quote},
    say,
};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use ractor_cluster::RactorClusterMessage;

/// The group in which the server's actor is found.
pub const GROUP: &str = "desk";

/// The answer to a caller.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Offer {
    #[prost(uint64, tag = "1")]
    pub sum: u64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(string, repeated, tag = "3")]
    tags: Vec<String>,
    #[prost(double, tag = "4")]
    weight: f64,
}

ractor_cluster::derive_serialization_for_prost_type! {Offer}

impl From<Quote> for Offer {
    fn from(quote: Quote) -> Self {
        let tags = quote.tags().map(str::to_owned).to_vec();
        Self { sum: quote.sum(), name: quote.name(), tags, weight: quote.weight() }
    }
}

#[derive(RactorClusterMessage)]
pub enum Message {
    Tell(u64, u32),
    #[rpc]
    Ask(u64, u32, RpcReplyPort<u64>),
    #[rpc]
    Quote(u32, u64, u32, RpcReplyPort<Offer>),
    /// Answers when all messages before it have been handled.
    #[rpc]
    Handled(RpcReplyPort<()>),
    #[rpc]
    Account(RpcReplyPort<()>),
}

pub struct Desk;

impl Actor for Desk {
    type Msg = Message;
    type State = Desks;
    type Arguments = u32;

    async fn pre_start(&self, _: ActorRef<Message>, senders: u32) -> Result<Desks, ActorProcessingErr> {
        Ok(Desks::new(senders, false))
    }

    async fn handle(
        &self,
        _: ActorRef<Message>,
        message: Message,
        desks: &mut Desks,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Tell(number, payload) => desks.accept(0, number, payload),
            Message::Ask(number, payload, reply) => {
                desks.accept(0, number, payload);
                reply.send(number + u64::from(payload))?;
            }
            Message::Quote(sender, number, payload, reply) => {
                desks.accept(sender, number, payload);
                reply.send(Quote::of(sender, number, payload).into())?;
            }
            Message::Handled(reply) => reply.send(())?,
            Message::Account(reply) => {
                say(&format!("{{{}}}", desks.account())).map_err(|error| error.to_string())?;
                reply.send(())?;
            }
        }
        Ok(())
    }
}
