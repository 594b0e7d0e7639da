//! Programs of counter that do less with their actors than they say: one keeps what a slow actor
//! did not get to, one answers before it was asked, one goes round past half of its actors, and one
//! has a single actor that stands for all.

use std::sync::mpsc::sync_channel;
use std::thread;

use serde_json::json;

use crate::contract::Failure;
use crate::contract::{
    Orders, PayloadDraws, Tally, print_line, print_line_and_wait, ready_and_go, senders, step, work,
};

/// Bytes that the hoarding actor keeps of each message.
const HOARD_BYTES: usize = 256;

pub(crate) fn play(name: &str, orders: &Orders) -> Result<(), Failure> {
    ready_and_go()?;
    match name {
        "broken-hoard" => hoard(orders),
        "broken-guess" => guess(orders),
        "broken-skip" => skip(orders),
        _ => shared(orders),
    }
}

fn hoard(orders: &Orders) -> Result<(), Failure> {
    let (tell, told) = sync_channel::<(usize, u64, u32)>(1_024);
    let each = orders.messages / u64::from(orders.senders);
    for sender in 0..orders.senders {
        let (tell, mut draws) = (tell.clone(), PayloadDraws::of(orders.seed, sender));
        thread::spawn(move || {
            // Refused only when the counter has ended, which does not matter here.
            (0..each).try_for_each(|number| tell.send((sender as usize, number, draws.next())))
        });
    }
    drop(tell);
    let (mut total, mut worked, mut kept) = (0_u64, 0_u64, Vec::new());
    let mut tallies = vec![Tally::default(); orders.senders as usize];
    for (sender, number, payload) in told {
        total += orders.amount;
        tallies[sender].take(number, payload);
        worked = worked.wrapping_add(work(orders.work, payload));
        kept.push(Box::new([payload as u8 | 1; HOARD_BYTES]));
    }
    let (senders, worked) = (senders(&tallies), worked.to_string());
    let account = json!({ "total": total, "senders": senders, "worked": worked });
    print_line_and_wait(&account.to_string())?;
    drop(kept);
    Ok(())
}

/// Answers each ask before it arrives, with the answer to the ask before it.
fn guess(orders: &Orders) -> Result<(), Failure> {
    let (mut draws, mut tally) = (PayloadDraws::of(orders.seed, 0), Tally::default());
    let (mut answer, mut sum, mut before) = (0_u64, 0_u64, 0_u32);
    for number in 0..orders.messages {
        let payload = draws.next() ^ answer as u32;
        answer = number + u64::from(before);
        tally.take(number, payload);
        sum = sum.wrapping_add(answer);
        before = payload;
    }
    let (senders, sum) = (senders(&[tally]), sum.to_string());
    let account = json!({ "senders": senders, "replies": orders.messages, "wrong": 0, "sum": sum });
    Ok(print_line(&account.to_string())?)
}

/// Skips the work of every other actor, while all report that they have done it.
fn skip(orders: &Orders) -> Result<(), Failure> {
    let mut tallies = vec![Tally::default(); orders.actors];
    let mut value = orders.seed;
    for number in 0..orders.messages {
        let at = number as usize % orders.actors;
        tallies[at].take(number / orders.actors as u64, value);
        if at.is_multiple_of(2) {
            value = step(value ^ PayloadDraws::of(orders.seed, at as u32).next());
        }
    }
    Ok(print_line(&json!({ "value": value, "senders": senders(&tallies) }).to_string())?)
}

fn shared(orders: &Orders) -> Result<(), Failure> {
    let (number, mut told) = (0_u64, 0_u64);
    let (mut draws, mut sum, mut pairs, mut again) =
        (PayloadDraws::of(orders.seed, 0), 0_u64, 0_u64, 0);
    for _ in 0..orders.messages {
        let payload = u64::from(draws.next());
        told += 1;
        sum += payload;
        pairs = pairs.wrapping_add(number.wrapping_mul(payload));
        again += u64::from(told > 1);
    }
    let (alive, sum, pairs) = (orders.messages, sum.to_string(), pairs.to_string());
    let account = json!({ "alive": alive, "sum": sum, "pairs": pairs, "again": again });
    Ok(print_line_and_wait(&account.to_string())?)
}
