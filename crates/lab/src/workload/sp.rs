//! Sockets of the Scalability Protocols: round trips, and messages one way, over each transport.
//!
//! The cells are a list that is made from patterns, transports and lengths. Each message carries
//! its sender, its number and its payload, and is filled with the payload, so that the receiver can
//! tell a message that was put together from two.

use crate::contract::role::Role;
use crate::trial::transport::Transport;
use crate::trial::{Outcome, TrialPrograms};
use crate::workload::account::{RemoteClientAccount, SenderCounts, SpServerAccount, verify};
use crate::workload::entry::parse_account;
use crate::workload::remote::{judge_client, judge_pace, judge_stalls, judge_times, judge_wire};
use crate::workload::sp::fan_out::{Source, Third};
use crate::workload::{Cell, Entry, Judgement, Order};

pub mod fan_out;

/// A cell of sp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpCell {
    /// The sockets, and how many there are.
    pub pattern: Pattern,
    /// The transport between them.
    pub transport: Transport,
    /// Bytes of a message.
    pub size: u64,
}

/// The sockets of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pattern {
    /// REQ and REP, one request in flight.
    Request,
    /// PUSH and PULL, one of each.
    Push,
    /// PUSH and PULL, one of each, with calls that take many messages.
    Many,
    /// PAIR and PAIR, one way.
    Pair,
    /// Threads that send side by side to one PULL.
    Threads(u32),
    /// This many PUSH, each with a connection of its own, to one PULL.
    Connections(u32),
    /// One socket to three peers, of which two are measured, at a fixed rate.
    FanOut {
        /// The socket that sends.
        source: Source,
        /// The peer that is not measured.
        third: Third,
    },
}

/// Transports whose cells have messages of every length.
const TRANSPORTS: [Transport; 4] =
    [Transport::Tcp, Transport::Ipc, Transport::Inproc, Transport::Shm];
/// Transports over tcp, which change its bytes.
const LAYERED: [Transport; 3] = [Transport::Tls, Transport::Ws, Transport::Wss];

/// The length of a request and its reply, as a comparison of 2014 had it.
const REQUEST_BYTES: u64 = 111;
/// Lengths of messages that go one way.
const PUSH_BYTES: [u64; 5] = [16, 128, 4 << 10, 64 << 10, 1 << 20];
/// Lengths over a transport that changes the bytes of tcp.
const LAYERED_BYTES: [u64; 4] = [16, 4 << 10, 64 << 10, 1 << 20];
/// Lengths where it is threads or another pattern that varies.
const FEW_BYTES: [u64; 2] = [16, 4 << 10];
/// Lengths where a call for each message costs more than the message.
const SHORT_BYTES: [u64; 2] = [16, 128];
const THREADS: [u32; 3] = [2, 4, 8];
const CONNECTIONS: [u32; 3] = [10, 100, MANY_CONNECTIONS];
/// More sockets than some systems grant a process.
const MANY_CONNECTIONS: u32 = 1_000;

/// Bytes of the messages of a first trial.
const FIRST_BYTES: u64 = 4 << 20;
/// Bytes of the messages of a trial at most.
const MOST_BYTES: u64 = 64 << 30;

const PROCESSES: &[Role] = &[Role::SpServer, Role::SpClient];
const SEVERAL: &[Role] = &[Role::SpSender, Role::SpReceiver];

