//! Many connections, a token each way. The lab's own client and server stand on the other side of
//! each participant before two participants meet.

use serde::Deserialize;

use crate::bench::account::{Seen, verify_unordered};
use crate::bench::participant::Role;
use crate::bench::series::INNOCENT;
use crate::bench::trial::{Cast, Launch, Outcome};
use crate::bench::workload::{Cell, Entry, Judged, Order, account, launch};
use crate::digest::Verified;

/// Connections, all open and at work together.
pub const CONNECTIONS: u64 = 100;
/// A counterpart that takes this share of a processor is what limits the rate.
const BUSY: f64 = 0.9;

/// What any client says.
#[derive(Deserialize)]
struct Client {
    replies: u64,
    wrong: u64,
    /// The lab's own client says more: bytes that came after the last reply.
    #[serde(default)]
    surplus: u64,
    /// Connections that ended early.
    #[serde(default)]
    broken: u64,
}

/// What any server says.
#[derive(Deserialize)]
struct Server {
    requests: u64,
}

/// What the lab's own server says.
#[derive(Deserialize)]
struct Witnessed {
    connections: Vec<Seen>,
    bytes_read: u64,
    bytes_written: u64,
    /// Connections that had sent something when the first one was through with half of its work.
    at_work: u64,
    /// The most requests that a connection had open.
    outstanding: u64,
    /// Connections that ended with a reset: replies lay unread.
    resets: u64,
}

pub(super) fn cast(entry: &Entry<'_>, order: Order) -> Option<Cast> {
    let ours = |role: Role, stops_clock| {
        let mut command = std::process::Command::new(entry.program);
        command.args(["lab-participant", "raw", role.name()]);
        let title = format!("the lab's own {}", role.name());
        Launch { title, command, orders: Vec::new(), measured: false, stops_clock, accounts: 1 }
    };
    let mut server = match entry.cell {
        Cell::Client => ours(Role::PingpongServer, false),
        _ => entry.launch(Role::PingpongServer, false)?,
    };
    let mut worker = match entry.cell {
        Cell::Server => ours(Role::PingpongClient, true),
        _ => launch(entry.partner.unwrap_or(entry.participant), Role::PingpongClient, true)?,
    };
    let common = vec![
        ("CONNECTIONS", CONNECTIONS.to_string()),
        ("MESSAGES", (order.messages / CONNECTIONS).to_string()),
    ];
    server.orders = common.clone();
    server.orders.push(("PORT", "0".to_owned()));
    worker.orders = common;
    worker.orders.push(("SEED", order.seed.to_string()));
    Some(Cast { server: Some(server), worker })
}

pub(super) fn judge(entry: &Entry<'_>, order: Order, outcome: &Outcome) -> Result<Judged, String> {
    let client: Client = account("client", &outcome.worker)?;
    let mut judged = match entry.cell {
        Cell::Client => witnessed_by_server(order, &account("witness", &outcome.server)?),
        _ => {
            let server: Server = account("server", &outcome.server)?;
            let mut judged = witnessed_by_client(order, &client);
            judged.demand(server.requests == order.messages, || {
                format!("its server counts {} requests of {}", server.requests, order.messages)
            });
            judged
        }
    };
    if entry.cell == Cell::Client {
        judged.demand(client.replies == order.messages && client.wrong == 0, || {
            format!(
                "its client tells of {} replies, {} of them wrong, where {} were ordered",
                client.replies, client.wrong, order.messages
            )
        });
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

fn witnessed_by_client(order: Order, client: &Client) -> Judged {
    let right = client.replies.saturating_sub(client.wrong);
    let verified = Verified {
        sent: order.messages,
        received: client.replies,
        lost: order.messages.saturating_sub(client.replies),
        duplicated: client.replies.saturating_sub(order.messages),
        reordered: 0,
        corrupt: client.wrong,
    };
    let mut judged = Judged { verified, ..Judged::default() };
    judged.demand(right == order.messages, || {
        format!("{} replies of {}, {} of them wrong", client.replies, order.messages, client.wrong)
    });
    judged.demand(client.surplus == 0, || {
        format!("{} bytes came that nobody had asked for", client.surplus)
    });
    judged.demand(client.broken == 0, || {
        format!("{} connections ended before their work was done", client.broken)
    });
    judged
}

fn witnessed_by_server(order: Order, witness: &Witnessed) -> Judged {
    let each = order.messages / CONNECTIONS;
    let expected: Vec<Seen> = (0..CONNECTIONS as u32)
        .map(|connection| Seen::expected(order.seed, connection, each))
        .collect();
    let mut judged = Judged::of(verify_unordered(expected, witness.connections.clone()), false);
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
    if witness.at_work < CONNECTIONS && judged.void.is_empty() {
        judged.flags.push(format!(
            "{} of {CONNECTIONS} connections were at work when the first was half done",
            witness.at_work
        ));
    }
    judged
}
