//! One small document over HTTP/1.1, kept-alive connections, one request in flight on each. The
//! lab's own client stands opposite every server, and its own server opposite every client.

use serde::Deserialize;

use crate::contract::role::Role;
use crate::figures::digest::Verified;
use crate::results::reasons::INNOCENT;
use crate::trial::{MEMORY_MAX, Outcome, ProgramSpec, TrialPrograms};
use crate::workload::account::{RoundTripTimes, SenderCounts, verify_unordered};
use crate::workload::entry::parse_account;
use crate::workload::{Cell, Entry, Judgement, Order};

/// Connections, all open and at work together.
pub const CONNECTIONS: u64 = 100;
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
    rtt_us: RoundTripTimes,
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

pub(super) fn programs(entry: &Entry<'_>, order: Order) -> Option<TrialPrograms> {
    let ours = |name: &str, role: Role, accounts| {
        let mut command = std::process::Command::new(entry.program);
        command.args(["lab-participant", name, role.name()]);
        let title = format!("the lab's own {}", role.name());
        let orders = Vec::new();
        let stops_clock = role == Role::HttpClient;
        ProgramSpec {
            title,
            side: role.side(),
            command,
            orders,
            measured: false,
            stops_clock,
            accounts,
            memory_max: MEMORY_MAX,
        }
    };
    let (mut server, mut worker) = match entry.cell {
        Cell::HttpClient => {
            let mut server = ours("reference", Role::HttpServer, 1);
            server.orders.push(("CELL", "client".to_owned()));
            (server, entry.launch(Role::HttpClient, true)?)
        }
        _ => {
            // A server of HTTP is none that counts for us: the client sees all that matters.
            let server = ProgramSpec { accounts: 0, ..entry.launch(Role::HttpServer, false)? };
            let mut worker = ours("raw", Role::HttpClient, 2);
            worker.orders.push(("CELL", "server".to_owned()));
            // The first trial of a series takes the time in which a Date grows old.
            worker.orders.push(("ANSWER_MS", order.answer_max.as_millis().to_string()));
            worker.orders.push(("LINGER", u8::from(order.is_first).to_string()));
            (server, worker)
        }
    };
    let common = [
        ("CONNECTIONS", CONNECTIONS.to_string()),
        ("MESSAGES", (order.messages / CONNECTIONS).to_string()),
    ];
    server.orders.extend(common.clone());
    server.orders.push(("PORT", "0".to_owned()));
    worker.orders.extend(common);
    worker.orders.push(("SEED", order.seed.to_string()));
    Some(TrialPrograms { server: Some(server), ..TrialPrograms::of(worker) })
}

pub(super) fn judge(
    entry: &Entry<'_>,
    order: Order,
    outcome: &Outcome,
) -> Result<Judgement, String> {
    let mut judged = match entry.cell {
        Cell::HttpClient => {
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
        _ => of_server(
            order,
            parse_account("witness", &outcome.worker)?,
            parse_account("witness", &outcome.afterword)?,
        ),
    };
    let busy = outcome.witness_cpu_seconds / outcome.seconds.max(1e-9);
    if busy >= BUSY {
        judged.flags.push(format!(
            "{}: the lab's own side took {:.0} % of a processor",
            INNOCENT[1],
            busy * 100.0
        ));
    }
    Ok(judged)
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
    let times = Some(witness.rtt_us);
    let mut judged = Judgement { verified, times, ..Judgement::default() };
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
