//! One small document over HTTP/1.1, kept-alive connections, one request in flight on each or many.
//! The lab's own client stands opposite every server, and its own server opposite every client.

pub mod cell;

use serde::Deserialize;

use crate::contract::role::Role;
use crate::figures::digest::Verified;
use crate::results::reasons::INNOCENT;
use crate::trial::{MEMORY_MAX, Outcome, ProgramSpec, TrialPrograms};
use crate::workload::account::latency::LatencyHistogram;
use crate::workload::account::{LatencyBins, RoundTripTimes, SenderCounts, verify_unordered};
use crate::workload::entry::parse_account;
use crate::workload::{Cell, Entry, Judgement, Order, paced};
use cell::{CONNECTIONS, HttpCell, Pace, SERVER};

/// A counterpart that takes this share of a processor is what limits the rate.
const BUSY: f64 = 0.9;
/// A round trip on a connection that is alone, and that takes so long, waits for a delayed
/// acknowledgement, as a rule.
const NAGLE_US: std::ops::Range<f64> = 35_000.0..48_000.0;

/// A fault that the lab's own client saw.
#[derive(Deserialize)]
struct CountedFault {
    what: String,
    saw: String,
    count: u64,
}

/// The last account of the lab's own client.
#[derive(Deserialize)]
struct HttpWitnessAccount {
    replies: u64,
    wrong: u64,
    faults: Vec<CountedFault>,
    /// Answers with the document, and the bytes of all their heads.
    documents: u64,
    head_bytes: u64,
    /// Where one request is in flight on each connection.
    rtt_us: Option<RoundTripTimes>,
    /// Where requests were sent at their time; `late` of them were not.
    latency_us: Option<LatencyBins>,
    #[serde(default)]
    late: u64,
}

/// And what it says when it has looked again, without the clock.
#[derive(Deserialize)]
struct Afterwards {
    faults: Vec<CountedFault>,
    /// The median of a connection that is alone.
    alone_us: Option<f64>,
}

/// The account of any client.
#[derive(Deserialize)]
struct HttpClientAccount {
    replies: u64,
    wrong: u64,
}

/// The account of the lab's own server.
#[derive(Deserialize)]
struct HttpServed {
    connections: Vec<SenderCounts>,
    /// Requests that were none, or not for the document.
    refused: u64,
    at_work: u64,
    outstanding: u64,
    resets: u64,
}

/// A program of the lab's own.
fn ours(entry: &Entry<'_>, name: &str, role: Role, accounts: usize) -> ProgramSpec {
    let mut command = std::process::Command::new(entry.program);
    command.args(["lab-participant", name, role.name()]);
    ProgramSpec {
        title: format!("the lab's own {}", role.name()),
        side: role.side(),
        command,
        orders: Vec::new(),
        measured: false,
        stops_clock: role == Role::HttpClient,
        accounts,
        memory_max: MEMORY_MAX,
    }
}

/// The orders of the lab's own client for the cell.
fn client_orders(cell: HttpCell, order: Order) -> Vec<(&'static str, String)> {
    let is_paced = cell.is_paced();
    let messages = if is_paced { order.messages } else { order.messages / cell.connections };
    vec![
        ("CELL", if is_paced { "paced" } else { "server" }.to_owned()),
        // For each connection, or in all where it does not matter which one is free.
        ("MESSAGES", messages.to_string()),
        ("WINDOW", cell.depth.to_string()),
        ("RATE", order.rate.to_string()),
        ("WARM_MS", order.warm_up.as_millis().to_string()),
        ("ANSWER_MS", order.answer_max.as_millis().to_string()),
        // The first trial of the plain cell takes the time in which a Date grows old.
        ("LINGER", u8::from(order.is_first && cell == SERVER).to_string()),
    ]
}

pub(super) fn programs(entry: &Entry<'_>, order: Order) -> Option<TrialPrograms> {
    let connections = match entry.cell {
        Cell::HttpServer(cell) => cell.connections,
        _ => CONNECTIONS,
    };
    let common = [
        ("CONNECTIONS", connections.to_string()),
        ("MESSAGES", (order.messages / connections).to_string()),
    ];
    let (mut server, mut worker) = match entry.cell {
        Cell::HttpServer(cell) => {
            // A server of HTTP is none that counts for us: the client sees all that matters.
            let server = ProgramSpec { accounts: 0, ..entry.launch(Role::HttpServer, false)? };
            let mut worker = ours(entry, "raw", Role::HttpClient, 2);
            worker.orders.extend(common.clone());
            worker.orders.extend(client_orders(cell, order));
            (server, worker)
        }
        _ => {
            let mut server = ours(entry, "reference", Role::HttpServer, 1);
            server.orders.push(("CELL", "client".to_owned()));
            let mut worker = entry.launch(Role::HttpClient, true)?;
            worker.orders.extend(common.clone());
            (server, worker)
        }
    };
    server.orders.extend(common);
    server.orders.push(("PORT", "0".to_owned()));
    worker.orders.push(("SEED", order.seed.to_string()));
    Some(TrialPrograms { server: Some(server), ..TrialPrograms::of(worker) })
}

