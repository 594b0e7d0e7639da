//! The lab's own client of http, which is the witness of every server: one thread and epoll, many
//! connections, one request in flight on each but for the odd pipelined pair.
//!
//! Every answer is read as HTTP and held against its request. Beside a participant's server
//! (`CELL=server`) it asks every kind of question before the clock runs and mixes them in while it
//! runs; beside the lab's own server it does as any client is told.

mod faults;
mod response;
mod check;
mod requests;
mod connection;
mod visit;
mod probes;

use std::time::{Duration, Instant};

use serde_json::json;

use crate::contract::Failure;
use crate::contract::poller::Poller;
use crate::contract::{Orders, PayloadDraws, print_line, ready_and_go};
use crate::figures::statistics::SplitMix64;
use crate::figures::times::Times;
use check::ResponseCheck;
use connection::{ClientConnection, ClientState};
use faults::FaultLog;
use requests::Shapes;
use visit::{Visit, VisitProgress};

/// The visit's place among the connections.
const VISIT: u64 = u64::MAX;
/// Visits of a run, about.
const VISITS: u64 = 8;
/// Bytes that are read at once.
const INBOX: usize = 16 * 1_024;
/// Connections that wait in vain are looked for so often.
const SWEEP_EVERY: Duration = Duration::from_millis(100);
/// The second packet of a request follows so soon if nothing else happens.
const PIECE_WAIT: Duration = Duration::from_millis(1);

pub(crate) fn drive(orders: &Orders) -> Result<(), Failure> {
    let began = Instant::now();
    let mut random = SplitMix64::new(u64::from(orders.seed) << 8);
    let mut desk = ClientState {
        check: ResponseCheck::new(),
        faults: FaultLog::default(),
        times: Times::new(),
        shapes: Shapes::new(&mut random),
        random,
        answer_max: orders.answer_max,
        mixes: orders.cell == "server",
        replies: 0,
        wrong: 0,
    };
    if desk.mixes {
        let draw = desk.random.draw() as u32;
        let asked = probes::ask_everything(orders.port, draw, &mut desk);
        desk.note_failed(asked);
        (desk.replies, desk.wrong, desk.times) = (0, 0, Times::new());
    }
    // A server that failed there is not measured.
    let connections = if desk.faults.is_empty() { orders.connections } else { 0 };
    let open = |sender| {
        ClientConnection::open(
            orders.port,
            PayloadDraws::of(orders.seed, sender as u32),
            orders.messages,
        )
    };
    let opened = (0..connections).map(open).collect::<Result<Vec<ClientConnection>, _>>();
    let mut lanes = desk.note_failed(opened).unwrap_or_default();
    ready_and_go()?;
    run(orders, &mut lanes, &mut desk)?;
    let mut account = json!({ "replies": desk.replies, "wrong": desk.wrong });
    if !desk.mixes {
        return Ok(print_line(&account.to_string())?);
    }
    account["faults"] = desk.faults.to_json();
    account["rtt_us"] = desk.times.to_json();
    print_line(&account.to_string())?;
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

/// The timed run.
fn run(
    orders: &Orders,
    lanes: &mut [ClientConnection],
    desk: &mut ClientState,
) -> Result<(), Failure> {
    let mut poll = Poller::new()?;
    let mut inbox = [0; INBOX];
    let mut visits = Visits::new(orders, lanes.len(), desk);
    let mut torn = Vec::new();
    for (index, lane) in lanes.iter_mut().enumerate() {
        poll.add(&lane.stream, index as u64)?;
        lane.begin(desk, Instant::now())?;
        if lane.is_torn() {
            torn.push(index);
        }
    }
    let mut working = lanes.iter().filter(|lane| !lane.over).count();
    let mut swept = Instant::now();
    while working > 0 || visits.visit.is_some() {
        let wait = if torn.is_empty() { SWEEP_EVERY } else { PIECE_WAIT };
        let waiting = torn.len();
        for index in poll.wait(Some(wait))? {
            if index == VISIT {
                visits.take(&mut inbox, desk);
                continue;
            }
            let lane = &mut lanes[index as usize];
            lane.take(&mut inbox, desk, Instant::now());
            if lane.is_torn() {
                torn.push(index as usize);
            }
            if lane.over {
                working -= 1;
                poll.remove(&lane.stream)?;
            }
        }
        // Those that were torn before this wait; a connection is torn once at a time.
        for index in torn.drain(..waiting) {
            lanes[index].send_rest();
        }
        desk.check.check_clock();
        visits.begin_if_due(&poll, working, desk)?;
        if swept.elapsed() >= SWEEP_EVERY {
            swept = Instant::now();
            visits.sweep(desk);
            for lane in lanes.iter_mut().filter(|lane| !lane.over) {
                lane.give_up(desk, swept);
                if lane.over {
                    working -= 1;
                    poll.remove(&lane.stream)?;
                }
            }
        }
    }
    Ok(())
}

/// Visits by HTTP/1.0 at random places of the run, one at a time.
struct Visits {
    visit: Option<Visit>,
    port: u16,
    /// Replies from which on the next one is due.
    due: u64,
    every: u64,
}

impl Visits {
    fn new(orders: &Orders, lanes: usize, desk: &mut ClientState) -> Visits {
        let every = (orders.messages * lanes as u64 / VISITS).max(1);
        let due = if desk.mixes { desk.random.draw() % every } else { u64::MAX };
        Visits { visit: None, port: orders.port, due, every }
    }

    fn begin_if_due(
        &mut self,
        poll: &Poller,
        working: usize,
        desk: &mut ClientState,
    ) -> Result<(), Failure> {
        if self.visit.is_none() && working > 0 && desk.replies >= self.due {
            let visit = Visit::begin(self.port, desk);
            if let Some(visit) = desk.note_failed(visit) {
                visit.stream.set_nonblocking(true)?;
                poll.add(&visit.stream, VISIT)?;
                self.visit = Some(visit);
            }
            self.due = desk.replies + self.every / 2 + desk.random.draw() % self.every;
        }
        Ok(())
    }

    fn take(&mut self, inbox: &mut [u8], desk: &mut ClientState) {
        // Dropping it closes it, which takes it off the poll too.
        self.visit.take_if(|visit| visit.take(inbox, desk) == VisitProgress::Done);
    }

    fn sweep(&mut self, desk: &mut ClientState) {
        if let Some(late) = self.visit.take_if(|visit| visit.is_late(desk)) {
            late.give_up(desk);
        }
    }
}
