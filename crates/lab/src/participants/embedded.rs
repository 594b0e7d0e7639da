//! Participants that lie within the lab's own program and obey the same contract as any other: the
//! limit, wigwag itself, and those that must be found out.

use crate::contract::role::{
    COUNTER_CELLS, COUNTER_CELLS_AT_LEAST, Payload, REMOTE_CELLS, REMOTE_CELLS_AT_LEAST, Role,
    SP_CELLS, TRANSPORT_NAMES, TRANSPORTS_AT_LEAST,
};

/// A participant within the lab's own program.
#[derive(Clone, Copy, Debug)]
pub struct Embedded {
    /// The name in the tables.
    pub name: &'static str,
    /// Whether the participant is known to be bad and must be void or flagged.
    pub known_bad: bool,
    /// Its roles.
    pub roles: &'static [Role],
    /// The payloads that it sends and answers in pingpong.
    pub payload: Payload,
    /// Cells of remote that it can be ordered to do.
    pub cells: &'static [&'static str],
    /// Cells of counter that it can be ordered to do.
    pub inside: &'static [&'static str],
    /// Cells of sp that it can be ordered to do.
    pub sp: &'static [&'static str],
    /// Transports of its sockets of sp.
    pub transports: &'static [&'static str],
    /// Whether its sessions outlive their connections.
    pub resumes: bool,
    /// The reasons why it does not run the other cells, by cell.
    pub lacks: &'static [(&'static str, &'static str)],
    /// Lines of its programs.
    pub source_lines: Option<u64>,
}

const COUNTER: &[Role] = &[Role::Counter];
const COUNTER_REMOTE_AND_SP: &[Role] =
    &[Role::Counter, Role::RemoteServer, Role::RemoteClient, Role::SpServer, Role::SpClient];
/// All but those of sp at a rate that is ordered, which has no limit.
const RAW: &[Role] = &[
    Role::PingpongServer,
    Role::PingpongClient,
    Role::Counter,
    Role::RemoteServer,
    Role::RemoteClient,
    Role::HttpServer,
    Role::HttpClient,
    Role::SpServer,
    Role::SpClient,
    Role::SpInproc,
];
const WIGWAG: &[Role] = &[
    Role::PingpongServer,
    Role::PingpongClient,
    Role::Counter,
    Role::HttpServer,
    Role::RemoteServer,
    Role::RemoteClient,
    Role::SpServer,
    Role::SpClient,
    Role::SpInproc,
    Role::SpSender,
    Role::SpReceiver,
];
const FAN_OUT: &[Role] = &[Role::SpSender, Role::SpReceiver];
const REMOTE: &[Role] = &[Role::RemoteServer, Role::RemoteClient];
const COUNTER_AND_SERVER: &[Role] = &[Role::Counter, Role::PingpongServer];
const SERVER: &[Role] = &[Role::PingpongServer];
const CLIENT: &[Role] = &[Role::PingpongClient];
const HTTP_SERVER: &[Role] = &[Role::HttpServer];
const HTTP_CLIENT: &[Role] = &[Role::HttpClient];

/// Lines of the limit's server; the lab's own client is mostly checks, which no limit needs.
const HTTP_RAW_LINES: u64 =
    lines(include_str!("http/raw.rs")) + lines(include_str!("http/date.rs"));

