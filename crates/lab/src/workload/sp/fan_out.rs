//! One sender at a fixed rate and three peers, of which two are measured: what becomes of them when
//! the third is slow, or dies and returns again and again?
//!
//! The rate is the same for every participant, and each holds it for three peers that are well. So a
//! peer that reads is never behind for long, and a message that it misses was lost for another
//! peer's sake. PUB sends each message to all peers and may drop it for one that has no room, so a
//! miss is a number and no fault; a message that came twice, out of order, or changed is one. PUSH
//! gives each message to one peer, and those of the third peer are gone with it.

use std::time::Duration;

use serde::Deserialize;

use crate::contract::role::Role;
use crate::figures::digest::Verified;
use crate::trial::bystander::BystanderSpec;
use crate::trial::transport::Transport;
use crate::trial::{Outcome, ProgramSpec, TrialPrograms};
use crate::workload::account::latency::LatencyHistogram;
use crate::workload::account::payloads::Payloads;
use crate::workload::account::{LatencyBins, SenderCounts};
use crate::workload::counter::FLAT_BYTES;
use crate::workload::entry::parse_account;
use crate::workload::remote::judge_wire;
use crate::workload::sp::SpCell;
use crate::workload::{Entry, Judgement, Order, paced};

/// Messages a second. On two processors every participant holds it for three peers, but NNG not
/// twice as many.
pub(super) const RATE: u64 = 10_000;
/// Messages of a trial at most: an account has a bit for each, and is one line.
pub(super) const MESSAGES_MAX: u64 = 1_000_000;
/// Bytes of a message: the system's buffers of a connection hold a few megabytes, so a slow peer is
/// behind after half a second.
const BYTES: u64 = 2 << 10;
/// Peers that are measured.
const RECEIVERS: u64 = 2;
/// Messages that may wait for a peer, on either side, where a system can say so.
const QUEUE: u64 = 1_000;
/// The time that a slow peer takes for each message: it keeps up with one in a hundred of PUB's.
const SLOW_WORK: Duration = Duration::from_millis(10);
/// The time from when a peer was served until it is killed.
const LIFE: Duration = Duration::from_millis(100);
/// Fewer deaths a second show little.
const DEATHS_PER_SECOND_MIN: f64 = 2.0;
/// Beside a slow or dying peer the others keep so much of their rate.
pub(crate) const KEPT_MIN: f64 = 0.9;

/// The socket that sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Each peer gets every message.
    Pub,
    /// Each message goes to one peer.
    Push,
}

/// The peer that is not measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Third {
    /// It reads as the others do.
    Well,
    /// It takes far longer for a message than there is.
    Slow,
    /// It is killed and followed by another, again and again.
    Dying,
}

const SOURCES: [Source; 2] = [Source::Pub, Source::Push];
const THIRDS: [Third; 3] = [Third::Well, Third::Slow, Third::Dying];

/// The cells, each socket with each third peer.
pub(super) fn cells() -> impl Iterator<Item = SpCell> {
    SOURCES.into_iter().flat_map(|source| THIRDS.map(|third| cell(source, third)))
}

fn cell(source: Source, third: Third) -> SpCell {
    let pattern = super::Pattern::FanOut { source, third };
    SpCell { pattern, transport: Transport::Tcp, size: BYTES }
}

impl Source {
    pub(super) fn name(self) -> &'static str {
        match self {
            Source::Pub => "pub",
            Source::Push => "push",
        }
    }
}

impl Third {
    /// The end of the name of a cell.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Third::Well => ", 3 peers",
            Third::Slow => ", slow peer",
            Third::Dying => ", dying peer",
        }
    }
}

/// A slow peer is behind within such a window, and several peers die in it. PUSH gives it a third of
/// what PUB does.
pub(super) fn window_factor(source: Source, third: Third, quick: bool) -> u32 {
    match (source, third, quick) {
        (_, _, false) => 2,
        (_, Third::Well, true) => 1,
        (Source::Pub, _, true) => 3,
        (Source::Push, _, true) => 8,
    }
}

pub(super) fn order(source: Source, third: Third) -> &'static str {
    match (source, third) {
        (Source::Pub, Third::Well) => "pub",
        (Source::Pub, Third::Slow) => "pub-slow",
        (Source::Pub, Third::Dying) => "pub-dying",
        (Source::Push, Third::Well) => "balance",
        (Source::Push, Third::Slow) => "balance-slow",
        (Source::Push, Third::Dying) => "balance-dying",
    }
}

