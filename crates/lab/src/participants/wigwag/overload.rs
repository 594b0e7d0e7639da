//! wigwag's asks with a limit, more of them than their actor can do.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use wigwag::{Actor, AskError, CallErrorKind, Node};

use super::clerk::serve_node;
use super::paced::tell_when_due;
use crate::contract::schedule::SendSchedule;
use crate::contract::{Failure, Orders, PayloadDraws, Tally, print_line, ready_and_go, senders};

/// How far the device may be ahead: a runtime's timers are a millisecond late, and the device's
/// time is not lost by that.
const AHEAD: Duration = Duration::from_millis(2);

/// An actor in front of a device that serves one call at a time.
pub(super) struct Desk {
    tally: Tally,
    work: Duration,
    /// When the device is free.
    free_at: Instant,
}

#[wigwag::actor]
impl Desk {
    pub async fn add(&mut self, number: u64, payload: u32) -> u64 {
        self.tally.take(number, payload);
        let now = Instant::now();
        let begins = now.checked_sub(AHEAD).map_or(now, |earliest| earliest.max(self.free_at));
        self.free_at = begins + self.work;
        tokio::time::sleep_until(self.free_at.into()).await;
        number + u64::from(payload)
    }

    /// Prints the account; true when that could be done.
    pub fn finish(&mut self) -> bool {
        print_line(&json!({ "senders": senders(&[self.tally]) }).to_string()).is_ok()
    }
}

pub(super) fn serve(orders: &Orders) -> Result<(), Failure> {
    Builder::new_current_thread().enable_all().build()?.block_on(async {
        let (node, work) = (Node::new(), Duration::from_micros(orders.work_us));
        let desk = Desk { tally: Tally::default(), work, free_at: Instant::now() };
        node.export("desk", &desk.spawn())?;
        serve_node(&node).await
    })
}

pub(super) fn drive(orders: &Orders) -> Result<(), Failure> {
    Builder::new_current_thread().enable_all().build()?.block_on(async {
        let node = Node::new();
        let desk = node.actor::<Desk>(&format!("tcp://127.0.0.1:{}/desk", orders.port)).await?;
        ready_and_go()?;
        let account = ask_on_time(&desk, orders).await?;
        if !desk.finish().ask().await? {
            return Err("the server could not print its account".into());
        }
        print_line(&account.to_string())?;
        node.close(Duration::from_secs(1)).await;
        Ok(())
    })
}

/// Asks each question when it is due, in a task of its own, and gives it up at its limit.
async fn ask_on_time(desk: &DeskRef, orders: &Orders) -> Result<Value, Failure> {
    let (pace, limit) = (SendSchedule::begin(orders), Duration::from_millis(orders.limit_ms));
    let due = tell_when_due(pace);
    let mut draws = PayloadDraws::of(orders.seed, 0);
    let mut asks = JoinSet::new();
    let mut asked = 0;
    let mut replies = 0;
    while asked < orders.messages {
        while asked < pace.due_by(Instant::now()) {
            let (number, payload, desk) = (asked, draws.next(), desk.clone());
            asks.spawn(async move {
                match desk.add(number, payload).timeout(limit).ask().await {
                    Ok(reply) if reply == number + u64::from(payload) => Ok(true),
                    Ok(_) => Err("a reply did not fit its request".into()),
                    Err(error) => gave_up(error),
                }
            });
            asked += 1;
        }
        while let Some(ended) = asks.try_join_next() {
            replies += u64::from(ended??);
        }
        due.notified().await;
    }
    while let Some(ended) = asks.join_next().await {
        replies += u64::from(ended??);
    }
    Ok(json!({ "replies": replies, "wrong": 0, "given_up": orders.messages - replies }))
}

/// False for an ask whose time was over; any other end is a fault.
fn gave_up<M: Send + Sync + 'static>(error: AskError<M>) -> Result<bool, Failure> {
    let error = error.into_error();
    match error.kind {
        CallErrorKind::Timeout(_) | CallErrorKind::DeadlinePassed => Ok(false),
        _ => Err(error.into()),
    }
}