/// All participants but those of http alone.
pub const ALL: [Embedded; 49] = [
    Embedded {
        name: "raw",
        known_bad: false,
        roles: RAW,
        payload: Payload::Both,
        // It keeps nothing, knows no codec and no tasks: the limit of such cells is that of the
        // cells without.
        cells: &[
            "tell",
            "unkept",
            "messagepack",
            "thread",
            "naive",
            "ask",
            "rtt",
            "naive-ask",
            "paced",
            "callers",
            "callers-each",
            "actors",
            "actors-random",
            "u64",
            "u64-task",
            "u64-thread",
            "methods",
            "text",
            "stream",
            "upload",
            "struct",
            "vec",
            "bytes",
            "blob",
            "callback",
        ],
        inside: &["count", "slow", "ask", "bounce", "actors"],
        sp: &["req", "push", "many", "pair", "threads", "connections", "thousand-connections"],
        transports: &TRANSPORT_NAMES,
        resumes: false,
        lacks: &[
            ("ring", "a ring has no limit but the hand-over, which is the one of bounce"),
            ("spawn", "what a million actors cost at least nobody knows: there is no limit"),
        ],
        source_lines: Some(
            lines(include_str!("raw/counter.rs"))
                + lines(include_str!("raw/inside.rs"))
                + lines(include_str!("raw/remote.rs"))
                + lines(include_str!("raw/replies.rs"))
                + lines(include_str!("raw/callers.rs"))
                + lines(include_str!("raw/shapes.rs"))
                + lines(include_str!("raw/actors.rs"))
                + lines(include_str!("raw/blob.rs"))
                + lines(include_str!("raw/paced.rs"))
                + lines(include_str!("raw/sp.rs"))
                + lines(include_str!("raw/sp/inproc.rs"))
                + lines(include_str!("raw/sp/frames.rs"))
                + lines(include_str!("raw/stream/mod.rs"))
                + lines(include_str!("raw/stream/shm.rs"))
                + lines(include_str!("raw/stream/tls.rs"))
                + lines(include_str!("raw/stream/ws.rs"))
                + lines(include_str!("raw/pingpong.rs"))
                + lines(include_str!("raw/pingpong_client.rs"))
                + HTTP_RAW_LINES,
        ),
    },
    Embedded {
        name: "wigwag",
        known_bad: false,
        roles: WIGWAG,
        payload: Payload::Tokens,
        cells: &REMOTE_CELLS,
        inside: &COUNTER_CELLS,
        sp: &SP_CELLS,
        transports: &TRANSPORT_NAMES,
        resumes: true,
        lacks: &[],
        source_lines: Some(
            lines(include_str!("wigwag/pingpong.rs"))
                + lines(include_str!("wigwag/counter.rs"))
                + lines(include_str!("http/wigwag.rs"))
                + lines(include_str!("wigwag/slow.rs"))
                + lines(include_str!("wigwag/inside.rs"))
                + lines(include_str!("wigwag/remote.rs"))
                + lines(include_str!("wigwag/clerk.rs"))
                + lines(include_str!("wigwag/spread.rs"))
                + lines(include_str!("wigwag/callers.rs"))
                + lines(include_str!("wigwag/shapes.rs"))
                + lines(include_str!("wigwag/remote/callback.rs"))
                + lines(include_str!("wigwag/remote/blob.rs"))
                + lines(include_str!("wigwag/remote/far.rs"))
                + lines(include_str!("wigwag/paced.rs"))
                + lines(include_str!("wigwag/overload.rs"))
                + lines(include_str!("wigwag/sp.rs"))
                + lines(include_str!("wigwag/sp/transport.rs"))
                + lines(include_str!("wigwag/sp/fan_out.rs")),
        ),
    },
    broken("broken-drop", COUNTER_REMOTE_AND_SP),
    broken("broken-double", COUNTER_REMOTE_AND_SP),
    broken("broken-mask", COUNTER_REMOTE_AND_SP),
    broken("broken-wrong", COUNTER_REMOTE_AND_SP),
    broken("broken-reorder", COUNTER_REMOTE_AND_SP),
    broken("broken-claim", COUNTER),
    broken("broken-unread", REMOTE),
    broken("broken-seed", REMOTE),
    Embedded { cells: &["paced"], ..broken("broken-due", REMOTE) },
    fan_out("broken-pub-drop", &["pub"]),
    fan_out("broken-pub-double", &["pub"]),
    fan_out("broken-pub-wrong", &["pub"]),
    fan_out("broken-pub-reorder", &["pub"]),
    fan_out("broken-pub-date", &["pub"]),
    fan_out("broken-pub-block", &["pub-slow"]),
    fan_out("broken-pub-hoard", &["pub-slow"]),
    fan_out("broken-pub-once", &["pub-dying"]),
    fan_out("broken-balance-block", &["balance-slow"]),
    broken("broken-mute", COUNTER),
    broken("broken-rubbish", COUNTER),
    broken("broken-crash", COUNTER),
    broken("broken-hang", COUNTER),
    broken("broken-fork", COUNTER),
    broken("broken-early", COUNTER),
    broken("broken-leak", COUNTER),
    broken("broken-hide", COUNTER),
    broken("broken-restart", COUNTER_AND_SERVER),
    Embedded { inside: &["slow"], ..broken("broken-hoard", COUNTER) },
    Embedded { inside: &["ask"], ..broken("broken-guess", COUNTER) },
    Embedded { inside: &["ring"], ..broken("broken-skip", COUNTER) },
    Embedded { inside: &["spawn"], ..broken("broken-shared", COUNTER) },
    broken("broken-one-byte", SERVER),
    broken("broken-eager", SERVER),
    broken("broken-reply", SERVER),
    broken("broken-deaf", SERVER),
    broken("broken-silent", SERVER),
    broken("broken-twice", SERVER),
    broken("broken-cache", SERVER),
    broken("broken-pool", SERVER),
    broken("broken-nagle", SERVER),
    broken("broken-stall", SERVER),
    broken("broken-quarter", CLIENT),
    broken("broken-blind", CLIENT),
    broken("broken-pipeline", CLIENT),
    broken("broken-few", CLIENT),
    broken("broken-half", CLIENT),
    broken("broken-nibble", CLIENT),
];