pub(super) fn meaning(source: Source, third: Third) -> &'static str {
    match (source, third) {
        (Source::Pub, Third::Well) => "From one PUB to three SUB, at a fixed rate.",
        (Source::Pub, Third::Slow) => {
            "From one PUB to three SUB, at a fixed rate: what of it gets to two of them while the \
             third is slow?"
        }
        (Source::Pub, Third::Dying) => {
            "From one PUB to three SUB, at a fixed rate: what of it gets to two of them while the \
             third is killed again and again, and followed by another?"
        }
        (Source::Push, Third::Well) => "From one PUSH to three PULL, at a fixed rate.",
        (Source::Push, Third::Slow) => {
            "From one PUSH to three PULL, at a fixed rate: how long do two of them wait while the \
             third is slow?"
        }
        (Source::Push, Third::Dying) => {
            "From one PUSH to three PULL, at a fixed rate: how long do two of them wait while the \
             third is killed again and again, and followed by another?"
        }
    }
}

/// The cell with three peers that are well, if `name` is that of one with another.
pub(crate) fn reference(name: &str) -> Option<String> {
    let faulty = |source| [Third::Slow, Third::Dying].map(|third| cell(source, third));
    let named = |source: &Source| faulty(*source).into_iter().any(|it| it.name() == name);
    SOURCES.into_iter().find(named).map(|source| cell(source, Third::Well).name())
}

/// Whether each of the measured peers of the cell with this name is to get every message.
pub(crate) fn is_published(name: &str) -> bool {
    THIRDS.into_iter().any(|third| cell(Source::Pub, third).name() == name)
}

pub(super) fn programs(
    entry: &Entry<'_>,
    order: Order,
    (source, third): (Source, Third),
) -> Option<TrialPrograms> {
    let common = [
        ("CELL", self::order(source, third).to_owned()),
        ("TRANSPORT", Transport::Tcp.to_string()),
        ("SIZE", BYTES.to_string()),
        ("SENDERS", "1".to_owned()),
        ("MESSAGES", order.messages.to_string()),
        ("RATE", order.rate.to_string()),
        ("QUEUE", QUEUE.to_string()),
    ];
    let mut server = entry.launch(Role::SpSender, false)?;
    server.orders.extend(common.clone());
    server.orders.push(("PORT", "0".to_owned()));
    server.orders.push(("SEED", order.seed.to_string()));
    let receiver = |receivers: u64, work: Duration| {
        let mut receiver = entry.launch(Role::SpReceiver, true)?;
        receiver.orders.extend(common.clone());
        receiver.orders.push(("RECEIVERS", receivers.to_string()));
        receiver.orders.push(("WORK_US", work.as_micros().to_string()));
        Some(receiver)
    };
    let work = if third == Third::Slow { SLOW_WORK } else { Duration::ZERO };
    let ProgramSpec { title, command, orders, .. } = receiver(1, work)?;
    let life = (third == Third::Dying).then_some(LIFE);
    let programs = TrialPrograms::of(receiver(RECEIVERS, Duration::ZERO)?);
    Some(TrialPrograms {
        server: Some(server),
        server_begins: true,
        staged: true,
        bystander: Some(BystanderSpec {
            title: format!("the third peer, {title},"),
            command,
            orders,
            life,
        }),
        ..programs
    })
}

/// The account of the sender.
#[derive(Deserialize)]
struct SenderAccount {
    sent: u64,
    /// Messages that were sent later than 1 ms after they were due.
    late: u64,
}

/// The account of the receivers that are measured.
#[derive(Deserialize)]
struct ReceiverAccount {
    receivers: Vec<Receiver>,
    /// Messages of another length, not filled with their payload, or with a time that is not that
    /// of their number; they are in no other count.
    corrupt: u64,
    /// From when each message was due until it was received.
    latency_us: LatencyBins,
}

#[derive(Deserialize)]
struct Receiver {
    #[serde(flatten)]
    counts: SenderCounts,
    /// A bit for each number, the lowest of a byte first: two hexadecimal digits for a byte.
    numbers: String,
}

