//! Two processes and the participant's own wire: one way, or with replies.

use crate::contract::role::Role;
use crate::trial::transport::Transport;
use crate::trial::{Outcome, TrialPrograms};
use crate::workload::account::{RemoteClientAccount, RemoteServerAccount, sequences};
use crate::workload::entry::parse_account;
use crate::workload::{Cell, Entry, Judgement, Order, SpreadOver, paced, relayed, round_trips};

pub(crate) mod overload;
pub mod shape;
pub mod over;
mod blob;
pub mod far;

/// Asks in flight at once: tens of thousands, as the comparison had it that this comes from.
const WINDOW: u64 = 16_384;
/// Where a round trip takes 20 ms: a hundred million asks a second. And a limit for safety where
/// the clock says when to ask: nobody waits for it who is not far behind.
const WIDE_WINDOW: u64 = 1 << 21;
/// Of each message only the payload is unknown to the server; its number could be counted.
const PAYLOAD_BYTES: u64 = 4;
/// The ratio of the rates of the last and the first tenth below which a remark is made.
const TIRED: f64 = 0.5;

pub(super) fn programs(entry: &Entry<'_>, order: Order) -> Option<TrialPrograms> {
    let asks = asks(entry.cell);
    let mut server = entry.launch(Role::RemoteServer, true)?;
    // The receiver stops the clock: with replies that is the client too.
    let mut worker = entry.launch(Role::RemoteClient, asks)?;
    let cell = entry.cell.order().unwrap_or_default().to_owned();
    let mut common = vec![("CELL", cell), ("MESSAGES", order.messages.to_string())];
    if let Cell::Spread { many, .. } | Cell::Callers { callers: many, .. } = entry.cell {
        common.push(("SENDERS", many.to_string()));
    }
    if let Cell::Shape { shape, .. } = entry.cell
        && let Some(bytes) = shape.block_bytes()
    {
        common.push(("BYTES", bytes.to_string()));
    }
    let transport = entry.cell.transport().unwrap_or(Transport::Tcp);
    let (files, for_server, for_client) = transport.files();
    if transport != Transport::Tcp {
        common.push(("TRANSPORT", transport.to_string()));
    }
    server.orders = [common.clone(), for_server].concat();
    server.orders.push(("PORT", "0".to_owned()));
    worker.orders = [common, for_client].concat();
    worker.orders.push(("SEED", order.seed.to_string()));
    worker.orders.push(("WINDOW", window(entry.cell).to_string()));
    worker.orders.push(("RATE", order.rate.to_string()));
    if let Cell::Overload { .. } = entry.cell {
        server.orders.push(("WORK_US", overload::WORK_US.to_string()));
        worker.orders.push(("LIMIT_MS", overload::LIMIT_MS.to_string()));
    }
    let (relay, staged) = (relayed::between(entry, order), transport.crosses_device());
    let programs = TrialPrograms::of(worker);
    Some(TrialPrograms { server: Some(server), staged, relay, files, ..programs })
}

fn window(cell: Cell) -> u64 {
    match cell.over_tcp() {
        Cell::Ask | Cell::Callback => WINDOW,
        Cell::Paced { .. } | Cell::Relayed { .. } => WIDE_WINDOW,
        _ => 1,
    }
}

pub(super) fn judge(
    entry: &Entry<'_>,
    order: Order,
    outcome: &Outcome,
) -> Result<Judgement, String> {
    if let Cell::Overload { .. } = entry.cell {
        return overload::judge(order, outcome);
    }
    let mut served: RemoteServerAccount = parse_account("server", &outcome.server)?;
    let drove: RemoteClientAccount = parse_account("client", &outcome.worker)?;
    let many = streams(entry.cell);
    let all = match entry.cell {
        Cell::Spread { over: SpreadOver::ActorsAtRandom, many } => {
            sequences::of_actors(order, many, 1)
        }
        _ => sequences::of_senders(order, many),
    };
    let asks = asks(entry.cell);
    // An ask is matched with its reply; the order in which asks were handled is only reported.
    let required = entry.participant.is_ordered() && !asks;
    // Behind the asks of this cell stand its long messages.
    let asked = if entry.cell == Cell::Blob { 1 } else { served.senders.len() };
    let long = served.senders.split_off(asked.min(served.senders.len()));
    let mut judged = sequences::judge(&all, &served, required);
    let each = order.messages / u64::from(many);
    let numbers = u64::from(many) * (each * each.saturating_sub(1) / 2);
    let payloads = all.iter().fold(0_u64, |sum, one| sum.wrapping_add(one.sum));
    let due = asks.then(|| payloads.wrapping_add(numbers));
    judge_client(&mut judged, order, &drove, due);
    judge_wire(&mut judged, order.messages * wire_bytes(entry.cell), outcome);
    // Where it falls among the cuts decides which tenth is the slower one.
    if entry.cell != Cell::Cuts {
        judge_pace(&mut judged, outcome);
    }
    relayed::judge(&mut judged, entry, order, outcome);
    if entry.cell == Cell::Blob {
        blob::judge(&mut judged, order, outcome, &long, &drove);
    }
    if let Cell::Far(far) = entry.cell {
        judge_times(&mut judged, far.trips(order), &drove, outcome.seconds);
    }
    if let Cell::RoundTrip | Cell::Blob = entry.cell.over_tcp() {
        judge_times(&mut judged, order, &drove, outcome.seconds);
    }
    // Long messages may be on their way when the last trip has ended.
    if entry.cell.over_tcp() == Cell::RoundTrip {
        judge_stalls(&mut judged, order, outcome.seconds);
    }
    if let Cell::Paced { .. } = entry.cell {
        paced::judge(&mut judged, order, outcome, &drove);
    }
    Ok(judged)
}