pub(super) fn judge(
    entry: &Entry<'_>,
    order: Order,
    outcome: &Outcome,
) -> Result<Judgement, String> {
    let mut judged = match entry.cell {
        Cell::HttpServer(cell) => {
            let mut witness: HttpWitnessAccount = parse_account("witness", &outcome.worker)?;
            let afterwards = parse_account("witness", &outcome.afterword)?;
            let latency = witness.latency_us.take();
            let late = witness.late;
            let mut judged = of_server(order, witness, afterwards);
            if cell.is_paced() {
                judge_pace(&mut judged, order, outcome, late, latency.unwrap_or_default());
            }
            judged
        }
        _ => {
            let mut judged = of_client(order, &parse_account("witness", &outcome.server)?);
            let client: HttpClientAccount = parse_account("client", &outcome.worker)?;
            judged.demand(client.replies == order.messages && client.wrong == 0, || {
                format!(
                    "its client tells of {} replies, {} of them wrong, where {} were ordered",
                    client.replies, client.wrong, order.messages
                )
            });
            judged
        }
    };
    judged.flags.extend(our_limit(entry, order, outcome));
    Ok(judged)
}

/// Whether the lab's own side may have limited the rate: it was busy all the time, or its client
/// needed more for an answer than the server.
fn our_limit(entry: &Entry<'_>, order: Order, outcome: &Outcome) -> Option<String> {
    let (own, theirs) = (outcome.witness_cpu_seconds, outcome.cost.cpu_seconds);
    let is_unpaced = matches!(entry.cell, Cell::HttpServer(cell) if cell.pace == Pace::Unpaced);
    if is_unpaced && own > theirs {
        let million = |seconds: f64| seconds * 1e6 / order.messages.max(1) as f64;
        return Some(format!(
            "{}: a million answers cost the lab's own client {:.1} s of a processor, and the \
             server {:.1} s",
            INNOCENT[3],
            million(own),
            million(theirs)
        ));
    }
    let busy = own / outcome.seconds.max(1e-9);
    (busy >= BUSY).then(|| {
        format!("{}: the lab's own side took {:.0} % of a processor", INNOCENT[1], busy * 100.0)
    })
}

/// Requests of the unusual kinds are not timed, so as many latencies are due as there are.
fn judge_pace(
    judged: &mut Judgement,
    order: Order,
    outcome: &Outcome,
    late: u64,
    latency: LatencyBins,
) {
    let timed = latency.bins.iter().map(|(_, count)| count).sum();
    match LatencyHistogram::read(latency, late.min(timed), timed) {
        Ok(histogram) => paced::judge_latency(judged, order, outcome.seconds, histogram),
        Err(why) => {
            judged.void.push(format!("what the lab's own client tells of latencies: {why}"))
        }
    }
}

fn of_server(order: Order, witness: HttpWitnessAccount, afterwards: Afterwards) -> Judgement {
    let verified = Verified {
        sent: order.messages,
        received: witness.replies,
        lost: order.messages.saturating_sub(witness.replies),
        duplicated: witness.replies.saturating_sub(order.messages),
        reordered: 0,
        corrupt: witness.wrong,
    };
    let header_bytes =
        (witness.documents > 0).then(|| witness.head_bytes as f64 / witness.documents as f64);
    let times = witness.rtt_us;
    let mut judged = Judgement { verified, times, header_bytes, ..Judgement::default() };
    let told =
        |fault: &CountedFault| format!("{} × {}, such as {}", fault.count, fault.what, fault.saw);
    judged.void.extend(witness.faults.iter().map(told));
    let told = |fault: &CountedFault| format!("after the run, {}", told(fault));
    judged.void.extend(afterwards.faults.iter().map(told));
    if let Some(alone) = afterwards.alone_us.filter(|alone| NAGLE_US.contains(alone)) {
        judged.flags.push(format!(
            "a round trip takes {:.0} ms with nobody else about: small writes wait for a delayed \
             acknowledgement",
            alone / 1e3
        ));
    }
    let right = witness.replies.saturating_sub(witness.wrong);
    // Without a fault that explains it this is one by itself.
    let explained = !judged.void.is_empty();
    judged.demand(explained || right == order.messages, || {
        format!(
            "{} answers of {}, {} of them wrong",
            witness.replies, order.messages, witness.wrong
        )
    });
    judged
}

fn of_client(order: Order, witness: &HttpServed) -> Judgement {
    let each = order.messages / CONNECTIONS;
    let expected: Vec<SenderCounts> = (0..CONNECTIONS as u32)
        .map(|connection| SenderCounts::expected(order.seed, connection, each))
        .collect();
    let verified = verify_unordered(expected, witness.connections.clone());
    let mut judged = Judgement::of(verified, false);
    let opened = witness.connections.len() as u64;
    judged.demand(opened == CONNECTIONS, || {
        format!("it asked on {opened} connections, where {CONNECTIONS} were ordered")
    });
    judged.demand(witness.outstanding <= 1, || {
        format!("it had {} requests in flight on a connection", witness.outstanding)
    });
    judged.demand(witness.refused == 0, || {
        format!("{} of its requests were refused or had no token", witness.refused)
    });
    judged.demand(witness.resets == 0, || {
        format!("{} connections were reset with answers unread", witness.resets)
    });
    if witness.at_work < CONNECTIONS && judged.void.is_empty() {
        judged.flags.push(format!(
            "{} of {CONNECTIONS} connections were at work when the first was half done",
            witness.at_work
        ));
    }
    judged
}
