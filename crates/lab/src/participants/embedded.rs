//! Participants that lie within the lab's own program and obey the same contract as any other: the
//! limit, wigwag itself, and those that must be found out.

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use crate::contract::{Failure, Orders};
use crate::participants::{
    COUNTER_CELLS, COUNTER_CELLS_AT_LEAST, Payload, REMOTE_CELLS, REMOTE_CELLS_AT_LEAST, Role,
};
use crate::participants::{broken as bad, http, raw, relay, wigwag};
use crate::trial::relaying;

/// A participant within the lab's own program.
#[derive(Clone, Copy, Debug)]
pub struct Embedded {
    /// As in the tables.
    pub name: &'static str,
    /// It must come out void or flagged.
    pub known_bad: bool,
    /// What it can do.
    pub roles: &'static [Role],
    /// What it sends and answers in pingpong.
    pub payload: Payload,
    /// What of remote it can be ordered to do.
    pub cells: &'static [&'static str],
    /// What of counter it can be ordered to do.
    pub inside: &'static [&'static str],
    /// Its sessions outlive their connections.
    pub resumes: bool,
    /// Why it does not do the others, by cell.
    pub lacks: &'static [(&'static str, &'static str)],
    /// Lines of its programs.
    pub source_lines: Option<u64>,
}

const COUNTER: &[Role] = &[Role::Counter];
const COUNTER_AND_REMOTE: &[Role] = &[Role::Counter, Role::RemoteServer, Role::RemoteClient];
const REMOTE: &[Role] = &[Role::RemoteServer, Role::RemoteClient];
const COUNTER_AND_SERVER: &[Role] = &[Role::Counter, Role::PingpongServer];
const SERVER: &[Role] = &[Role::PingpongServer];
const CLIENT: &[Role] = &[Role::PingpongClient];

/// Everybody but those of http alone.
pub const ALL: [Embedded; 40] = [
    Embedded {
        name: "raw",
        known_bad: false,
        roles: &crate::participants::ROLES,
        payload: Payload::Both,
        // It keeps nothing, knows no codec and has no tasks: of these three its tell is the limit.
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
        ],
        inside: &["count", "slow", "ask", "bounce"],
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
                + lines(include_str!("raw/paced.rs"))
                + lines(include_str!("raw/pingpong.rs"))
                + lines(include_str!("raw/pingpong_client.rs"))
                + http::RAW_LINES,
        ),
    },
    Embedded {
        name: "wigwag",
        known_bad: false,
        roles: COUNTER_AND_REMOTE,
        payload: Payload::Tokens,
        cells: &REMOTE_CELLS,
        inside: &COUNTER_CELLS,
        resumes: true,
        lacks: &[],
        source_lines: Some(
            lines(include_str!("wigwag/counter.rs"))
                + lines(include_str!("wigwag/slow.rs"))
                + lines(include_str!("wigwag/inside.rs"))
                + lines(include_str!("wigwag/remote.rs"))
                + lines(include_str!("wigwag/spread.rs"))
                + lines(include_str!("wigwag/paced.rs")),
        ),
    },
    broken("broken-drop", COUNTER_AND_REMOTE),
    broken("broken-double", COUNTER_AND_REMOTE),
    broken("broken-mask", COUNTER_AND_REMOTE),
    broken("broken-wrong", COUNTER_AND_REMOTE),
    broken("broken-reorder", COUNTER_AND_REMOTE),
    broken("broken-claim", COUNTER),
    broken("broken-unread", REMOTE),
    broken("broken-seed", REMOTE),
    Embedded { cells: &["paced"], ..broken("broken-due", REMOTE) },
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

/// Everybody.
pub fn all() -> impl Iterator<Item = Embedded> {
    ALL.into_iter().chain(http::ALL)
}

pub(super) const fn broken(name: &'static str, roles: &'static [Role]) -> Embedded {
    Embedded {
        name,
        known_bad: true,
        roles,
        payload: Payload::Tokens,
        cells: &REMOTE_CELLS_AT_LEAST,
        inside: &COUNTER_CELLS_AT_LEAST,
        resumes: false,
        lacks: &[],
        source_lines: None,
    }
}

/// Lines that hold more than white space.
pub(super) const fn lines(text: &str) -> u64 {
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

/// Plays a role: what the hidden command does.
pub fn play(name: &str, role: &str) -> Result<(), Failure> {
    if (name, role) == (relaying::NAME, relaying::ROLE) {
        return relay::play();
    }
    let nobody = || format!("no participant {name:?} has the role {role:?}");
    let role = Role::named(role).ok_or_else(nobody)?;
    let known = all().any(|it| it.name == name && it.roles.contains(&role));
    if !known {
        return Err(nobody().into());
    }
    end_with_parent()?;
    let orders = Orders::read();
    match (name, role) {
        (_, Role::HttpServer | Role::HttpClient) => http::play(name, role, &orders),
        ("raw", Role::Counter) => raw::inside::play(&orders),
        ("raw", Role::RemoteServer) => raw::remote::serve(&orders),
        ("raw", Role::RemoteClient) => raw::remote::drive(&orders),
        ("raw", Role::PingpongServer) => raw::pingpong::serve(&orders),
        ("raw", Role::PingpongClient) => raw::pingpong_client::drive(&orders),
        ("wigwag", Role::Counter) => wigwag::inside::play(&orders),
        ("wigwag", Role::RemoteServer) => wigwag::remote::serve(&orders),
        ("wigwag", _) => wigwag::remote::drive(&orders),
        ("broken-due", Role::RemoteServer) => bad::due::serve(&orders),
        ("broken-due", Role::RemoteClient) => bad::due::drive(&orders),
        (_, Role::PingpongServer) => bad::pingpong::serve(name, &orders),
        (_, Role::PingpongClient) => bad::pingpong::drive(name, &orders),
        ("broken-early" | "broken-leak" | "broken-hide" | "broken-restart", Role::Counter) => {
            bad::counter::count(name, &orders)
        }
        ("broken-hoard" | "broken-guess" | "broken-skip" | "broken-shared", Role::Counter) => {
            bad::inside::play(name, &orders)
        }
        (_, Role::Counter) => bad::count(name, &orders),
        (_, Role::RemoteServer) => bad::serve(name, &orders),
        (_, Role::RemoteClient) => bad::drive(name, &orders),
    }
}

/// Has the kernel end this process when the lab's does, however that ends.
fn end_with_parent() -> Result<(), Failure> {
    let parent = getppid();
    set_parent_process_death_signal(Some(Signal::KILL))?;
    match getppid() == parent {
        true => Ok(()),
        // It ended in between, and its end sends no signal any more.
        false => Err("the lab has ended".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_white_space_do_not_count() {
        assert_eq!(lines("a\n\n  \n b\n"), 2);
    }

    #[test]
    fn a_role_that_somebody_has_not_is_refused() {
        let refused = play("wigwag", "pingpong.server").unwrap_err().to_string();
        assert!(refused.contains("wigwag") && refused.contains("pingpong.server"), "{refused}");
    }
}
