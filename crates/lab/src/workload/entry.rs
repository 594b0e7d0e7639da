//! A participant in a cell: the programs that are started, their orders, and what their accounts
//! come to.

use std::path::Path;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::contract::role::{Payload, Role};
use crate::figures::digest::Verified;
use crate::participants::Participant;
use crate::trial::{MEMORY_MAX, Outcome, ProgramSpec, TrialPrograms};
use crate::workload::account::RoundTripTimes;
use crate::workload::account::latency::LatencyHistogram;
use crate::workload::remote::{over, shape};
use crate::workload::{Cell, Size, SpreadOver, Workload};
use crate::workload::{counter, http, outside_clock, pingpong, relayed, remote, sp};

/// A participant in a cell: a row to be.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    /// Where.
    pub cell: Cell,
    /// The participant.
    pub participant: &'a Participant,
    /// The participant that drives it, in a mixed cell.
    pub partner: Option<&'a Participant>,
    /// The program that has the lab's own counterparts.
    pub program: &'a Path,
}

/// The order of a trial: how many messages, and from which seed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Order {
    /// In all.
    pub messages: u64,
    /// For the sender.
    pub seed: u32,
    /// A second, where they are sent at a fixed rate; otherwise 0.
    pub rate: u64,
    /// A relay cuts whenever so many bytes went to the server; 0: never.
    pub cut_bytes: u64,
    /// Whether this is the participant's first trial, in which the slow checks are made.
    pub is_first: bool,
    /// Time that the lab's own client grants a server for each answer.
    pub answer_max: Duration,
    /// Time for which the lab's own client asks a server of http before the clock runs.
    pub warm_up: Duration,
}

/// The judgement of a trial's accounts.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// The fate of the messages.
    pub verified: Verified,
    /// The reason why there is no number.
    pub void: Vec<String>,
    /// Remarks that a reader of the number must know.
    pub flags: Vec<String>,
    /// Single round trips.
    pub times: Option<RoundTripTimes>,
    /// Latencies, from when each ask was due.
    pub latency: Option<LatencyHistogram>,
    /// The messages that count for the rate, where these are not all.
    pub answered: Option<u64>,
    /// Bytes of the head of an answer, where each answer is read.
    pub header_bytes: Option<f64>,
}

