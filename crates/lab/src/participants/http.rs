//! Who takes part in http alone: the lab's own server as a participant, and those that must be
//! found out.

pub(super) mod date;
pub(super) mod raw;
pub(super) mod broken;
pub(super) mod server;
pub(super) mod client;

use super::embedded::{Embedded, broken as bad, lines};
use crate::contract::Failure;
use crate::contract::Orders;
use crate::participants::{Payload, Role};

const SERVER: &[Role] = &[Role::HttpServer];
const CLIENT: &[Role] = &[Role::HttpClient];

/// Lines of the limit's server; the lab's own client is mostly checks, which no limit needs.
pub(super) const RAW_LINES: u64 =
    lines(include_str!("http/raw.rs")) + lines(include_str!("http/date.rs"));

/// Everybody who is not in other workloads too.
pub(super) const ALL: [Embedded; 19] = [
    Embedded {
        name: "reference",
        known_bad: false,
        roles: SERVER,
        payload: Payload::Tokens,
        cells: &[],
        inside: &[],
        resumes: false,
        lacks: &[],
        source_lines: Some(
            lines(include_str!("http/server.rs"))
                + lines(include_str!("http/server/request.rs"))
                + lines(include_str!("http/date.rs")),
        ),
    },
    bad("broken-quotes", SERVER),
    bad("broken-type", SERVER),
    bad("broken-length", SERVER),
    bad("broken-longer", SERVER),
    bad("broken-digit", SERVER),
    bad("broken-path", SERVER),
    bad("broken-sloppy", SERVER),
    bad("broken-hasty", SERVER),
    bad("broken-stale", SERVER),
    bad("broken-frozen", SERVER),
    bad("broken-canned", SERVER),
    bad("broken-busy", SERVER),
    bad("broken-close", SERVER),
    bad("broken-open", SERVER),
    bad("broken-forget", SERVER),
    bad("broken-halves", SERVER),
    bad("broken-ahead", CLIENT),
    bad("broken-boast", CLIENT),
];

pub(super) fn play(name: &str, role: Role, orders: &Orders) -> Result<(), Failure> {
    match (name, role) {
        ("raw", Role::HttpServer) => raw::serve(),
        ("raw", _) => client::drive(orders),
        ("reference", _) => server::serve(orders),
        (_, Role::HttpServer) => broken::serve(name),
        (_, _) => broken::drive(name, orders),
    }
}