/// The cells of a run; a brief one has one, and others for whoever has no part in it.
pub(super) fn cells(brief: bool) -> Vec<SpCell> {
    let cell = |pattern, transport, size| SpCell { pattern, transport, size };
    if brief {
        let first = cell(Pattern::Push, Transport::Tcp, PUSH_BYTES[0]);
        return [first].into_iter().chain(fan_out::cells()).collect();
    }
    let requests = TRANSPORTS.into_iter().chain([Transport::ShmSpin]).chain(LAYERED);
    let mut cells: Vec<SpCell> =
        requests.map(|transport| cell(Pattern::Request, transport, REQUEST_BYTES)).collect();
    for transport in TRANSPORTS {
        cells.extend(PUSH_BYTES.map(|size| cell(Pattern::Push, transport, size)));
    }
    for transport in LAYERED {
        cells.extend(LAYERED_BYTES.map(|size| cell(Pattern::Push, transport, size)));
    }
    for transport in [Transport::Tcp, Transport::Ipc] {
        cells.extend(SHORT_BYTES.map(|size| cell(Pattern::Many, transport, size)));
    }
    let tcp = |pattern, size| cell(pattern, Transport::Tcp, size);
    cells.extend(FEW_BYTES.map(|size| tcp(Pattern::Pair, size)));
    for size in FEW_BYTES {
        cells.extend(THREADS.map(|threads| tcp(Pattern::Threads(threads), size)));
    }
    cells.extend(CONNECTIONS.map(|many| tcp(Pattern::Connections(many), PUSH_BYTES[0])));
    cells.extend(fan_out::cells());
    cells
}

impl SpCell {
    /// The cell as the tables name it.
    pub fn name(self) -> String {
        let sockets = match self.pattern {
            Pattern::Request => "req",
            Pattern::Pair => "pair",
            Pattern::FanOut { source, .. } => source.name(),
            _ => "push",
        };
        let size = match self.size {
            size if size % (1 << 20) == 0 => format!("{} MiB", size >> 20),
            size if size % (1 << 10) == 0 => format!("{} KiB", size >> 10),
            size => format!("{size} B"),
        };
        let name = format!("{sockets} {size} {}", self.transport);
        match self.pattern {
            Pattern::Many => format!("{name}, many at once"),
            Pattern::Threads(threads) => format!("{name}, {threads} threads"),
            Pattern::Connections(many) => format!("{name}, {many} connections"),
            Pattern::FanOut { third, .. } => name + third.suffix(),
            _ => name,
        }
    }

    /// The order for its programs.
    pub(super) fn order(self) -> &'static str {
        match self.pattern {
            Pattern::Request => "req",
            Pattern::Push => "push",
            Pattern::Many => "many",
            Pattern::Pair => "pair",
            Pattern::Threads(_) => "threads",
            Pattern::Connections(MANY_CONNECTIONS) => "thousand-connections",
            Pattern::Connections(_) => "connections",
            Pattern::FanOut { source, third } => fan_out::order(source, third),
        }
    }

    /// The messages a second that are ordered, where they are.
    pub(crate) fn rate(self) -> Option<u64> {
        self.is_fan_out().then_some(fan_out::RATE)
    }

    /// How many times the usual window its own is.
    pub(crate) fn window_factor(self, quick: bool) -> u32 {
        match self.pattern {
            Pattern::FanOut { source, third } => fan_out::window_factor(source, third, quick),
            _ => 1,
        }
    }

    /// Whether one socket sends to several peers.
    pub(crate) fn is_fan_out(self) -> bool {
        matches!(self.pattern, Pattern::FanOut { .. })
    }

    /// Sequences of numbered messages.
    pub(super) fn senders(self) -> u32 {
        match self.pattern {
            Pattern::Threads(many) | Pattern::Connections(many) => many,
            _ => 1,
        }
    }

    /// Messages of the first trial, and of any at most.
    pub(super) fn messages(self) -> (u64, u64) {
        if self.pattern == Pattern::Request {
            return (1_000, 1_000_000);
        }
        if self.is_fan_out() {
            return (fan_out::RATE, fan_out::MESSAGES_MAX);
        }
        let first = (FIRST_BYTES / self.size).clamp(20, 20_000);
        (first, (MOST_BYTES / self.size).min(100_000_000))
    }

    pub(super) fn roles(self) -> &'static [Role] {
        match self.transport {
            _ if self.is_fan_out() => SEVERAL,
            Transport::Inproc => &[Role::SpInproc],
            _ => PROCESSES,
        }
    }
}

