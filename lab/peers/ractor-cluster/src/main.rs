//! Actors of ractor on two nodes that `ractor_cluster` connects over TCP.
//!
//! After the README of `ractor_cluster`, "Quick-start" and "Designing remote-supported actors": a
//! `NodeServer` on each side, messages that derive `RactorClusterMessage`, the actor of the other node
//! found in its process group. Mailboxes and the way to the socket have no bound and `cast` never
//! waits, so the loop of tells asks from time to time whether they have been handled.
#![forbid(unsafe_code)]

mod desk;

use std::{env, net::Ipv4Addr, time::Duration, time::Instant};

use desk::{Desk, GROUP, Message, Offer};
use futures::{StreamExt, stream};
use peer_common::{
    Payloads, Replies, Result, RoundTrips, callers::Quote, order, ready_and_stop_with_the_lab,
    ready_and_wait_for_go, say,
};
use ractor::{Actor, ActorRef, RpcReplyPort, pg, rpc::CallResult};
use ractor_cluster::{NetworkStream, NodeServer, NodeServerMessage};
use tokio::{net::TcpListener, task::JoinSet};

/// Tells between two questions whether they have been handled.
const TELLS_MAX: u64 = 16_384;

#[tokio::main]
async fn main() -> Result<()> {
    match env::args().nth(1).as_deref() {
        Some("remote-server") => server().await,
        Some("remote-client") => client().await,
        role => Err(format!("no such role: {role:?}").into()),
    }
}

/// A node that takes connections at a port of its own, which is not told to anyone.
async fn node(name: &str) -> Result<ActorRef<NodeServerMessage>> {
    let (name, host) = (name.to_owned(), "localhost".to_owned());
    let server = NodeServer::new(0, "cookie".to_owned(), name, host, None, None)
        .with_listen_addr(Ipv4Addr::LOCALHOST.into());
    Ok(Actor::spawn(None, server, ()).await?.0)
}

async fn server() -> Result<()> {
    let node = node("server").await?;
    // Other cells order no number of senders: they have one.
    let senders: u32 = order("SENDERS").unwrap_or(1);
    let (desk, _) = Actor::spawn(None, Desk, senders).await?;
    pg::join(GROUP.to_owned(), vec![desk.get_cell()]);
    // The port that a NodeServer chooses is not to be had from it.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, order("PORT")?)).await?;
    ready_and_stop_with_the_lab(listener.local_addr()?.port())?;
    loop {
        let (stream, peer_addr) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let local_addr = stream.local_addr()?;
        let stream = Box::new(NetworkStream::Raw { peer_addr, local_addr, stream });
        node.cast(NodeServerMessage::ConnectionOpened { stream, is_server: true })?;
    }
}

async fn client() -> Result<()> {
    let node = node("client").await?;
    let port: u16 = order("PORT")?;
    ractor_cluster::client_connect(&node, (Ipv4Addr::LOCALHOST, port)).await?;
    // The group has a member as soon as the nodes know each other.
    let desk: ActorRef<Message> = loop {
        if let Some(member) = pg::get_members(&GROUP.to_owned()).pop() {
            break member.into();
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    };
    let (messages, window) = (order::<u64>("MESSAGES")?, order::<usize>("WINDOW")?);
    let numbered = (0..messages).zip(Payloads::new(order("SEED")?, 0));
    ready_and_wait_for_go()?;
    let account = match order::<String>("CELL")?.as_str() {
        "tell" => tell(&desk, numbered, TELLS_MAX).await?,
        "naive" => tell(&desk, numbered, u64::MAX).await?,
        "ask" => ask(&desk, numbered, window).await?,
        "naive-ask" => naive_ask(&desk, numbered).await?,
        "rtt" => ask_one_at_a_time(&desk, numbered).await?,
        "callers" => callers(&desk, messages).await?,
        cell => return Err(format!("no such cell: {cell}").into()),
    };
    call(&desk, Message::Account).await?;
    say(&account)
}

async fn call<T: Send + 'static>(
    desk: &ActorRef<Message>,
    make: impl FnOnce(RpcReplyPort<T>) -> Message,
) -> Result<T> {
    match desk.call(make, None).await? {
        CallResult::Success(answer) => Ok(answer),
        CallResult::Timeout | CallResult::SenderError => Err("an answer did not come".into()),
    }
}

