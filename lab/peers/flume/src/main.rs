//! flume: one bounded channel, one thread for each sender.
//!
//! After the README of flume (first example; `bounded` instead of `unbounded`).
#![forbid(unsafe_code)]

mod inside;

use std::{env, thread};

use peer_common::{CHANNEL_MESSAGES_MAX, Payloads, Result, Seen, order, say};

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
    GetAndReset(flume::Sender<(u64, Seen)>),
}

fn main() -> Result<()> {
    match env::args().nth(1).as_deref() {
        Some("counter") if inside::play()? => Ok(()),
        Some("counter") => counter(),
        role => Err(format!("no such role: {role:?}").into()),
    }
}

fn counter() -> Result<()> {
    let (senders, amount, seed) = (order("SENDERS")?, order("AMOUNT")?, order("SEED")?);
    let each = order::<u64>("MESSAGES")? / u64::from(senders);
    let (inbox, messages) = flume::bounded(CHANNEL_MESSAGES_MAX);
    thread::spawn(move || count(messages, senders as usize));
    peer_common::ready_and_wait_for_go()?;
    let threads: Vec<_> = (0..senders)
        .map(|sender| {
            let inbox = inbox.clone();
            thread::spawn(move || {
                for (number, payload) in (0..each).zip(Payloads::new(seed, sender)) {
                    inbox.send(Message::Count(Count { amount, number, sender, payload }))?;
                }
                Ok::<(), flume::SendError<Message>>(())
            })
        })
        .collect();
    for thread in threads {
        thread.join().map_err(|_| "a sender panicked")?.map_err(|_| "the counter is gone")?;
    }
    let (reply, answer) = flume::bounded(1);
    inbox.send(Message::GetAndReset(reply)).map_err(|_| "the counter is gone")?;
    let (total, seen) = answer.recv()?;
    say(&format!(r#"{{"total": {total}, {}}}"#, seen.account()))
}

fn count(messages: flume::Receiver<Message>, senders: usize) {
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