/// Judges the counts of the client: of its messages, or of their replies, whose sum is `due` then.
pub(super) fn judge_client(
    judged: &mut Judgement,
    order: Order,
    drove: &RemoteClientAccount,
    due: Option<u64>,
) {
    let asks = due.is_some();
    let claims = if asks { drove.replies } else { drove.sent };
    judged.demand(claims == Some(order.messages), || {
        let what = if asks { "replies" } else { "messages sent" };
        let claims = claims.map_or("no number".to_owned(), |claims| claims.to_string());
        format!("its client tells of {claims} of {what}, where {} were ordered", order.messages)
    });
    if asks {
        let wrong = drove.wrong.unwrap_or(u64::MAX);
        judged.demand(wrong == 0, || "replies did not fit their requests".to_owned());
        judged.demand(drove.sum() == due, || {
            "the sum of the replies is not that of the requests".to_owned()
        });
    }
}

/// The bytes that a message has at least.
fn wire_bytes(cell: Cell) -> u64 {
    match cell {
        Cell::Shape { shape, .. } => shape.wire_bytes(),
        _ => PAYLOAD_BYTES,
    }
}

/// The payloads are random and only the client knew them: they cannot have come in fewer bytes.
pub(super) fn judge_wire(judged: &mut Judgement, payloads: u64, outcome: &Outcome) {
    // Through a relay they cross the same device twice.
    let times = if outcome.relay.is_some() { 2 } else { 1 };
    let least = payloads * times;
    match &outcome.wire {
        Some(Ok(wire)) => judged.demand(wire.bytes() >= least, || {
            let bytes = wire.bytes();
            format!("{bytes} bytes went over the wire, where what they carry has {least}")
        }),
        Some(Err(why)) => judged.flags.push(format!("the wire was not counted: {why}")),
        None => {}
    }
}

/// A rate that falls while the clock runs is remarked on.
pub(super) fn judge_pace(judged: &mut Judgement, outcome: &Outcome) {
    if let Some(Ok(wire)) = &outcome.wire
        && let Some(ratio) = wire.last_tenth_to_first()
        && ratio < TIRED
    {
        let percent = 100.0 * ratio;
        let said =
            format!("it tires: the last tenth went at {percent:.0} % of the first one's rate");
        judged.flags.push(said);
    }
}

/// The times are the client's own. They cannot add up to more than the clock saw.
pub(super) fn judge_times(
    judged: &mut Judgement,
    order: Order,
    drove: &RemoteClientAccount,
    seconds: f64,
) {
    let Some(times) = drove.rtt_us.clone() else {
        judged.void.push("its client gave no times".to_owned());
        return;
    };
    judged.times = Some(times.clone());
    let mean = seconds * 1e6 / order.messages.max(1) as f64;
    // Half of the trips took p50 or longer.
    judged.demand(times.p50 > 0.0 && times.p50 / 2.0 <= mean * 1.05, || {
        format!("a median of {:.1} µs cannot be, for the mean is {mean:.1}", times.p50)
    });
    round_trips::judge(judged, &times);
}

/// A median far below the mean means that a few stalls took most of the time.
pub(super) fn judge_stalls(judged: &mut Judgement, order: Order, seconds: f64) {
    let mean = seconds * 1e6 / order.messages.max(1) as f64;
    if let Some(times) = &judged.times
        && times.p50 * 5.0 < mean
    {
        judged.flags.push(format!(
            "the median is {:.1} µs and the mean {mean:.1}: a few stalls took most of the time",
            times.p50
        ));
    }
}

/// Sequences of numbered messages, each with payloads of its own.
fn streams(cell: Cell) -> u32 {
    match cell {
        Cell::Spread { many, .. } | Cell::Callers { callers: many, .. } => many,
        _ => 1,
    }
}

fn asks(cell: Cell) -> bool {
    !matches!(
        cell.over_tcp(),
        Cell::Tell
            | Cell::Thread
            | Cell::Naive
            | Cell::Unkept
            | Cell::MessagePack
            | Cell::Spread { .. }
            | Cell::Shape { .. }
            | Cell::Relayed { asks: false, .. }
            | Cell::Cuts
    )
}

#[cfg(test)]
mod tests;