pub(super) fn judge(
    order: Order,
    outcome: &Outcome,
    (source, third): (Source, Third),
) -> Result<Judgement, String> {
    let sender: SenderAccount = parse_account("sender", &outcome.server)?;
    let received: ReceiverAccount = parse_account("receivers", &outcome.worker)?;
    let seen: Result<Vec<Vec<bool>>, String> =
        received.receivers.iter().map(|one| numbers(&one.numbers, order.messages)).collect();
    let (seen, due) = (seen?, payloads(order));
    let mut verified = Verified { corrupt: received.corrupt, ..Verified::default() };
    for (one, seen) in received.receivers.iter().zip(&seen) {
        verified = verified + check(source, &one.counts, seen, &due);
    }
    if source == Source::Push {
        verified.duplicated += at_several(&seen, order.messages);
    }
    let missed = std::mem::take(&mut verified.lost);
    // Messages that waited for a dead peer may go to another one, behind later messages.
    let is_ordered = source == Source::Pub || third != Third::Dying;
    let mut judged = Judgement::of(verified, is_ordered);
    judged.verified.lost = missed;
    judged.demand(seen.len() as u64 == RECEIVERS, || {
        format!("its account has {} receivers, where {RECEIVERS} were ordered", seen.len())
    });
    judged.demand(seen.iter().all(|one| one.contains(&true)), || {
        "one of its receivers got nothing".to_owned()
    });
    judged.demand(received.corrupt == 0, || {
        let corrupt = received.corrupt;
        format!("{corrupt} messages were not as long, filled or dated as was ordered")
    });
    judged.demand(sender.sent == order.messages, || {
        format!("its sender tells of {} messages, where {} were due", sender.sent, order.messages)
    });
    let arrived = verified.received;
    judge_wire(&mut judged, arrived * BYTES, outcome);
    if missed > 0 {
        judged.flags.push(format!(
            "peers that read all the while missed {missed} of {} messages",
            verified.sent
        ));
    }
    let late = (u128::from(sender.late) * u128::from(arrived)).div_ceil(order.messages.into());
    let late = (late as u64).min(arrived);
    match LatencyHistogram::read(received.latency_us, late, arrived) {
        Ok(histogram) => judged.latency = Some(histogram),
        Err(why) => judged.void.push(format!("what its receivers tell of latencies: {why}")),
    }
    paced::judge_rate(&mut judged, order, outcome.seconds);
    judge_memory(&mut judged, outcome);
    if let (Third::Dying, deaths) = (third, outcome.deaths.unwrap_or(0))
        && (deaths as f64) < outcome.seconds * DEATHS_PER_SECOND_MIN
    {
        judged.flags.push(format!(
            "only {deaths} peers died in {:.1} s: the next one was not served sooner",
            outcome.seconds
        ));
    }
    judged.answered = Some(arrived);
    Ok(judged)
}

fn judge_memory(judged: &mut Judgement, outcome: &Outcome) {
    let grown = outcome.cost.grown_bytes;
    judged
        .demand(grown.is_some(), || "its sender ended before its memory could be read".to_owned());
    if let Some(grown) = grown.filter(|grown| *grown > FLAT_BYTES) {
        judged.flags.push(format!(
            "the memory of its sender did not stay flat: it grew by {} MiB",
            grown >> 20
        ));
    }
}

/// The payload of each number.
fn payloads(order: Order) -> Vec<u32> {
    let mut payloads = Payloads::new(order.seed, 0);
    (0..order.messages).map(|_| payloads.draw()).collect()
}

/// Holds the counts of one receiver against the payloads of the numbers that it saw.
fn check(source: Source, told: &SenderCounts, seen: &[bool], due: &[u32]) -> Verified {
    let numbers = seen.iter().zip(due).filter(|(seen, _)| **seen);
    let (count, sum) = numbers
        .fold((0, 0_u64), |(count, sum), (_, payload)| (count + 1, sum + u64::from(*payload)));
    let mut verified = SenderCounts { count, sum, reordered: 0 }.against(told);
    // Numbers that it claims to have seen and did not count.
    verified.corrupt += std::mem::take(&mut verified.lost);
    if source == Source::Pub {
        verified.sent = due.len() as u64;
        verified.lost = verified.sent - count;
    }
    verified
}

/// Numbers that more than one receiver saw.
fn at_several(seen: &[Vec<bool>], messages: u64) -> u64 {
    let times = |at: usize| seen.iter().filter(|one| one[at]).count() as u64;
    (0..messages as usize).map(|at| times(at).saturating_sub(1)).sum()
}

/// Whether each number was seen, by the digits of an account.
fn numbers(digits: &str, messages: u64) -> Result<Vec<bool>, String> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?));
    let bytes: Option<Vec<u32>> = bytes.collect();
    let bytes = bytes.filter(|bytes| rest.is_empty() && bytes.len() as u64 == messages.div_ceil(8));
    let bytes = bytes.ok_or("the numbers in its account are not two digits for each eight")?;
    let mut seen: Vec<bool> =
        bytes.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1)).collect();
    if seen.split_off(messages as usize).contains(&true) {
        return Err("its account has numbers that were never sent".to_owned());
    }
    Ok(seen)
}

#[cfg(test)]
mod tests;
