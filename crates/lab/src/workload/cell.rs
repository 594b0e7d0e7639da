//! Cells: what varies within a workload.

mod list;
mod orders;
mod roles;
mod size;

use crate::results::Witness;
use crate::trial::transport::Transport;
use crate::workload::http::cell::HttpCell;
use crate::workload::remote::far::Far;
use crate::workload::remote::over::Exchange;
use crate::workload::remote::shape::{Origin, Shape};
use crate::workload::sp::SpCell;

pub use list::{WORKLOADS, Workload};
pub use size::Size;

/// A cell of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cell {
    /// Pingpong: the participant serves, the lab drives.
    Server,
    /// Pingpong: the participant drives, the lab serves.
    Client,
    /// Pingpong: the participant on both sides.
    Pair,
    /// Pingpong: two participants.
    Mixed,
    /// Counter.
    Count {
        /// Side by side.
        senders: u32,
    },
    /// Counter: an actor that is slower than its senders.
    Slow,
    /// Counter: asks within the process, one in flight.
    LocalAsk,
    /// Counter: a number that goes round.
    Ring {
        /// Of the ring; two hand it to each other.
        actors: u32,
    },
    /// Counter: very many actors alive at once.
    Spawn,
    /// Counter: a few senders and many counting actors, of which each message goes to any.
    CountEach {
        /// The number of them.
        actors: u32,
    },
    /// Remote: one way, as the manual recommends.
    Tell,
    /// Remote: one way, over a session that is given up when its connection is cut.
    Unkept,
    /// Remote: one way, every value marked as MessagePack has it.
    MessagePack,
    /// Remote: one way, from many or to many at once.
    Spread {
        /// The kind of the parties that there are many of.
        over: SpreadOver,
        /// The number of these parties.
        many: u32,
    },
    /// Remote: one way, with other arguments.
    Shape {
        /// The shape of a message.
        shape: Shape,
        /// Where they are sent from.
        from: Origin,
    },
    /// Remote: one way, a plain loop.
    Naive,
    /// Remote: one way, from a plain thread that blocks when there is no room.
    Thread,
    /// Remote: replies, a plain loop.
    NaiveAsk,
    /// Remote: replies, many in flight.
    Ask,
    /// Remote: replies to an actor of the client, to which each message brings a reference; many in
    /// flight.
    Callback,
    /// Remote: replies, one in flight.
    RoundTrip,
    /// Remote: replies, one in flight, beside a transfer of long messages.
    Blob,
    /// Remote: over another transport than tcp.
    Over {
        /// The messages that are exchanged.
        exchange: Exchange,
        /// The transport below.
        transport: Transport,
    },
    /// Remote: replies, each ask at its time.
    Paced {
        /// Of the rate that was found for asks.
        percent: u32,
    },
    /// Remote: asks with a limit, to an actor that can do so many and no more.
    Overload {
        /// Of what the actor can do.
        percent: u32,
    },
    /// Remote: replies, from many callers that have one ask in flight each.
    Callers {
        /// The number of them.
        callers: u32,
        /// Each asks an actor of its own; otherwise all ask the same.
        each: bool,
    },
    /// Remote: through the lab's relay.
    Relayed {
        /// Replies, many in flight; otherwise one way.
        asks: bool,
        /// Each way.
        delay_ms: u32,
    },
    /// Remote: what can be asked for in one round trip, through the lab's relay.
    Far(Far),
    /// Remote: one way, through the lab's relay, which resets the connection again and again.
    Cuts,
    /// Http: the participant serves, the lab drives.
    HttpServer(HttpCell),
    /// Http: the participant drives, the lab serves.
    HttpClient,
    /// Sp: one of its patterns, over a transport.
    Sp(SpCell),
}

/// The dimension that messages are spread over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpreadOver {
    /// Tasks that send to one actor through one connection.
    Senders,
    /// Actors that are told in turn, through one connection.
    Actors,
    /// Actors of which any is told next, through one connection.
    ActorsAtRandom,
    /// Connections, each with a sender of its own, to one actor.
    Links,
}

impl Cell {
    /// True where a participant may need longer until READY than a quick run allows: it makes tens
    /// of thousands of references.
    pub fn begins_slowly(self) -> bool {
        matches!(self, Cell::Spread { many: 10_001.., .. })
    }

    /// The cell that has the same orders over tcp: itself, unless it goes over something else.
    pub fn over_tcp(self) -> Cell {
        match self {
            Cell::Over { exchange, .. } => exchange.over_tcp(),
            cell => cell,
        }
    }

    /// The workload that it belongs to.
    pub fn workload(self) -> Workload {
        match self {
            Cell::Server | Cell::Client | Cell::Pair | Cell::Mixed => Workload::Pingpong,
            Cell::Count { .. } | Cell::Slow | Cell::LocalAsk => Workload::Counter,
            Cell::Ring { .. } | Cell::Spawn | Cell::CountEach { .. } => Workload::Counter,
            Cell::Tell | Cell::Thread | Cell::Naive | Cell::NaiveAsk => Workload::Remote,
            Cell::Unkept | Cell::MessagePack | Cell::Spread { .. } => Workload::Remote,
            Cell::Ask | Cell::RoundTrip | Cell::Paced { .. } => Workload::Remote,
            Cell::Relayed { .. } | Cell::Cuts | Cell::Overload { .. } => Workload::Remote,
            Cell::Far(_) => Workload::Remote,
            Cell::Callers { .. } | Cell::Shape { .. } | Cell::Blob => Workload::Remote,
            Cell::Over { .. } | Cell::Callback => Workload::Remote,
            Cell::HttpServer(_) | Cell::HttpClient => Workload::Http,
            Cell::Sp(_) => Workload::Sp,
        }
    }

    /// The witness of its numbers.
    pub fn witness(self) -> Witness {
        match self.workload() {
            Workload::Pingpong | Workload::Http => Witness::Full,
            Workload::Counter | Workload::Remote | Workload::Sp => Witness::Digest,
        }
    }
}
