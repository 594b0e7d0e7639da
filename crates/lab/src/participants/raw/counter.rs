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
    sender: u32,
    payload: u32,
}

type Chunk = Vec<Count>;

/// A chunk, and the way back for it once it is empty.
type Parcel = (Chunk, SyncSender<Chunk>);

pub(super) fn count(orders: &Orders) -> Result<(), Failure> {
    let (total, tallies, _) = run::<false>(orders)?;
    Ok(print_line(&json!({ "total": total, "senders": senders(&tallies) }).to_string())?)
}

/// Counts, with work on each message.
pub(super) fn count_slowly(orders: &Orders) -> Result<(), Failure> {
    let (total, tallies, worked) = run::<true>(orders)?;
    let (senders, worked) = (senders(&tallies), worked.to_string());
    let account = json!({ "total": total, "senders": senders, "worked": worked });
    Ok(print_line_and_wait(&account.to_string())?)
}

/// The total, what was seen of each sender, and what the work comes to if there is any.
fn run<const SLOW: bool>(orders: &Orders) -> Result<(u64, Vec<Tally>, u64), Failure> {
    ready_and_go()?;
    let (full, incoming) = sync_channel::<Parcel>(CHUNKS);
    let each = orders.messages / u64::from(orders.senders);
    for sender in 0..orders.senders {
        let (full, amount, draws) =
            (full.clone(), orders.amount, PayloadDraws::of(orders.seed, sender));
        thread::spawn(move || send(&full, sender, each, amount, draws));
    }
    drop(full);
    let (mut total, mut tallies) = (0_u64, vec![Tally::default(); orders.senders as usize]);
    let mut worked = 0_u64;
    for (mut chunk, back) in incoming {
        for message in chunk.drain(..) {
            total += message.amount;
            tallies[message.sender as usize].take(message.number, message.payload);
            if SLOW {
                worked = worked.wrapping_add(work(orders.work, message.payload));
            }
        }
        // A sender that is through needs no more chunks.
        let _ = back.try_send(chunk);
    }
    Ok((total, tallies, worked))
}

fn send(full: &SyncSender<Parcel>, sender: u32, count: u64, amount: u64, mut draws: PayloadDraws) {
    let (back, empty): (_, Receiver<Chunk>) = sync_channel(CHUNKS + 2);
    let mut number = 0;
    while number < count {
        let mut chunk = empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(CHUNK));
        let end = count.min(number + CHUNK as u64);
        chunk.extend((number..end).map(|number| Count {
            amount,
            number,
            sender,
            payload: draws.next(),
        }));
        number = end;
        if full.send((chunk, back.clone())).is_err() {
            return;
        }
    }
}
