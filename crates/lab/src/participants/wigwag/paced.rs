//! wigwag's asks at a fixed rate. One task asks whatever is due and takes whatever has come back.
//! The timers of its runtime have milliseconds, so a thread of its own says when the next is due.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use std::time::Instant;

use serde_json::Value;
use tokio::sync::Notify;
use wigwag::{CallErrorKind, Pipeline, call::Unsent};

use super::remote::{Ledger, LedgerMessage, LedgerRef};
use crate::contract::Failure;
use crate::contract::schedule::{self, SendSchedule};
use crate::contract::{Orders, PayloadDraws};
use crate::figures::times::Times;

/// The most replies that are taken with one reading of the clock.
const AT_ONCE: usize = 64;

/// Asks that are on their way, oldest first, and what came of the others.
struct Open<'a> {
    ledger: &'a LedgerRef,
    pace: SendSchedule,
    draws: PayloadDraws,
    /// A message that found no room in the mailbox, and the reply that is due for it.
    refused: Option<(LedgerMessage, u64)>,
    asks: Pipeline<Ledger, u64, u64>,
    asked: u64,
    late: u64,
    times: Times,
    replies: u64,
    wrong: u64,
    sum: u64,
}

pub(crate) async fn drive(ledger: LedgerRef, orders: Orders) -> Result<Value, Failure> {
    let pace = SendSchedule::begin(&orders);
    let due = tell_when_due(pace);
    let mut open = Open {
        ledger: &ledger,
        pace,
        draws: PayloadDraws::of(orders.seed, 0),
        refused: None,
        asks: ledger.pipeline(orders.window)?,
        asked: 0,
        late: 0,
        times: Times::new(),
        replies: 0,
        wrong: 0,
        sum: 0,
    };
    while open.replies < orders.messages {
        open.ask_what_is_due(orders.window as u64)?;
        let mut notified = pin!(due.notified());
        poll_fn(|context| match open.take(context)? {
            0 => notified.as_mut().poll(context).map(Ok::<(), Failure>),
            _ => Poll::Ready(Ok(())),
        })
        .await?;
    }
    Ok(schedule::account(open.replies, open.wrong, open.sum, open.late, &open.times))
}

/// A thread that sleeps, and wakes a task whenever an ask is due, as long as there is one.
pub(in crate::participants::wigwag) fn tell_when_due(pace: SendSchedule) -> Arc<Notify> {
    let due = Arc::<Notify>::default();
    let told = due.clone();
    thread::spawn(move || {
        schedule::sleep_exactly();
        while Arc::strong_count(&told) > 1 {
            told.notify_one();
            pace.sleep(pace.due_by(Instant::now()));
        }
    });
    due
}

impl Open<'_> {
    /// Sends asks as far as there is room.
    fn ask_what_is_due(&mut self, window: u64) -> Result<(), Failure> {
        let (now, from) = (Instant::now(), self.asked);
        let end = self.pace.due_by(now).min(self.replies + window);
        while self.asked < end {
            let (call, due) = match self.refused.take() {
                Some((message, due)) => (self.ledger.call::<u64>(message), due),
                None => {
                    let payload = self.draws.next();
                    let due = self.asked + u64::from(payload);
                    (self.ledger.add(self.asked, payload), due)
                }
            };
            match self.asks.try_push(call, due) {
                Ok(()) => {}
                Err(Unsent { refused, .. }) if refused.error.kind != CallErrorKind::Full => {
                    return Err(refused.error.into());
                }
                Err(Unsent { refused, context }) => {
                    self.refused = Some((refused.message, context));
                    break;
                }
            }
            self.asked += 1;
        }
        self.late += self.pace.late(from, self.asked, now);
        Ok(())
    }

    /// Takes the replies that have arrived; returns their number.
    fn take(&mut self, context: &mut Context<'_>) -> Result<usize, Failure> {
        let (mut taken, mut now) = (0, Instant::now());
        while let Poll::Ready(Some((due, reply))) = self.asks.poll_answer(context) {
            let reply = reply?;
            if taken % AT_ONCE == AT_ONCE - 1 {
                now = Instant::now();
            }
            self.times.take(self.pace.took(self.replies, now));
            self.wrong += u64::from(reply != due);
            self.sum = self.sum.wrapping_add(reply);
            self.replies += 1;
            taken += 1;
        }
        Ok(taken)
    }
}
