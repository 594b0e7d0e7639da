//! Tokio with its multi-threaded runtime: one task for each connection, one for each sender.
//!
//! After the Tokio tutorial: "Spawning" and "I/O" (echo server) for pingpong, "Channels" (bounded
//! mpsc, the asker sends a oneshot along) for the counter.
#![forbid(unsafe_code)]

mod inside;

use std::{env, net::Ipv4Addr, sync::Arc};

use peer_common::{CHANNEL_MESSAGES_MAX, Connections, Payloads, Result, Seen, order, say};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{mpsc, oneshot},
    task::JoinSet,
};

#[tokio::main]
async fn main() -> Result<()> {
    match env::args().nth(1).as_deref() {
        Some("pingpong-server") => pingpong_server().await,
        Some("pingpong-client") => pingpong_client().await,
        Some("counter") if inside::play().await? => Ok(()),
        Some("counter") => counter().await,
        role => Err(format!("no such role: {role:?}").into()),
    }
}

async fn pingpong_server() -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, order("PORT")?)).await?;
    let connections = Arc::new(Connections::new(order("CONNECTIONS")?));
    peer_common::ready_and_stop_with_the_lab(listener.local_addr()?.port())?;
    loop {
        let (stream, _) = listener.accept().await?;
        let connections = connections.clone();
        connections.opened();
        tokio::spawn(async move { connections.closed(serve(stream).await) });
    }
}

/// Answers until the client closes; returns how many requests there were.
async fn serve(mut stream: TcpStream) -> u64 {
    let mut requests = 0;
    while let Ok(token) = stream.read_u32_le().await {
        requests += 1;
        if stream.write_u32_le(!token).await.is_err() {
            break;
        }
    }
    requests
}

async fn pingpong_client() -> Result<()> {
    let port: u16 = order("PORT")?;
    let (connections, messages, seed) = (order("CONNECTIONS")?, order("MESSAGES")?, order("SEED")?);
    let mut streams = Vec::new();
    for sender in 0..connections {
        streams.push((sender, TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?));
    }
    peer_common::ready_and_wait_for_go()?;
    let mut tasks = JoinSet::new();
    for (sender, stream) in streams {
        tasks.spawn(converse(stream, Payloads::new(seed, sender), messages));
    }
    let (mut replies, mut wrong) = (0, 0);
    while let Some(done) = tasks.join_next().await {
        let (of_one, wrong_of_one) = done??;
        replies += of_one;
        wrong += wrong_of_one;
    }
    say(&format!(r#"{{"replies": {replies}, "wrong": {wrong}}}"#))
}

/// One connection's round trips: how many replies came and how many of them were wrong.
async fn converse(
    mut stream: TcpStream,
    payloads: Payloads,
    messages: usize,
) -> Result<(u64, u64)> {
    let (mut replies, mut wrong) = (0, 0);
    for token in payloads.take(messages) {
        stream.write_u32_le(token).await?;
        let reply = stream.read_u32_le().await?;
        replies += 1;
        wrong += u64::from(reply != !token);
    }
    Ok((replies, wrong))
}

/// A type of its own, so that it is moved in whole words and not put together from the halves that
/// lie beside the variant's tag.
struct Count {
    amount: u64,
    number: u64,
    sender: u32,
    payload: u32,
}

enum Message {
    Count(Count),
    GetAndReset(oneshot::Sender<(u64, Seen)>),
}

async fn counter() -> Result<()> {
    let (senders, amount, seed) = (order("SENDERS")?, order("AMOUNT")?, order("SEED")?);
    let each = order::<u64>("MESSAGES")? / u64::from(senders);
    let (inbox, messages) = mpsc::channel(CHANNEL_MESSAGES_MAX);
    tokio::spawn(count(messages, senders as usize));
    peer_common::ready_and_wait_for_go()?;
    let mut tasks = JoinSet::new();
    for sender in 0..senders {
        let inbox = inbox.clone();
        tasks.spawn(async move {
            for (number, payload) in (0..each).zip(Payloads::new(seed, sender)) {
                inbox.send(Message::Count(Count { amount, number, sender, payload })).await?;
            }
            Ok::<(), mpsc::error::SendError<Message>>(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done?.map_err(|_| "the counter is gone")?;
    }
    let (reply, answer) = oneshot::channel();
    inbox.send(Message::GetAndReset(reply)).await.map_err(|_| "the counter is gone")?;
    let (total, seen) = answer.await?;
    say(&format!(r#"{{"total": {total}, {}}}"#, seen.account()))
}

async fn count(mut messages: mpsc::Receiver<Message>, senders: usize) {
    let mut total = 0;
    let mut seen = Seen::new(senders);
    while let Some(message) = messages.recv().await {
        match message {
            Message::Count(Count { amount, number, sender, payload }) => {
                total += amount;
                seen.accept(sender, number, payload);
            }
            // An asker that is gone needs no answer.
            Message::GetAndReset(reply) => {
                let _ = reply.send((std::mem::take(&mut total), seen.clone()));
            }
        }
    }
}
