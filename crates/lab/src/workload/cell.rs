//! Workloads and their cells: what varies, and how many messages there are.

use crate::contract::role::Role;
use crate::participants::Participant;
use crate::results::Witness;
use crate::trial::transport::Transport;
use crate::workload::http::cell::{self as http, HttpCell};
use crate::workload::remote::far::{self, Far};
use crate::workload::remote::over::{self, Exchange};
use crate::workload::remote::overload;
use crate::workload::remote::shape::{self, Origin, Shape};
use crate::workload::sp::SpCell;
use crate::workload::{counter, pingpong, relayed, sp};

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

const REMOTE: &[Role] = &[Role::RemoteServer, Role::RemoteClient];

/// How many messages a cell has.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The first trial's; the next ones fill the window.
    pub first: u64,
    /// At most.
    pub most: u64,
    /// A multiple of this.
    pub step: u64,
    /// Always as many as `most`, however long it takes.
    pub fixed: bool,
    /// In the first round alone.
    pub once: bool,
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

    /// Whether a participant has the programs for it, installed or not, and they know it.
    pub fn is_for(self, participant: &Participant) -> bool {
        self.roles().iter().all(|role| participant.has_role(*role))
            && self.order().is_none_or(|order| participant.knows_remote_cell(order))
            && self.counter_order().is_none_or(|order| participant.knows_counter_cell(order))
            && self.sp_order().is_none_or(|order| participant.knows_sp_cell(order))
            && self.transport().is_none_or(|it| participant.has_transport(it.name()))
            && (self != Cell::Cuts || participant.resumes())
            && (!self.has_relay() || participant.is_relayed())
    }

    /// Why a participant has no such thing, which its row says; `None` when it has, or when nobody
    /// would look for it.
    pub fn why_absent(self, participant: &Participant) -> Option<String> {
        if let Cell::Relayed { .. } | Cell::Cuts = self {
            return relayed::why_absent(self, participant);
        }
        let counter = self.counter_order().filter(|order| !participant.knows_counter_cell(order));
        let sp = self.sp_order().filter(|order| !participant.knows_sp_cell(order));
        let order = counter.or(sp)?;
        let has_programs = self.roles().iter().all(|role| participant.has_role(*role));
        let looked_for = has_programs && !participant.is_known_bad();
        looked_for.then(|| participant.why_no_cell(order))
    }

    /// Roles that a participant must fill.
    pub fn roles(self) -> &'static [Role] {
        match self {
            Cell::Server => &[Role::PingpongServer],
            Cell::Client => &[Role::PingpongClient],
            Cell::Pair | Cell::Mixed => &[Role::PingpongServer, Role::PingpongClient],
            Cell::Count { .. } | Cell::Slow | Cell::LocalAsk => &[Role::Counter],
            Cell::Ring { .. } | Cell::Spawn | Cell::CountEach { .. } => &[Role::Counter],
            Cell::Tell | Cell::Thread | Cell::Naive | Cell::NaiveAsk => REMOTE,
            Cell::Unkept | Cell::MessagePack | Cell::Spread { .. } => REMOTE,
            Cell::Ask | Cell::RoundTrip | Cell::Paced { .. } => REMOTE,
            Cell::Relayed { .. } | Cell::Cuts | Cell::Overload { .. } | Cell::Far(_) => REMOTE,
            Cell::Callers { .. } | Cell::Shape { .. } | Cell::Blob => REMOTE,
            Cell::Over { .. } | Cell::Callback => REMOTE,
            Cell::HttpServer(_) => &[Role::HttpServer],
            Cell::HttpClient => &[Role::HttpClient],
            Cell::Sp(cell) => cell.roles(),
        }
    }

    /// The witness of its numbers.
    pub fn witness(self) -> Witness {
        match self.workload() {
            Workload::Pingpong | Workload::Http => Witness::Full,
            Workload::Counter | Workload::Remote | Workload::Sp => Witness::Digest,
        }
    }

    /// How many messages it has.
    pub fn size(self, quick: bool) -> Size {
        let up_to = |first, most| Size { first, most, step: 1, fixed: false, once: false };
        let always = |most| Size { fixed: true, ..up_to(most, most) };
        let usual = |usual, in_a_quick_run| if quick { in_a_quick_run } else { usual };
        match self {
            Cell::Server | Cell::Client | Cell::Pair | Cell::Mixed => Size {
                step: pingpong::CONNECTIONS,
                ..up_to(50 * pingpong::CONNECTIONS, 10_000 * pingpong::CONNECTIONS)
            },
            Cell::Count { senders } => Size { step: senders.into(), ..up_to(24_000, 100_000_000) },
            Cell::CountEach { .. } => {
                Size { step: counter::EACH_SENDERS.into(), ..up_to(24_000, 100_000_000) }
            }
            Cell::Slow => Size { once: true, step: 2, ..always(usual(30_000_000, 200_000)) },
            Cell::LocalAsk | Cell::Ring { actors: 2 } => up_to(2_000, 50_000_000),
            Cell::Ring { .. } => always(usual(1_000_000, 20_000)),
            Cell::Spawn => always(usual(1_000_000, 20_000)),
            Cell::Tell | Cell::Thread | Cell::Unkept | Cell::MessagePack => {
                up_to(20_000, 100_000_000)
            }
            Cell::Relayed { asks: false, .. } => up_to(20_000, 100_000_000),
            Cell::Shape { shape, .. } => {
                let most = shape.messages_max();
                up_to(most / 5_000, most)
            }
            // Ten cuts take a second, which a quick run has once.
            Cell::Cuts => Size { once: quick, ..up_to(20_000, 100_000_000) },
            Cell::Spread { many, .. } => {
                Size { step: many.into(), ..up_to(20 * u64::from(many), 100_000_000) }
            }
            // Very many callers ask twice, so that a slow participant finishes.
            Cell::Callers { callers, .. } => {
                let first = u64::from(callers) * 20.min(20_000 / u64::from(callers));
                Size { step: callers.into(), ..up_to(first, 20_000_000) }
            }
            Cell::Naive | Cell::NaiveAsk => {
                let most = usual(20_000_000, 2_000_000);
                Size { once: true, ..always(most) }
            }
            // A participant that asks one at a time, a tenth of a millisecond each, must finish.
            Cell::Ask
            | Cell::Callback
            | Cell::Paced { .. }
            | Cell::Relayed { .. }
            | Cell::Overload { .. } => up_to(if quick { 2_000 } else { 40_000 }, 50_000_000),
            Cell::RoundTrip | Cell::Blob => up_to(1_000, 1_000_000),
            Cell::Far(far) => far.size(),
            Cell::Over { exchange, .. } => exchange.over_tcp().size(quick),
            Cell::HttpServer(cell) => cell.size(),
            Cell::HttpClient => Size {
                step: http::CONNECTIONS,
                ..up_to(50 * http::CONNECTIONS, 50_000 * http::CONNECTIONS)
            },
            Cell::Sp(cell) => {
                let (first, most) = cell.messages();
                Size { step: cell.senders().into(), ..up_to(first, most) }
            }
        }
    }
}