/// The participants of http alone.
const HTTP: [Embedded; 20] = [
    Embedded {
        name: "reference",
        known_bad: false,
        roles: HTTP_SERVER,
        payload: Payload::Tokens,
        cells: &[],
        inside: &[],
        sp: &[],
        transports: &[],
        resumes: false,
        lacks: &[],
        source_lines: Some(
            lines(include_str!("http/server.rs"))
                + lines(include_str!("http/server/request.rs"))
                + lines(include_str!("http/date.rs")),
        ),
    },
    broken("broken-quotes", HTTP_SERVER),
    broken("broken-type", HTTP_SERVER),
    broken("broken-length", HTTP_SERVER),
    broken("broken-longer", HTTP_SERVER),
    broken("broken-digit", HTTP_SERVER),
    broken("broken-path", HTTP_SERVER),
    broken("broken-sloppy", HTTP_SERVER),
    broken("broken-hasty", HTTP_SERVER),
    broken("broken-stale", HTTP_SERVER),
    broken("broken-frozen", HTTP_SERVER),
    broken("broken-canned", HTTP_SERVER),
    broken("broken-busy", HTTP_SERVER),
    broken("broken-close", HTTP_SERVER),
    broken("broken-open", HTTP_SERVER),
    broken("broken-forget", HTTP_SERVER),
    broken("broken-halves", HTTP_SERVER),
    broken("broken-swap", HTTP_SERVER),
    broken("broken-ahead", HTTP_CLIENT),
    broken("broken-boast", HTTP_CLIENT),
];

/// All embedded participants.
pub fn all() -> impl Iterator<Item = Embedded> {
    ALL.into_iter().chain(HTTP)
}

const fn broken(name: &'static str, roles: &'static [Role]) -> Embedded {
    Embedded {
        name,
        known_bad: true,
        roles,
        payload: Payload::Tokens,
        cells: &REMOTE_CELLS_AT_LEAST,
        inside: &COUNTER_CELLS_AT_LEAST,
        sp: &["push"],
        transports: &TRANSPORTS_AT_LEAST,
        resumes: false,
        lacks: &[],
        source_lines: None,
    }
}

const fn fan_out(name: &'static str, sp: &'static [&'static str]) -> Embedded {
    Embedded { sp, ..broken(name, FAN_OUT) }
}

/// Lines that hold more than white space.
const fn lines(text: &str) -> u64 {
    let (bytes, mut at, mut count, mut blank) = (text.as_bytes(), 0, 0, true);
    while at < bytes.len() {
        if bytes[at] == b'\n' {
            count += !blank as u64;
            blank = true;
        } else if !bytes[at].is_ascii_whitespace() {
            blank = false;
        }
        at += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_white_space_do_not_count() {
        assert_eq!(lines("a\n\n  \n b\n"), 2);
    }
}