/// The measurement of the cell with this name, if it is one of sp.
pub(crate) fn meaning(name: &str) -> Option<&'static str> {
    let cell = cells(false).into_iter().find(|cell| cell.name() == name)?;
    Some(match cell.pattern {
        Pattern::Request => "A request and its reply by REQ and REP; one is in flight.",
        Pattern::Push => "One way, from one PUSH to one PULL.",
        Pattern::Many => {
            "One way, from one PUSH to one PULL, by calls that send and receive many messages."
        }
        Pattern::Pair => "One way, from one PAIR to another.",
        Pattern::Threads(_) => {
            "One way, from so many threads to one PULL: over one socket, or one each where a socket \
             belongs to a thread."
        }
        Pattern::Connections(_) => {
            "One way, from so many PUSH in turn, each with a connection of its own, to one PULL."
        }
        Pattern::FanOut { source, third } => fan_out::meaning(source, third),
    })
}

/// The cell of an entry, which is one of sp.
fn cell_of(entry: &Entry<'_>) -> Option<SpCell> {
    match entry.cell {
        Cell::Sp(cell) => Some(cell),
        _ => None,
    }
}

pub(super) fn programs(entry: &Entry<'_>, order: Order) -> Option<TrialPrograms> {
    let cell = cell_of(entry)?;
    if let Pattern::FanOut { source, third } = cell.pattern {
        return fan_out::programs(entry, order, (source, third));
    }
    let (files, for_server, for_client) = cell.transport.files();
    let common = vec![
        ("CELL", cell.order().to_owned()),
        ("TRANSPORT", cell.transport.to_string()),
        ("SIZE", cell.size.to_string()),
        ("SENDERS", cell.senders().to_string()),
        ("MESSAGES", order.messages.to_string()),
    ];
    let seed = ("SEED", order.seed.to_string());
    if cell.transport == Transport::Inproc {
        let mut worker = entry.launch(Role::SpInproc, true)?;
        worker.orders = common;
        worker.orders.push(seed);
        return Some(TrialPrograms::of(worker));
    }
    let mut server = entry.launch(Role::SpServer, true)?;
    // The receiver stops the clock: with replies that is the client too.
    let mut worker = entry.launch(Role::SpClient, cell.pattern == Pattern::Request)?;
    server.orders = [common.clone(), for_server].concat();
    server.orders.push(("PORT", "0".to_owned()));
    worker.orders = [common, for_client].concat();
    worker.orders.push(seed);
    let staged = cell.transport.crosses_device();
    let programs = TrialPrograms::of(worker);
    Some(TrialPrograms { server: Some(server), staged, files, ..programs })
}

pub(super) fn judge(
    entry: &Entry<'_>,
    order: Order,
    outcome: &Outcome,
) -> Result<Judgement, String> {
    let cell = cell_of(entry).ok_or("it is no cell of sp")?;
    if let Pattern::FanOut { source, third } = cell.pattern {
        return fan_out::judge(order, outcome, (source, third));
    }
    // In one process there is one account, with the fields of both.
    let server = match cell.transport {
        Transport::Inproc => &outcome.worker,
        _ => &outcome.server,
    };
    let served: SpServerAccount = parse_account("receiver", server)?;
    let drove: RemoteClientAccount = parse_account("sender", &outcome.worker)?;
    let each = order.messages / u64::from(cell.senders());
    let all: Vec<SenderCounts> = (0..cell.senders())
        .map(|sender| SenderCounts::expected(order.seed, sender, each))
        .collect();
    let asks = cell.pattern == Pattern::Request;
    let mut verified = verify(&all, &served.senders);
    verified.corrupt += served.corrupt;
    let mut judged = Judgement::of(verified, entry.participant.is_ordered() && !asks);
    judged.demand(served.corrupt == 0, || {
        format!("{} messages were not as long, or not filled, as their sender did", served.corrupt)
    });
    // A reply is its request with every bit of the payload inverted.
    let inverted = |one: &SenderCounts| (one.count * u64::from(u32::MAX)).wrapping_sub(one.sum);
    let due = asks.then(|| all.iter().fold(0_u64, |sum, one| sum.wrapping_add(inverted(one))));
    judge_client(&mut judged, order, &drove, due);
    judge_wire(&mut judged, order.messages * cell.size, outcome);
    judge_pace(&mut judged, outcome);
    if asks {
        judge_times(&mut judged, order, &drove, outcome.seconds);
        judge_stalls(&mut judged, order, outcome.seconds);
    }
    Ok(judged)
}

#[cfg(test)]
mod tests;
