//! Who takes part in http alone: the lab's own server as a participant, and those that must be
//! found out.

use super::orders::Orders;
use super::{Embedded, broken, broken_http, http_client, http_server, lines, raw_http};
use crate::bench::embedded::Failure;
use crate::bench::participant::{Payload, Role};

const SERVER: &[Role] = &[Role::HttpServer];
const CLIENT: &[Role] = &[Role::HttpClient];

/// Lines of the limit's server; the lab's own client is mostly checks, which no limit needs.
pub(super) const RAW_LINES: u64 =
    lines(include_str!("raw_http.rs")) + lines(include_str!("http_date.rs"));

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
            lines(include_str!("http_server.rs"))
                + lines(include_str!("http_server/request.rs"))
                + lines(include_str!("http_date.rs")),
        ),
    },
    broken("broken-quotes", SERVER),
    broken("broken-type", SERVER),
    broken("broken-length", SERVER),
    broken("broken-longer", SERVER),
    broken("broken-digit", SERVER),
    broken("broken-path", SERVER),
    broken("broken-sloppy", SERVER),
    broken("broken-hasty", SERVER),
    broken("broken-stale", SERVER),
    broken("broken-frozen", SERVER),
    broken("broken-canned", SERVER),
    broken("broken-busy", SERVER),
    broken("broken-close", SERVER),
    broken("broken-open", SERVER),
    broken("broken-forget", SERVER),
    broken("broken-halves", SERVER),
    broken("broken-ahead", CLIENT),
    broken("broken-boast", CLIENT),
];

pub(super) fn play(name: &str, role: Role, orders: &Orders) -> Result<(), Failure> {
    match (name, role) {
        ("raw", Role::HttpServer) => raw_http::serve(),
        ("raw", _) => http_client::drive(orders),
        ("reference", _) => http_server::serve(orders),
        (_, Role::HttpServer) => broken_http::serve(name),
        (_, _) => broken_http::drive(name, orders),
    }
}
