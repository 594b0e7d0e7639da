//! The limit's asks at a fixed rate: a thread that writes whatever is due and sleeps until the next
//! is, and one that reads.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use serde_json::Value;

use super::remote::{BATCH, REQUEST, pack};
use super::replies::{ReplyChecker, joined};
use crate::contract::Failure;
use crate::contract::schedule::{self, SendSchedule};
use crate::contract::{Orders, PayloadDraws};
use crate::figures::times::Times;

pub(crate) fn drive(stream: &TcpStream, orders: &Orders) -> Result<Value, Failure> {
    let pace = SendSchedule::begin(orders);
    let writing = stream.try_clone()?;
    // A count that lags only holds the writer up; no order with other memory is needed.
    let answered = AtomicU64::new(0);
    let (mut replies, mut times) = (ReplyChecker::of(orders), Times::new());
    let late = thread::scope(|scope| {
        let counted = &answered;
        let writer =
            scope.spawn(move || write(writing, orders, pace, counted).map_err(|e| e.to_string()));
        replies.read(stream, orders.messages, |numbers, now| {
            answered.store(numbers.end, Ordering::Relaxed);
            numbers.for_each(|number| times.take(pace.took(number, now)));
        })?;
        joined(writer.join())
    })?;
    let ReplyChecker { count, wrong, sum, .. } = replies;
    Ok(schedule::account(count, wrong, sum, late, &times))
}

/// Writes what is due, as far as the window allows; gives how many were late.
fn write(
    mut stream: TcpStream,
    orders: &Orders,
    pace: SendSchedule,
    answered: &AtomicU64,
) -> Result<u64, Failure> {
    schedule::sleep_exactly();
    let mut draws = PayloadDraws::of(orders.seed, 0);
    let mut batch = Vec::with_capacity(BATCH * REQUEST);
    let (mut sent, mut late) = (0, 0);
    while sent < orders.messages {
        let now = Instant::now();
        let room = answered.load(Ordering::Relaxed) + orders.window as u64;
        let end = pace.due_by(now).min(room).min(sent + BATCH as u64);
        if end <= sent {
            pace.sleep(sent);
            continue;
        }
        late += pace.late(sent, end, now);
        batch.clear();
        (sent..end).for_each(|number| batch.extend(pack(number, draws.next())));
        stream.write_all(&batch)?;
        sent = end;
    }
    Ok(late)
}
