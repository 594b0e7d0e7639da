//! The timed run at a fixed rate: each request is due at its time, whatever became of those before.
//!
//! A request takes the connection that has been free for the longest time. While none is free it
//! waits, and its latency begins when it was due all the same. It is late only if a connection was
//! free for it: otherwise the server made it wait, and the latency says so.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::connection::{ClientConnection, ClientState};
use super::faults::RequestKind;
use super::lanes::Lanes;
use crate::contract::schedule::{LATE, SendSchedule, sleep_exactly};
use crate::contract::{Failure, Orders};

/// Sends `orders.messages` requests in all at `orders.rate` a second; returns how many were sent
/// late.
pub(super) fn run(
    orders: &Orders,
    lanes: &mut [ClientConnection],
    desk: &mut ClientState,
) -> Result<u64, Failure> {
    sleep_exactly();
    let begun = Instant::now();
    let mut free: VecDeque<(usize, Instant)> = (0..lanes.len()).map(|lane| (lane, begun)).collect();
    let all = lanes.len();
    let mut lanes = Lanes::new(lanes, orders, orders.messages, desk)?;
    let schedule = SendSchedule::begin(orders);
    let (mut next, mut late) = (0, 0);
    let mut how = desk.draw_kind(orders.messages);
    loop {
        // A pair is due with its second request.
        let last = next + u64::from(how == RequestKind::Pair);
        let is_over = next >= orders.messages;
        let due = schedule.due(last);
        let now = Instant::now();
        if !is_over
            && now >= due
            && let Some((lane, since)) = free.pop_front()
        {
            lanes.ask(lane, desk, |lane, desk, now| {
                lane.ask_as(how, desk, now);
                lane.timed_from = due;
            });
            late += u64::from(now.saturating_duration_since(due.max(since)) > LATE);
            next = last + 1;
            how = desk.draw_kind(orders.messages.saturating_sub(next));
            continue;
        }
        if !lanes.are_working() || (is_over && free.len() == all && !lanes.is_visit_under_way()) {
            return Ok(late);
        }
        let wait = match is_over || free.is_empty() {
            true => Duration::MAX,
            false => due.saturating_duration_since(now),
        };
        lanes.take(wait, desk, |lane| free.push_back((lane, Instant::now())))?;
    }
}
