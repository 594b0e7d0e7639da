//! The limit of the counter: threads, and chunks of messages that go round between them.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use serde_json::json;

use crate::contract::Failure;
use crate::contract::{
    Orders, PayloadDraws, Tally, print_line, print_line_and_wait, ready_and_go, senders, work,
};

/// Messages of a chunk: 24 KiB, which stays in a processor's own cache.
const CHUNK: usize = 1_024;
/// Chunks on their way between a sender and the counter.
const CHUNKS: usize = 8;

struct Count {
    amount: u64,
    number: u64,
    sequence: u32,
    payload: u32,
}

type Chunk = Vec<Count>;

/// A chunk, and the way back for it once it is empty.
type Parcel = (Chunk, SyncSender<Chunk>);

pub(super) fn count(orders: &Orders) -> Result<(), Failure> {
    let (total, tallies, _) =
        run::<false, _>(orders, orders.senders as usize, |sender| in_order(orders, sender))?;
    Ok(print_line(&json!({ "total": total, "senders": senders(&tallies) }).to_string())?)
}

/// Counts, with work on each message.
pub(super) fn count_slowly(orders: &Orders) -> Result<(), Failure> {
    let (total, tallies, worked) =
        run::<true, _>(orders, orders.senders as usize, |sender| in_order(orders, sender))?;
    let (senders, worked) = (senders(&tallies), worked.to_string());
    let account = json!({ "total": total, "senders": senders, "worked": worked });
    Ok(print_line_and_wait(&account.to_string())?)
}

/// Counts for many: which of them a message is for follows from its payload.
pub(super) fn count_each(orders: &Orders) -> Result<(), Failure> {
    let (actors, senders_count) = (orders.actors as u32, orders.senders);
    let sequences = (actors * senders_count) as usize;
    let (total, tallies, _) = run::<false, _>(orders, sequences, |sender| {
        let mut draws = PayloadDraws::of(orders.seed, sender);
        let mut numbers = vec![0; actors as usize];
        move |_| {
            let payload = draws.next();
            let actor = payload % actors;
            let number = numbers[actor as usize];
            numbers[actor as usize] += 1;
            (actor * senders_count + sender, number, payload)
        }
    })?;
    Ok(print_line(&json!({ "total": total, "senders": senders(&tallies) }).to_string())?)
}

/// A sequence, the number in it, and the payload.
type Numbered = (u32, u64, u32);

/// One sequence for each sender.
fn in_order(orders: &Orders, sender: u32) -> impl FnMut(u64) -> Numbered + Send + use<> {
    let mut draws = PayloadDraws::of(orders.seed, sender);
    move |number| (sender, number, draws.next())
}

/// The total, what was seen of each sequence, and what the work comes to if there is any.
fn run<const SLOW: bool, N>(
    orders: &Orders,
    sequences: usize,
    numbering: impl Fn(u32) -> N,
) -> Result<(u64, Vec<Tally>, u64), Failure>
where
    N: FnMut(u64) -> Numbered + Send + 'static,
{
    ready_and_go()?;
    let (full, incoming) = sync_channel::<Parcel>(CHUNKS);
    let each = orders.messages / u64::from(orders.senders);
    for sender in 0..orders.senders {
        let (full, amount, next) = (full.clone(), orders.amount, numbering(sender));
        thread::spawn(move || send(&full, each, amount, next));
    }
    drop(full);
    let (mut total, mut tallies) = (0_u64, vec![Tally::default(); sequences]);
    let mut worked = 0_u64;
    for (mut chunk, back) in incoming {
        for message in chunk.drain(..) {
            total += message.amount;
            tallies[message.sequence as usize].take(message.number, message.payload);
            if SLOW {
                worked = worked.wrapping_add(work(orders.work, message.payload));
            }
        }
        // A sender that is through needs no more chunks.
        let _ = back.try_send(chunk);
    }
    Ok((total, tallies, worked))
}

fn send(full: &SyncSender<Parcel>, count: u64, amount: u64, mut next: impl FnMut(u64) -> Numbered) {
    let (back, empty): (_, Receiver<Chunk>) = sync_channel(CHUNKS + 2);
    let mut sent = 0;
    while sent < count {
        let mut chunk = empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(CHUNK));
        let end = count.min(sent + CHUNK as u64);
        chunk.extend((sent..end).map(|at| {
            let (sequence, number, payload) = next(at);
            Count { amount, number, sequence, payload }
        }));
        sent = end;
        if full.send((chunk, back.clone())).is_err() {
            return;
        }
    }
}