impl Entry<'_> {
    /// The cell as the tables name it.
    pub fn cell_name(&self) -> String {
        match self.cell {
            Cell::Server => "server".to_owned(),
            Cell::HttpServer(cell) => cell.name(),
            Cell::Client | Cell::HttpClient => "client".to_owned(),
            Cell::Pair | Cell::Mixed => {
                let partner = self.partner.unwrap_or(self.participant);
                format!("{} × {}", self.participant.name(), partner.name())
            }
            Cell::Count { senders: 1 } => "1 sender".to_owned(),
            Cell::Count { senders } => format!("{senders} senders"),
            Cell::Slow => counter::SLOW.to_owned(),
            Cell::LocalAsk => "local ask".to_owned(),
            Cell::Ring { actors: 2 } => "bounce".to_owned(),
            Cell::Ring { .. } => "ring".to_owned(),
            Cell::Spawn => counter::SPAWN.to_owned(),
            Cell::CountEach { actors } => format!("{actors} actors"),
            Cell::Tell => "tell".to_owned(),
            Cell::Unkept => "tell, not kept".to_owned(),
            Cell::MessagePack => "tell, MessagePack".to_owned(),
            Cell::Spread { over: SpreadOver::Senders, many } => format!("tell, {many} senders"),
            Cell::Spread { over: SpreadOver::Actors, many } => format!("tell, {many} actors"),
            Cell::Spread { over: SpreadOver::ActorsAtRandom, many } => {
                format!("tell, {many} actors at random")
            }
            Cell::Spread { over: SpreadOver::Links, many } => format!("tell, {many} links"),
            Cell::Shape { shape, from } => shape::name(shape, from),
            Cell::Thread => "tell, thread".to_owned(),
            Cell::Naive => "naive".to_owned(),
            Cell::NaiveAsk => "naive ask".to_owned(),
            Cell::Paced { percent } => format!("paced {percent} %"),
            Cell::Overload { percent } => format!("overload {percent} %"),
            Cell::Callers { callers: 1, .. } => "1 caller".to_owned(),
            Cell::Callers { callers, each: false } => format!("{callers} callers"),
            Cell::Callers { callers, each: true } => format!("{callers} callers, actor each"),
            Cell::Ask => "ask".to_owned(),
            Cell::Relayed { asks, delay_ms } => relayed::name(asks, delay_ms),
            Cell::Cuts => relayed::CUTS_NAME.to_owned(),
            Cell::Far(far) => far.name().to_owned(),
            Cell::RoundTrip => "rtt".to_owned(),
            Cell::Sp(cell) => cell.name(),
            Cell::Callback => "callback".to_owned(),
            Cell::Blob => "rtt, blob".to_owned(),
            Cell::Over { exchange, transport } => over::name(exchange, transport),
        }
    }

    /// The programs of a trial; `None` when a role has no command.
    pub fn programs(&self, order: Order) -> Option<TrialPrograms> {
        match self.cell.workload() {
            Workload::Pingpong => pingpong::programs(self, order),
            Workload::Counter => counter::programs(self, order),
            Workload::Remote => remote::programs(self, order),
            Workload::Http => http::programs(self, order),
            Workload::Sp => sp::programs(self, order),
        }
    }

    /// Judges the accounts of a trial.
    pub fn judge(&self, order: Order, outcome: &Outcome) -> Judgement {
        let judged = match self.cell.workload() {
            Workload::Pingpong => pingpong::judge(self, order, outcome),
            Workload::Counter => counter::judge(self, order, outcome),
            Workload::Remote => remote::judge(self, order, outcome),
            Workload::Http => http::judge(self, order, outcome),
            Workload::Sp => sp::judge(self, order, outcome),
        };
        let mut judged = judged.unwrap_or_else(|unreadable| {
            let sent = order.messages;
            let verified = Verified { sent, lost: sent, ..Verified::default() };
            Judgement { verified, void: vec![unreadable], ..Judgement::default() }
        });
        // To end a million actors may take what it takes.
        if self.cell != Cell::Spawn {
            judged.flags.extend(outside_clock::flags(outcome));
        }
        judged
    }

    /// How many messages it has. Where payloads are fixed the first trial is as long as it was in
    /// 2016, so that what was wrong then can be held against what was said then.
    pub fn size(&self, quick: bool) -> Size {
        let size = self.cell.size(quick);
        let as_then = self.is_fixed() && !quick && self.cell != Cell::Mixed;
        if as_then { Size { first: size.most, ..size } } else { size }
    }

    /// Whether a participant in it is known to be bad.
    pub fn is_known_bad(&self) -> bool {
        self.participant.is_known_bad() || self.partner.is_some_and(Participant::is_known_bad)
    }

    /// Requests and replies of pingpong are always the same, because one of those in it knows
    /// nothing else.
    pub fn is_fixed(&self) -> bool {
        let all = [Some(self.participant), self.partner];
        all.into_iter().flatten().any(|it| it.payload() == Payload::Fixed)
    }

    pub(super) fn launch(&self, role: Role, stops_clock: bool) -> Option<ProgramSpec> {
        launch(self.participant, role, stops_clock)
    }
}

pub(super) fn launch(
    participant: &Participant,
    role: Role,
    stops_clock: bool,
) -> Option<ProgramSpec> {
    Some(ProgramSpec {
        title: format!("{} ({})", participant.name(), role.name()),
        side: role.side(),
        command: participant.command(role)?,
        orders: Vec::new(),
        measured: true,
        stops_clock,
        accounts: 1,
        memory_max: MEMORY_MAX,
    })
}

/// An account as what it should be, or the reason why it is none.
pub(super) fn parse_account<T: DeserializeOwned>(whose: &str, line: &str) -> Result<T, String> {
    serde_json::from_str(line)
        .map_err(|error| format!("the account of its {whose} is none: {error}: {}", cut(line)))
}

fn cut(line: &str) -> &str {
    let end = line.char_indices().nth(160).map_or(line.len(), |(end, _)| end);
    &line[..end]
}

impl Judgement {
    /// Describes the faults in `verified`. Order may be required, or only be reported.
    pub(super) fn of(verified: Verified, order_required: bool) -> Judgement {
        let mut judged = Judgement { verified, ..Judgement::default() };
        let Verified { sent, received, lost, duplicated, reordered, corrupt } = verified;
        if lost > 0 {
            judged.void.push(format!("{lost} of {sent} messages were lost"));
        }
        if duplicated > 0 {
            judged.void.push(format!("{duplicated} messages arrived that were not sent, or twice"));
        }
        if corrupt > 0 {
            judged.void.push(
                "as many messages arrived as were sent, but not the same: changed ones, or a \
                 duplicate in the place of a lost one"
                    .to_owned(),
            );
        }
        if reordered > 0 {
            let share = 100.0 * reordered as f64 / received.max(1) as f64;
            let said = format!("{reordered} messages ({share:.2} %) came out of order");
            match order_required {
                true => judged.void.push(said),
                false => judged.flags.push(said),
            }
        }
        judged
    }

    pub(super) fn demand(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.void.push(otherwise());
        }
    }
}
