//! Blocking threads of the standard library: one for each connection, one for each sender.
//!
//! After the documentation of Rust's standard library: `std::net::TcpListener` (example) for
//! pingpong, `std::sync::mpsc::sync_channel` for the counter.
#![forbid(unsafe_code)]

mod inside;

use std::{
    env,
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::{Arc, mpsc},
    thread,
};

use peer_common::{CHANNEL_MESSAGES_MAX, Connections, Payloads, Result, Seen, order, say};

fn main() -> Result<()> {
    match env::args().nth(1).as_deref() {
        Some("pingpong-server") => pingpong_server(),
        Some("pingpong-client") => pingpong_client(),
        Some("counter") if inside::play()? => Ok(()),
        Some("counter") => counter(),
        role => Err(format!("no such role: {role:?}").into()),
    }
}

fn pingpong_server() -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, order("PORT")?))?;
    let connections = Arc::new(Connections::new(order("CONNECTIONS")?));
    peer_common::ready_and_stop_with_the_lab(listener.local_addr()?.port())?;
    for stream in listener.incoming() {
        let stream = stream?;
        let connections = connections.clone();
        connections.opened();
        thread::spawn(move || connections.closed(serve(stream)));
    }
    Ok(())
}

/// Answers until the client closes; returns how many requests there were.
fn serve(mut stream: TcpStream) -> u64 {
    let mut requests = 0;
    let mut token = [0; 4];
    while stream.read_exact(&mut token).is_ok() {
        requests += 1;
        let reply = !u32::from_le_bytes(token);
        if stream.write_all(&reply.to_le_bytes()).is_err() {
            break;
        }
    }
    requests
}

fn pingpong_client() -> Result<()> {
    let port: u16 = order("PORT")?;
    let (connections, messages, seed) = (order("CONNECTIONS")?, order("MESSAGES")?, order("SEED")?);
    let streams: Vec<TcpStream> = (0..connections)
        .map(|_| TcpStream::connect((Ipv4Addr::LOCALHOST, port)))
        .collect::<std::io::Result<_>>()?;
    peer_common::ready_and_wait_for_go()?;
    let threads: Vec<_> = (0..)
        .zip(streams)
        .map(|(sender, stream)| {
            thread::spawn(move || converse(stream, Payloads::new(seed, sender), messages))
        })
        .collect();
    let (mut replies, mut wrong) = (0, 0);
    for thread in threads {
        let (of_one, wrong_of_one) = thread.join().map_err(|_| "a client thread panicked")??;
        replies += of_one;
        wrong += wrong_of_one;
    }
    say(&format!(r#"{{"replies": {replies}, "wrong": {wrong}}}"#))
}

/// One connection's round trips: how many replies came and how many of them were wrong.
fn converse(mut stream: TcpStream, payloads: Payloads, messages: usize) -> Result<(u64, u64)> {
    let (mut replies, mut wrong) = (0, 0);
    let mut reply = [0; 4];
    for token in payloads.take(messages) {
        stream.write_all(&token.to_le_bytes())?;
        stream.read_exact(&mut reply)?;
        replies += 1;
        wrong += u64::from(u32::from_le_bytes(reply) != !token);
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
    GetAndReset(mpsc::SyncSender<(u64, Seen)>),
}

fn counter() -> Result<()> {
    let (senders, amount, seed) = (order("SENDERS")?, order("AMOUNT")?, order("SEED")?);
    let each = order::<u64>("MESSAGES")? / u64::from(senders);
    let (inbox, messages) = mpsc::sync_channel(CHANNEL_MESSAGES_MAX);
    thread::spawn(move || count(messages, senders as usize));
    peer_common::ready_and_wait_for_go()?;
    let threads: Vec<_> = (0..senders)
        .map(|sender| {
            let inbox = inbox.clone();
            thread::spawn(move || {
                for (number, payload) in (0..each).zip(Payloads::new(seed, sender)) {
                    inbox.send(Message::Count(Count { amount, number, sender, payload }))?;
                }
                Ok::<(), mpsc::SendError<Message>>(())
            })
        })
        .collect();
    for thread in threads {
        thread.join().map_err(|_| "a sender panicked")?.map_err(|_| "the counter is gone")?;
    }
    let (reply, answer) = mpsc::sync_channel(1);
    inbox.send(Message::GetAndReset(reply)).map_err(|_| "the counter is gone")?;
    let (total, seen) = answer.recv()?;
    say(&format!(r#"{{"total": {total}, {}}}"#, seen.account()))
}

fn count(messages: mpsc::Receiver<Message>, senders: usize) {
    let mut total = 0;
    let mut seen = Seen::new(senders);
    for message in messages {
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
