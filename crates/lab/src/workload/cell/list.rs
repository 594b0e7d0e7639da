//! The workloads, and the cells that each of them has.

use crate::workload::cell::{Cell, SpreadOver};
use crate::workload::http::cell as http;
use crate::workload::remote::far;
use crate::workload::remote::over;
use crate::workload::remote::overload;
use crate::workload::remote::shape;
use crate::workload::{relayed, sp};

/// A workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Workload {
    /// Many connections, a token each way.
    Pingpong,
    /// Senders and one counting actor within a process.
    Counter,
    /// Two processes and the participant's own wire.
    Remote,
    /// A small document, many connections.
    Http,
    /// Sockets of the Scalability Protocols, over each transport.
    Sp,
}

/// Every workload, in the order of the tables.
pub const WORKLOADS: [Workload; 5] =
    [Workload::Pingpong, Workload::Counter, Workload::Remote, Workload::Http, Workload::Sp];

impl Workload {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Pingpong => "pingpong",
            Workload::Counter => "counter",
            Workload::Remote => "remote",
            Workload::Http => "http",
            Workload::Sp => "sp",
        }
    }

    /// Its description in one line.
    pub fn about(self) -> &'static str {
        match self {
            Workload::Pingpong => {
                "100 TCP connections, a 4-byte token each way, one in flight each"
            }
            Workload::Counter => {
                "actors in one process: counts from senders, a slow one, asks, rings, a million"
            }
            Workload::Remote => {
                "two processes: tells, naive loops, asks in flight, at fixed rates, delayed, cut"
            }
            Workload::Http => {
                "GET / over 1 to 1,000 kept-alive connections, {\"id\": 1} each time, pipelined, paced"
            }
            Workload::Sp => {
                "sockets: round trips, 16 B to 1 MiB one way over tcp, ipc, inproc, up to 1,000 of them"
            }
        }
    }

    /// Whether a run of so many workloads has one cell of it only. When remote is run quickly and
    /// alone there is time for all of it.
    pub fn is_brief(self, quick: bool, workloads: usize) -> bool {
        quick && (self != Workload::Remote || workloads > 1)
    }

    /// The cells of a run; a brief one has one, and others for whoever has no part in that.
    pub fn cells(self, brief: bool) -> Vec<Cell> {
        match (self, brief) {
            (Workload::Pingpong, true) => vec![Cell::Server, Cell::Client],
            (Workload::Pingpong, false) => {
                vec![Cell::Server, Cell::Client, Cell::Pair, Cell::Mixed]
            }
            (Workload::Counter, brief) => {
                let all = [1, 2, 8].map(|senders| Cell::Count { senders });
                let mut cells = if brief { all[..1].to_vec() } else { all.to_vec() };
                cells.extend([Cell::Slow, Cell::LocalAsk]);
                cells.extend([2, RING_ACTORS].map(|actors| Cell::Ring { actors }));
                cells.extend([Cell::Spawn, Cell::CountEach { actors: COUNTERS }]);
                cells
            }
            (Workload::Remote, true) => vec![Cell::Tell, Cell::Paced { percent: 80 }],
            (Workload::Remote, false) => {
                let mut cells = vec![Cell::Tell, Cell::Unkept, Cell::MessagePack];
                cells.extend(shape::cells());
                cells.extend(SPREADS.map(|(over, many)| Cell::Spread { over, many }));
                cells.extend([
                    Cell::Thread,
                    Cell::Naive,
                    Cell::NaiveAsk,
                    Cell::Ask,
                    Cell::Callback,
                    Cell::RoundTrip,
                    Cell::Blob,
                ]);
                cells.extend(over::cells());
                cells.extend(CALLERS.map(|callers| Cell::Callers { callers, each: false }));
                cells.extend(CALLERS_EACH.map(|callers| Cell::Callers { callers, each: true }));
                cells.extend(relayed::cells());
                cells.extend(far::cells());
                cells.extend([50, 80, 95].map(|percent| Cell::Paced { percent }));
                cells.extend(overload::PERCENTS.map(|percent| Cell::Overload { percent }));
                cells
            }
            (Workload::Http, true) => vec![Cell::HttpServer(http::SERVER), Cell::HttpClient],
            (Workload::Http, false) => {
                let servers = http::cells().into_iter().map(Cell::HttpServer);
                servers.chain([Cell::HttpClient]).collect()
            }
            (Workload::Sp, brief) => sp::cells(brief).into_iter().map(Cell::Sp).collect(),
        }
    }
}

/// The cells with many parties: their kind and their number.
const SPREADS: [(SpreadOver, u32); 9] = [
    (SpreadOver::Senders, 16),
    (SpreadOver::Actors, 1_000),
    (SpreadOver::ActorsAtRandom, 1_000),
    (SpreadOver::Actors, 100_000),
    (SpreadOver::ActorsAtRandom, 100_000),
    (SpreadOver::Links, 4),
    (SpreadOver::Links, 16),
    (SpreadOver::Links, 100),
    (SpreadOver::Links, 1_000),
];

/// Callers of one actor.
const CALLERS: [u32; 5] = [1, 8, 64, 1_000, 10_000];
/// Callers of an actor each: as many as a session's channels allow, and no more.
const CALLERS_EACH: [u32; 2] = [64, 1_000];

/// Actors of a ring that is more than two who hand a number to each other.
const RING_ACTORS: u32 = 1_000;

/// Counting actors that a few senders tell at random.
const COUNTERS: u32 = 1_000;
