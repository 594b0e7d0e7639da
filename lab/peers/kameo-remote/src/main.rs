//! Actors of kameo on two nodes of a libp2p swarm over TCP.
//!
//! After the README of kameo, "Distributed Actors", and the documentation of `kameo::remote`, "For
//! production deployments": a swarm of one's own around `remote::Behaviour`, without the discovery by
//! multicast that `bootstrap` begins. The configuration is the default one: a connection has 100
//! requests in flight, of tells too, each on a stream of its own, and so no order is promised. A tell
//! that comes beyond them is dropped, so the loop of tells waits for the acknowledgements.
#![forbid(unsafe_code)]

mod desk;

use std::{
    env,
    future::Future,
    time::{Duration, Instant},
};

use desk::{Account, Ask, Desk, NAME, Offer, Quote, Tell};
use futures::{StreamExt, TryStreamExt, stream};
use kameo::{
    actor::{RemoteActorRef, Spawn},
    remote::{Behaviour, messaging},
};
use libp2p::{
    Multiaddr, PeerId, Swarm, SwarmBuilder, identity::Keypair, noise, swarm::SwarmEvent, tcp, yamux,
};
use peer_common::{
    Payloads, Replies, Result, RoundTrips,
    callers::{Desks, Quote as Due},
    order, ready_and_stop_with_the_lab, ready_and_wait_for_go, say,
};
use tokio::task::JoinSet;

/// Requests that a connection has in flight, by default.
const STREAMS_MAX: usize = 100;

#[tokio::main]
async fn main() -> Result<()> {
    match env::args().nth(1).as_deref() {
        Some("remote-server") => server().await,
        Some("remote-client") => client().await,
        role => Err(format!("no such role: {role:?}").into()),
    }
}

/// The server's key: a client that knows it knows the server's name in the swarm.
fn key_of_server() -> Result<Keypair> {
    Ok(Keypair::ed25519_from_bytes([7; 32])?)
}

fn swarm(key: Keypair) -> Result<Swarm<Behaviour>> {
    let name = key.public().to_peer_id();
    let swarm = SwarmBuilder::with_existing_identity(key)
        .with_tokio()
        .with_tcp(tcp::Config::default(), noise::Config::new, yamux::Config::default)?
        .with_behaviour(|_| Behaviour::new(name, messaging::Config::default()))?
        .build();
    swarm.behaviour().try_init_global()?;
    Ok(swarm)
}

async fn server() -> Result<()> {
    let mut swarm = swarm(key_of_server()?)?;
    let port: u16 = order("PORT")?;
    swarm.listen_on(format!("/ip4/127.0.0.1/tcp/{port}").parse()?)?;
    let address = loop {
        if let SwarmEvent::NewListenAddr { address, .. } = swarm.select_next_some().await {
            break address;
        }
    };
    let driving = tokio::spawn(drive(swarm));
    // Other cells order no number of senders: they have one.
    let senders: u32 = order("SENDERS").unwrap_or(1);
    Desk::spawn(Desk(Desks::new(senders, false))).register(NAME).await?;
    ready_and_stop_with_the_lab(port_of(&address)?)?;
    Ok(driving.await?)
}

fn port_of(address: &Multiaddr) -> Result<u16> {
    let text = address.to_string();
    Ok(text.rsplit('/').next().unwrap_or_default().parse()?)
}

async fn drive(mut swarm: Swarm<Behaviour>) {
    loop {
        swarm.select_next_some().await;
    }
}

