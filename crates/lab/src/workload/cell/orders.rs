//! The orders of a cell for its programs.

use crate::trial::transport::Transport;
use crate::workload::cell::{Cell, SpreadOver};
use crate::workload::remote::overload;

impl Cell {
    /// The order for a client of remote.
    pub fn order(self) -> Option<&'static str> {
        match self.over_tcp() {
            Cell::Tell | Cell::Relayed { asks: false, .. } | Cell::Cuts => Some("tell"),
            Cell::Unkept => Some("unkept"),
            Cell::MessagePack => Some("messagepack"),
            Cell::Spread { over: SpreadOver::Senders, .. } => Some("senders"),
            Cell::Spread { over: SpreadOver::Actors, .. } => Some("actors"),
            Cell::Spread { over: SpreadOver::ActorsAtRandom, .. } => Some("actors-random"),
            Cell::Spread { over: SpreadOver::Links, .. } => Some("links"),
            Cell::Shape { shape, from } => Some(shape.order(from)),
            Cell::Thread => Some("thread"),
            Cell::Naive => Some("naive"),
            Cell::NaiveAsk => Some("naive-ask"),
            Cell::Ask | Cell::Relayed { asks: true, .. } => Some("ask"),
            Cell::Callback => Some("callback"),
            Cell::RoundTrip => Some("rtt"),
            Cell::Far(far) => Some(far.order()),
            Cell::Blob => Some("blob"),
            Cell::Paced { .. } => Some("paced"),
            Cell::Overload { .. } => Some("overload"),
            Cell::Callers { each: false, .. } => Some("callers"),
            Cell::Callers { each: true, .. } => Some("callers-each"),
            _ => None,
        }
    }

    /// The order for a program of counter.
    pub fn counter_order(self) -> Option<&'static str> {
        match self {
            Cell::Count { .. } => Some("count"),
            Cell::Slow => Some("slow"),
            Cell::LocalAsk => Some("ask"),
            Cell::Ring { actors: 2 } => Some("bounce"),
            Cell::Ring { .. } => Some("ring"),
            Cell::Spawn => Some("spawn"),
            Cell::CountEach { .. } => Some("actors"),
            _ => None,
        }
    }

    /// The order for the programs of sp.
    pub fn sp_order(self) -> Option<&'static str> {
        match self {
            Cell::Sp(cell) => Some(cell.order()),
            _ => None,
        }
    }

    /// The transport between its programs, where the cell decides it.
    pub fn transport(self) -> Option<Transport> {
        match self {
            Cell::Sp(cell) => Some(cell.transport),
            Cell::Over { transport, .. } => Some(transport),
            _ => None,
        }
    }

    /// Bytes of each message, where its length is a question of the cell.
    pub fn message_bytes(self) -> Option<u64> {
        match self {
            Cell::Sp(cell) => Some(cell.size),
            _ => None,
        }
    }

    /// True if its question is how much memory grows: then the program waits until that was read.
    pub fn asks_memory(self) -> bool {
        match self {
            Cell::Slow | Cell::Spawn => true,
            Cell::Sp(cell) => cell.is_fan_out(),
            _ => false,
        }
    }

    /// True if a message that is missed is a figure and no fault.
    pub fn may_miss(self) -> bool {
        matches!(self, Cell::Sp(cell) if cell.is_fan_out())
    }

    /// Messages a second that are ordered, where they do not follow from another cell.
    pub fn rate(self) -> Option<u64> {
        match self {
            Cell::Overload { percent } => Some(overload::CAPACITY * u64::from(percent) / 100),
            Cell::Sp(cell) => cell.rate(),
            Cell::HttpServer(cell) => cell.rate(),
            _ => None,
        }
    }

    /// The percent that is ordered of the rate that another cell came to, and that cell.
    pub fn share(self) -> Option<(u32, Cell)> {
        match self {
            Cell::Paced { percent } => Some((percent, Cell::Ask)),
            Cell::HttpServer(cell) => {
                cell.share().map(|(percent, of)| (percent, Cell::HttpServer(of)))
            }
            _ => None,
        }
    }
}
