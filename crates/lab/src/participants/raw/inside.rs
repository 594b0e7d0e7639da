//! The limit of what an actor does beside counting: two threads that hand a word to each other,
//! each asleep until the other wakes it.
//!
//! Both are on one processor. There a word costs a switch of threads; on two it costs ten times as
//! much to wake a processor that idles, and which of both it would be was for the kernel to choose.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, Thread};

use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};
use serde_json::json;

use super::counter;
use crate::contract::Failure;
use crate::contract::{Orders, PayloadDraws, Tally, print_line, ready_and_go, senders, step};

pub(crate) fn play(orders: &Orders) -> Result<(), Failure> {
    match orders.cell.as_str() {
        "slow" => counter::count_slowly(orders),
        "ask" => ask(orders),
        "bounce" => bounce(orders),
        "actors" => counter::count_each(orders),
        _ => counter::count(orders),
    }
}

/// A word on its way to the one thread that takes it.
#[derive(Default)]
struct Slot {
    /// One more than the word; 0 when there is none.
    word: AtomicU64,
}

impl Slot {
    fn put(&self, word: u64, reader: &Thread) {
        // Pairs with the swap in `take`.
        self.word.store(word + 1, Ordering::Release);
        reader.unpark();
    }

    fn take(&self) -> u64 {
        loop {
            // Pairs with the store in `put`.
            match self.word.swap(0, Ordering::Acquire) {
                0 => thread::park(),
                word => return word - 1,
            }
        }
    }
}

/// This thread, and those that it starts, stay on the processor that it is on.
pub(super) fn pin_to_this_processor() -> Result<(), Failure> {
    let mut here = CpuSet::new();
    here.set(sched_getcpu());
    Ok(sched_setaffinity(None, &here)?)
}

fn ask(orders: &Orders) -> Result<(), Failure> {
    pin_to_this_processor()?;
    ready_and_go()?;
    let (asks, answers, asker) = (Slot::default(), Slot::default(), thread::current());
    let (mut answer, mut wrong, mut sum) = (0_u64, 0_u64, 0_u64);
    let mut draws = PayloadDraws::of(orders.seed, 0);
    let tally = thread::scope(|scope| {
        let answerer = scope.spawn(|| {
            let mut tally = Tally::default();
            for number in 0..orders.messages {
                let payload = asks.take() as u32;
                tally.take(number, payload);
                answers.put(number + u64::from(payload), &asker);
            }
            tally
        });
        for number in 0..orders.messages {
            let payload = draws.next() ^ answer as u32;
            asks.put(payload.into(), answerer.thread());
            answer = answers.take();
            wrong += u64::from(answer != number + u64::from(payload));
            sum = sum.wrapping_add(answer);
        }
        answerer.join().map_err(|_| "the answerer panicked")
    })?;
    let (senders, sum) = (senders(&[tally]), sum.to_string());
    let replies = orders.messages;
    let account = json!({ "senders": senders, "replies": replies, "wrong": wrong, "sum": sum });
    Ok(print_line(&account.to_string())?)
}

fn bounce(orders: &Orders) -> Result<(), Failure> {
    pin_to_this_processor()?;
    ready_and_go()?;
    let slots = [Slot::default(), Slot::default()];
    let first = thread::current();
    slots[0].put(orders.seed.into(), &first);
    let (one, two) = thread::scope(|scope| {
        let second = scope.spawn(|| side(1, &slots, &first, orders));
        let one = side(0, &slots, second.thread(), orders);
        second.join().map(|two| (one, two)).map_err(|_| "a side panicked")
    })?;
    let value = one.1.max(two.1);
    let account = json!({ "value": value, "senders": senders(&[one.0, two.0]) });
    Ok(print_line(&account.to_string())?)
}

/// One of the two threads: the tally of its messages, and the last number if it made the last hop.
fn side(at: usize, slots: &[Slot; 2], other: &Thread, orders: &Orders) -> (Tally, Option<u32>) {
    let key = PayloadDraws::of(orders.seed, at as u32).next();
    let mut tally = Tally::default();
    for number in (at as u64..orders.messages).step_by(2) {
        let value = slots[at].take() as u32;
        tally.take(number / 2, value);
        let value = step(value ^ key);
        if number + 1 == orders.messages {
            return (tally, Some(value));
        }
        slots[1 - at].put(value.into(), other);
    }
    (tally, None)
}