async fn client() -> Result<()> {
    let server: PeerId = key_of_server()?.public().to_peer_id();
    let mut swarm = swarm(Keypair::generate_ed25519())?;
    let port: u16 = order("PORT")?;
    let address: Multiaddr = format!("/ip4/127.0.0.1/tcp/{port}/p2p/{server}").parse()?;
    // As `bootstrap` does with a peer that it has discovered.
    swarm.add_peer_address(server, address.clone());
    swarm.dial(address)?;
    loop {
        match swarm.select_next_some().await {
            SwarmEvent::ConnectionEstablished { .. } => break,
            SwarmEvent::OutgoingConnectionError { error, .. } => return Err(error.into()),
            _ => {}
        }
    }
    tokio::spawn(drive(swarm));
    // The registry knows the name as soon as the nodes have told each other their protocols.
    let desk = loop {
        if let Some(desk) = RemoteActorRef::<Desk>::lookup(NAME).await? {
            break desk;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    };
    let (messages, window) = (order::<u64>("MESSAGES")?, order::<usize>("WINDOW")?);
    let numbered = (0..messages).zip(Payloads::new(order("SEED")?, 0));
    ready_and_wait_for_go()?;
    let account = match order::<String>("CELL")?.as_str() {
        "tell" => {
            let told = stream::iter(numbered).map(|(number, payload)| {
                let desk = &desk;
                async move { desk.tell(&Tell(number, payload)).send_ack().await }
            });
            told.buffer_unordered(STREAMS_MAX).try_for_each(async |()| Ok(())).await?;
            format!(r#"{{"sent": {messages}}}"#)
        }
        "naive" => {
            for (number, payload) in numbered {
                desk.tell(&Tell(number, payload)).send()?;
            }
            format!(r#"{{"sent": {messages}}}"#)
        }
        "ask" => ask(&desk, numbered, window.min(STREAMS_MAX)).await?,
        "naive-ask" => naive_ask(&desk, numbered).await?,
        "rtt" => ask_one_at_a_time(&desk, numbered).await?,
        "callers" => callers(&desk, messages).await?,
        cell => return Err(format!("no such cell: {cell}").into()),
    };
    if !desk.ask(&Account).await? {
        return Err("the server could not print its account".into());
    }
    say(&account)
}

fn asked(
    desk: &RemoteActorRef<Desk>,
    number: u64,
    payload: u32,
) -> impl Future<Output = Result<(u64, u32, u64)>> + Send + use<> {
    let desk = desk.clone();
    async move { Ok((number, payload, desk.ask(&Ask(number, payload)).await?)) }
}

async fn ask(
    desk: &RemoteActorRef<Desk>,
    numbered: impl Iterator<Item = (u64, u32)>,
    window: usize,
) -> Result<String> {
    let mut replies = Replies::default();
    let asks = stream::iter(numbered).map(|(number, payload)| asked(desk, number, payload));
    let mut answers = asks.buffer_unordered(window);
    while let Some(answered) = answers.next().await {
        let (number, payload, answer) = answered?;
        replies.hold(number, payload, answer);
    }
    Ok(replies.account(RoundTrips::default()))
}

/// Every call is a task of its own and nothing holds them back.
async fn naive_ask(
    desk: &RemoteActorRef<Desk>,
    numbered: impl Iterator<Item = (u64, u32)>,
) -> Result<String> {
    let mut calls = JoinSet::new();
    for (number, payload) in numbered {
        calls.spawn(asked(desk, number, payload));
    }
    let mut replies = Replies::default();
    while let Some(done) = calls.join_next().await {
        let (number, payload, answer) = done??;
        replies.hold(number, payload, answer);
    }
    Ok(replies.account(RoundTrips::default()))
}

async fn ask_one_at_a_time(
    desk: &RemoteActorRef<Desk>,
    numbered: impl Iterator<Item = (u64, u32)>,
) -> Result<String> {
    let (mut replies, mut round_trips) = (Replies::default(), RoundTrips::default());
    for (number, payload) in numbered {
        let begun = Instant::now();
        let answer = desk.ask(&Ask(number, payload)).await?;
        round_trips.push(begun.elapsed());
        replies.hold(number, payload, answer);
    }
    Ok(replies.account(round_trips))
}

/// Tasks that share the connection, each with one call in flight.
async fn callers(desk: &RemoteActorRef<Desk>, messages: u64) -> Result<String> {
    let (senders, seed): (u32, u32) = (order("SENDERS")?, order("SEED")?);
    let each = messages / u64::from(senders);
    let mut callers = JoinSet::new();
    for sender in 0..senders {
        let desk = desk.clone();
        callers.spawn(async move {
            let mut replies = Replies::default();
            for (number, payload) in (0..each).zip(Payloads::new(seed, sender)) {
                let offer: Offer = desk.ask(&Quote(sender, number, payload)).await?;
                replies.count(offer.sum, offer == Due::of(sender, number, payload).into());
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