/// Tells, and waits after each `most` until they have been handled.
async fn tell(
    desk: &ActorRef<Message>,
    numbered: impl Iterator<Item = (u64, u32)>,
    most: u64,
) -> Result<String> {
    let mut sent = 0;
    for (number, payload) in numbered {
        desk.cast(Message::Tell(number, payload))?;
        sent += 1;
        if sent % most == 0 {
            call(desk, Message::Handled).await?;
        }
    }
    Ok(format!(r#"{{"sent": {sent}}}"#))
}

async fn ask(
    desk: &ActorRef<Message>,
    numbered: impl Iterator<Item = (u64, u32)>,
    window: usize,
) -> Result<String> {
    let mut replies = Replies::default();
    let mut answers = stream::iter(numbered)
        .map(async |(number, payload)| {
            let answer = call(desk, |reply| Message::Ask(number, payload, reply)).await;
            answer.map(|answer| (number, payload, answer))
        })
        .buffer_unordered(window);
    while let Some(answered) = answers.next().await {
        let (number, payload, answer) = answered?;
        replies.hold(number, payload, answer);
    }
    Ok(replies.account(RoundTrips::default()))
}

/// Every call is a task of its own and nothing holds them back.
async fn naive_ask(
    desk: &ActorRef<Message>,
    numbered: impl Iterator<Item = (u64, u32)>,
) -> Result<String> {
    let mut calls = JoinSet::new();
    for (number, payload) in numbered {
        let (reply, answer) = tokio::sync::oneshot::channel();
        // Sent here, so that the calls leave in their order.
        desk.cast(Message::Ask(number, payload, reply.into()))?;
        calls.spawn(async move { answer.await.map(|answer| (number, payload, answer)) });
    }
    let mut replies = Replies::default();
    while let Some(done) = calls.join_next().await {
        let (number, payload, answer) = done??;
        replies.hold(number, payload, answer);
    }
    Ok(replies.account(RoundTrips::default()))
}

async fn ask_one_at_a_time(
    desk: &ActorRef<Message>,
    numbered: impl Iterator<Item = (u64, u32)>,
) -> Result<String> {
    let (mut replies, mut round_trips) = (Replies::default(), RoundTrips::default());
    for (number, payload) in numbered {
        let begun = Instant::now();
        let answer = call(desk, |reply| Message::Ask(number, payload, reply)).await?;
        round_trips.push(begun.elapsed());
        replies.hold(number, payload, answer);
    }
    Ok(replies.account(round_trips))
}

/// Tasks that share the connection, each with one call in flight.
async fn callers(desk: &ActorRef<Message>, messages: u64) -> Result<String> {
    let (senders, seed): (u32, u32) = (order("SENDERS")?, order("SEED")?);
    let each = messages / u64::from(senders);
    let mut callers = JoinSet::new();
    for sender in 0..senders {
        let desk = desk.clone();
        callers.spawn(async move {
            let mut replies = Replies::default();
            for (number, payload) in (0..each).zip(Payloads::new(seed, sender)) {
                let offer: Offer =
                    call(&desk, |reply| Message::Quote(sender, number, payload, reply)).await?;
                replies.count(offer.sum, offer == Quote::of(sender, number, payload).into());
            }
            Result::<Replies>::Ok(replies)
        });
    }
    let mut replies = Replies::default();
    while let Some(ended) = callers.join_next().await {
        replies.add(&ended??);
    }
    Ok(replies.account(RoundTrips::default()))
}
