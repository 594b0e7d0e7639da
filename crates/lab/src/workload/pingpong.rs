//! Many connections, a token each way. The lab's own client and server stand on the other side of
//! each participant before two participants meet.
//!
//! A verdict is made of what the lab's own side saw: replies that do not fit, bytes that nobody
//! asked for, connections that were reset with replies unread, more than one request open, fewer
//! connections at work than were ordered. A fault that a participant reports of itself counts as
//! well.

use serde::Deserialize;

use crate::contract::role::Role;
use crate::figures::digest::Verified;
use crate::results::reasons::INNOCENT;
use crate::trial::{MEMORY_MAX, Outcome, ProgramSpec, TrialPrograms};
use crate::workload::account::{RoundTripTimes, SenderCounts, verify_unordered};
use crate::workload::entry::{launch, parse_account};
use crate::workload::{Cell, Entry, Judgement, Order, round_trips};

/// Connections, all open and at work together.
pub const CONNECTIONS: u64 = 100;
/// Bytes of a request and of a reply.
const TOKEN: u64 = 4;
/// Every request where payloads are fixed.
const PING: [u8; TOKEN as usize] = *b"Ping";
/// A counterpart that takes this share of a processor is what limits the rate.
const BUSY: f64 = 0.9;

/// The account of any client, and the fields that only the lab's own has.
#[derive(Deserialize)]
struct PingpongClientAccount {
    replies: u64,
    wrong: u64,
    /// Its own count of what it read, if it keeps one.
    bytes_read: Option<u64>,
    bytes_sent: Option<u64>,
    /// Bytes that came beyond the replies that were due.
    #[serde(default)]
    surplus: u64,
    /// Replies that were there before their request was sent.
    #[serde(default)]
    early: u64,
    /// Connections that ended early.
    #[serde(default)]
    broken: u64,
    /// Connections on which a request had no reply.
    #[serde(default)]
    unanswered: u64,
    /// Connections that the server did not close after the client had.
    #[serde(default)]
    unclosed: u64,
    /// Bytes that came after a connection's last reply.
    #[serde(default)]
    after_end: u64,
    /// Connections that had a reply when the first one was through with half of its work.
    at_work: Option<u64>,
    rtt_us: Option<RoundTripTimes>,
}

/// The account of any server.
#[derive(Deserialize)]
struct PingpongServerAccount {
    requests: u64,
    /// Its own count of what it read, if it keeps one.
    bytes_read: Option<u64>,
}

/// The account of the lab's own server.
#[derive(Deserialize)]
struct PingpongWitnessAccount {
    connections: Vec<SenderCounts>,
    bytes_read: u64,
    bytes_written: u64,
    /// Connections that had sent something when the first one was through with half of its work.
    at_work: u64,
    /// The most requests that a connection had open.
    outstanding: u64,
    /// Connections that ended with a reset: replies lay unread.
    resets: u64,
}

pub(super) fn programs(entry: &Entry<'_>, order: Order) -> Option<TrialPrograms> {
    let ours = |role: Role, stops_clock| {
        let mut command = std::process::Command::new(entry.program);
        command.args(["lab-participant", "raw", role.name()]);
        let title = format!("the lab's own {}", role.name());
        ProgramSpec {
            title,
            side: role.side(),
            command,
            orders: Vec::new(),
            measured: false,
            stops_clock,
            accounts: 1,
            memory_max: MEMORY_MAX,
        }
    };
    let mut server = match entry.cell {
        Cell::Client => ours(Role::PingpongServer, false),
        _ => entry.launch(Role::PingpongServer, false)?,
    };
    let mut worker = match entry.cell {
        Cell::Server => ours(Role::PingpongClient, true),
        _ => launch(entry.partner.unwrap_or(entry.participant), Role::PingpongClient, true)?,
    };
    let mut common = vec![
        ("CONNECTIONS", CONNECTIONS.to_string()),
        ("MESSAGES", (order.messages / CONNECTIONS).to_string()),
    ];
    if entry.is_fixed() {
        common.push(("PAYLOAD", "fixed".to_owned()));
    }
    server.orders = common.clone();
    server.orders.push(("PORT", "0".to_owned()));
    worker.orders = common;
    worker.orders.push(("ANSWER_MS", order.answer_max.as_millis().to_string()));
    worker.orders.push(("SEED", order.seed.to_string()));
    Some(TrialPrograms { server: Some(server), ..TrialPrograms::of(worker) })
}

