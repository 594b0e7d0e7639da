//! The lab's own client of http, which is the witness of every server: one thread and epoll, many
//! connections, `WINDOW` requests in flight on each, and now and then a pipelined pair where that
//! is one.
//!
//! Every answer is read as HTTP and held against its request. Beside a participant's server
//! (`CELL=server`, or `paced` with a `RATE`) it asks every kind of question before the clock runs
//! and mixes them in while it runs; beside the lab's own server it does as any client is told.

mod faults;
mod response;
mod check;
mod requests;
mod connection;
mod visit;
mod visits;
mod lanes;
mod paced;
mod probes;

use std::time::{Duration, Instant};

use serde_json::json;

use crate::contract::Failure;
use crate::contract::{Orders, PayloadDraws, print_line, ready_and_go};
use connection::{ClientConnection, ClientState};
use faults::FaultLog;
use lanes::Lanes;

/// The visit's place among the connections.
const VISIT: u64 = u64::MAX;
/// After so many connections a request must have been answered: a server that has not accepted
/// those before it has not taken that one either. Fewer than the shortest queue of a listener, 50,
/// for a connection beyond that is tried again only after a second.
const ACCEPTED_EVERY: usize = 32;
/// Bytes that are read at once.
const INBOX: usize = 16 * 1_024;

pub(crate) fn drive(orders: &Orders) -> Result<(), Failure> {
    let began = Instant::now();
    let mut desk = ClientState::new(orders);
    if desk.mixes {
        let draw = desk.random.draw() as u32;
        let asked = probes::ask_everything(orders.port, draw, &mut desk);
        desk.note_failed(asked);
        desk.forget_counts();
    }
    warm_up(orders, &mut desk)?;
    // A server that failed there is not measured.
    let mut lanes = match desk.faults.is_empty() {
        true => open(orders, orders.seed, &mut desk),
        false => Vec::new(),
    };
    ready_and_go()?;
    let is_paced = orders.cell == "paced";
    (desk.depth, desk.asks_on) = (orders.window, !is_paced);
    let late = match is_paced {
        true => paced::run(orders, &mut lanes, &mut desk)?,
        false => run(orders, &mut lanes, &mut desk).map(|()| 0)?,
    };
    let mut account = json!({ "replies": desk.replies, "wrong": desk.wrong });
    if !desk.mixes {
        return Ok(print_line(&account.to_string())?);
    }
    account["faults"] = desk.faults.to_json();
    account["documents"] = desk.documents.into();
    account["head_bytes"] = desk.head_bytes.into();
    if is_paced {
        account["late"] = late.into();
        account["latency_us"] = desk.times.to_bins();
    } else if desk.depth == 1 {
        account["rtt_us"] = desk.times.to_json();
    }
    print_line(&account.to_string())?;
    (desk.depth, desk.asks_on) = (1, true);
    afterwards(orders, began, &mut lanes, desk)
}

/// Checks after the clock has stopped.
fn afterwards(
    orders: &Orders,
    began: Instant,
    lanes: &mut Vec<ClientConnection>,
    mut desk: ClientState,
) -> Result<(), Failure> {
    let was_right = desk.faults.is_empty();
    let mut alone_us = None;
    desk.faults = FaultLog::default();
    if was_right {
        let mut inbox = [0; INBOX];
        lanes.iter_mut().for_each(|lane| lane.afterwards(&mut inbox, &mut desk));
        lanes.clear();
        let draw = desk.random.draw() as u32;
        let asked = probes::ask_everything(orders.port, draw, &mut desk);
        desk.note_failed(asked);
        let timed = probes::time_alone(orders.port, draw ^ 2, &mut desk);
        alone_us = desk.note_failed(timed);
        if orders.lingers && desk.faults.is_empty() {
            let asked = probes::ask_later(orders.port, began, draw ^ 1, &mut desk);
            desk.note_failed(asked);
        }
    }
    let afterword = json!({ "faults": desk.faults.to_json(), "alone_us": alone_us });
    Ok(print_line(&afterword.to_string())?)
}

/// Asks on connections of its own for as long as was ordered, outside the clock: what compiles or
/// caches as it goes has done so then. Answers are checked as in the timed run.
fn warm_up(orders: &Orders, desk: &mut ClientState) -> Result<(), Failure> {
    if orders.warm_up.is_zero() || !desk.faults.is_empty() {
        return Ok(());
    }
    let draw = desk.random.draw() as u32;
    let endless = Orders { messages: u64::MAX / 2, ..orders.clone() };
    let mut lanes = open(&endless, draw, desk);
    desk.depth = orders.window;
    let all = lanes.len();
    let mut lanes = Lanes::new(&mut lanes, orders, u64::MAX, desk)?;
    for lane in 0..all {
        lanes.ask(lane, desk, ClientConnection::ask);
    }
    let begun = Instant::now();
    while lanes.are_working() {
        if begun.elapsed() >= orders.warm_up {
            lanes.ask_no_more();
        }
        lanes.take(Duration::MAX, desk, |_| {})?;
    }
    desk.depth = 1;
    desk.forget_counts();
    Ok(())
}

/// The ordered connections; none if one cannot be had, which is a fault.
fn open(orders: &Orders, draw: u32, desk: &mut ClientState) -> Vec<ClientConnection> {
    let opened = (0..orders.connections).map(|sender| {
        if desk.mixes && sender % ACCEPTED_EVERY == ACCEPTED_EVERY - 1 {
            probes::ask_once(orders.port, draw, desk)?;
        }
        let draws = PayloadDraws::of(draw, sender as u32);
        ClientConnection::open(orders.port, draws, orders.messages)
    });
    let opened = opened.collect();
    desk.forget_counts();
    desk.note_failed(opened).unwrap_or_default()
}

/// The timed run as fast as it goes.
fn run(
    orders: &Orders,
    lanes: &mut [ClientConnection],
    desk: &mut ClientState,
) -> Result<(), Failure> {
    let all = lanes.len();
    let mut lanes = Lanes::new(lanes, orders, orders.messages * all as u64, desk)?;
    for lane in 0..all {
        lanes.ask(lane, desk, ClientConnection::ask);
    }
    while lanes.are_working() || lanes.is_visit_under_way() {
        lanes.take(Duration::MAX, desk, |_| {})?;
    }
    Ok(())
}