pub(super) fn judge(
    entry: &Entry<'_>,
    order: Order,
    outcome: &Outcome,
) -> Result<Judgement, String> {
    let client: PingpongClientAccount = parse_account("client", &outcome.worker)?;
    let mut judged = if entry.cell == Cell::Client {
        let witness = parse_account("witness", &outcome.server)?;
        let mut judged = witnessed_by_server(entry, order, &witness);
        judge_claims(&mut judged, order, &client);
        judged
    } else {
        let server: PingpongServerAccount = parse_account("server", &outcome.server)?;
        let mut judged = witnessed_by_client(order, &client);
        judged.demand(server.requests == order.messages, || {
            format!("its server counts {} requests of {}", server.requests, order.messages)
        });
        let sent = client.bytes_sent.unwrap_or(order.messages * TOKEN);
        judge_bytes(&mut judged, "server", server.bytes_read, sent);
        // Among pairs the server may be the lab's own, which knows more than others tell.
        if let Ok(witness) = parse_account::<PingpongWitnessAccount>("witness", &outcome.server) {
            let seen = witnessed_by_server(entry, order, &witness);
            judged.void.extend(seen.void);
            judged.flags.extend(seen.flags);
        }
        judged
    };
    if entry.cell != Cell::Server {
        judge_bytes(&mut judged, "client", client.bytes_read, order.messages * TOKEN);
    }
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

/// Judges the claims of a participant's client, which prove nothing for it.
fn judge_claims(judged: &mut Judgement, order: Order, client: &PingpongClientAccount) {
    judged.demand(client.replies == order.messages && client.wrong == 0, || {
        format!(
            "its client tells of {} replies, {} of them wrong, where {} were ordered",
            client.replies, client.wrong, order.messages
        )
    });
}

/// Bytes that were sent to a program and that it did not read, by its own count.
fn judge_bytes(judged: &mut Judgement, whose: &str, read: Option<u64>, sent: u64) {
    let Some(read) = read else {
        return;
    };
    judged.demand(read >= sent, || {
        let share = 100.0 * read as f64 / sent.max(1) as f64;
        format!(
            "its {whose} read {read} bytes of {sent} that were due to it, {share:.1} %, by its own \
             count"
        )
    });
}

fn witnessed_by_client(order: Order, client: &PingpongClientAccount) -> Judgement {
    let right = client.replies.saturating_sub(client.wrong);
    let verified = Verified {
        sent: order.messages,
        received: client.replies,
        lost: order.messages.saturating_sub(client.replies),
        duplicated: client.replies.saturating_sub(order.messages),
        reordered: 0,
        corrupt: client.wrong,
    };
    let mut judged = Judgement { verified, ..Judgement::default() };
    judged.demand(right == order.messages, || {
        format!("{} replies of {}, {} of them wrong", client.replies, order.messages, client.wrong)
    });
    judged.demand(client.surplus == 0, || {
        format!("{} bytes came that nobody had asked for", client.surplus)
    });
    judged.demand(client.early == 0, || {
        format!("{} replies were there before their request was sent", client.early)
    });
    judged.demand(client.broken == 0, || {
        format!("{} connections ended before their work was done", client.broken)
    });
    judged.demand(client.unanswered == 0, || {
        format!("{} connections had a request that was never answered", client.unanswered)
    });
    if client.unclosed > 0 {
        judged.flags.push(format!(
            "{} connections stayed open at the server after the client had closed them",
            client.unclosed
        ));
    }
    if client.after_end > 0 {
        judged.flags.push(format!(
            "{} bytes came after the last reply: it answers the end of a connection",
            client.after_end
        ));
    }
    if let Some(at_work) = client.at_work {
        judge_at_work(&mut judged, at_work);
    }
    if let Some(times) = client.rtt_us.clone().filter(|_| judged.void.is_empty()) {
        round_trips::judge(&mut judged, &times);
        judged.times = Some(times);
    }
    judged
}

fn witnessed_by_server(
    entry: &Entry<'_>,
    order: Order,
    witness: &PingpongWitnessAccount,
) -> Judgement {
    let each = order.messages / CONNECTIONS;
    let expected: Vec<SenderCounts> = (0..CONNECTIONS as u32)
        .map(|connection| match entry.is_fixed() {
            true => {
                let sum = each.wrapping_mul(u32::from_le_bytes(PING).into());
                SenderCounts { count: each, sum, reordered: 0 }
            }
            false => SenderCounts::expected(order.seed, connection, each),
        })
        .collect();
    let mut judged = Judgement::of(verify_unordered(expected, witness.connections.clone()), false);
    let opened = witness.connections.len() as u64;
    judged.demand(opened == CONNECTIONS, || {
        format!("it opened {opened} connections of {CONNECTIONS}")
    });
    judged.demand(witness.outstanding <= 1, || {
        format!("it had {} requests in flight on a connection", witness.outstanding)
    });
    judged.demand(witness.resets == 0, || {
        format!(
            "{} connections were reset with replies unread; it sent {} bytes and was sent {}",
            witness.resets, witness.bytes_read, witness.bytes_written
        )
    });
    judge_at_work(&mut judged, witness.at_work);
    judged
}

/// All connections are to be at work together; two after two is another, easier thing.
fn judge_at_work(judged: &mut Judgement, at_work: u64) {
    if at_work < CONNECTIONS && judged.void.is_empty() {
        judged.flags.push(format!(
            "{at_work} of {CONNECTIONS} connections were at work when the first was half done"
        ));
    }
}

#[cfg(test)]
mod tests;
