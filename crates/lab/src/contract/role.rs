//! The roles of programs, and the cells that they can be ordered to run.

use serde::Deserialize;

use crate::results::cpu_by_side::SideName;

/// The part of a program in a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Serves pingpong.
    PingpongServer,
    /// Drives pingpong.
    PingpongClient,
    /// Counts, with its senders in the same process.
    Counter,
    /// Serves the remote workload.
    RemoteServer,
    /// Drives it.
    RemoteClient,
    /// Serves http.
    HttpServer,
    /// Drives http.
    HttpClient,
    /// Receives, or answers, in sp.
    SpServer,
    /// Sends, or asks, in sp.
    SpClient,
    /// Both ends of sp in one process.
    SpInproc,
    /// Listens, and sends to several receivers of sp.
    SpSender,
    /// Dials a sender of sp, and receives.
    SpReceiver,
}

/// Every role.
pub const ROLES: [Role; 12] = [
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
    Role::SpSender,
    Role::SpReceiver,
];

impl Role {
    /// The name in `peer.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Role::PingpongServer => "pingpong.server",
            Role::PingpongClient => "pingpong.client",
            Role::Counter => "counter",
            Role::RemoteServer => "remote.server",
            Role::RemoteClient => "remote.client",
            Role::HttpServer => "http.server",
            Role::HttpClient => "http.client",
            Role::SpServer => "sp.server",
            Role::SpClient => "sp.client",
            Role::SpInproc => "sp.inproc",
            Role::SpSender => "sp.sender",
            Role::SpReceiver => "sp.receiver",
        }
    }

    /// The side that it is; `None` of a program that has both.
    pub fn side(self) -> Option<SideName> {
        match self {
            Role::PingpongServer | Role::RemoteServer | Role::HttpServer | Role::SpServer => {
                Some(SideName::Server)
            }
            Role::PingpongClient | Role::RemoteClient | Role::HttpClient | Role::SpClient => {
                Some(SideName::Client)
            }
            Role::SpSender => Some(SideName::Sender),
            Role::SpReceiver => Some(SideName::Receiver),
            Role::Counter | Role::SpInproc => None,
        }
    }

    /// The role with this name.
    pub fn named(name: &str) -> Option<Role> {
        ROLES.into_iter().find(|role| role.name() == name)
    }
}

/// Cells that a client of remote can be ordered to do: the values of `CELL`.
pub const REMOTE_CELLS: [&str; 30] = [
    "tell",
    "naive",
    "ask",
    "rtt",
    "chain",
    "join",
    "naive-ask",
    "paced",
    "overload",
    "callers",
    "callers-each",
    "senders",
    "actors",
    "actors-random",
    "links",
    "unkept",
    "messagepack",
    "thread",
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
];

/// Cells of remote that a participant does by default.
pub const REMOTE_CELLS_AT_LEAST: [&str; 4] = ["tell", "naive", "ask", "rtt"];

/// Cells that a program for counter can be ordered to do: the values of `CELL`.
pub const COUNTER_CELLS: [&str; 7] = ["count", "slow", "ask", "bounce", "ring", "spawn", "actors"];

/// Cells of counter that a participant does by default.
pub const COUNTER_CELLS_AT_LEAST: [&str; 1] = ["count"];

/// Cells that a program for sp can be ordered to do: the values of `CELL`.
pub const SP_CELLS: [&str; 13] = [
    "req",
    "push",
    "many",
    "pair",
    "threads",
    "connections",
    "thousand-connections",
    "pub",
    "pub-slow",
    "pub-dying",
    "balance",
    "balance-slow",
    "balance-dying",
];

/// Cells of sp that a participant does by default.
pub const SP_CELLS_AT_LEAST: [&str; 2] = ["req", "push"];

/// The payloads that a participant of pingpong sends and answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Payload {
    /// Tokens and their inversion: a reply that was not made from its request is detected.
    #[default]
    Tokens,
    /// `Ping` and `Pong`, always the same, as in the comparison of 2016.
    Fixed,
    /// Tokens, or `Ping` and `Pong` where `PAYLOAD=fixed` is ordered.
    Both,
}

impl Payload {
    /// Whether participants with these payloads can exchange messages.
    pub fn agrees(self, other: Payload) -> bool {
        self == other || self == Payload::Both || other == Payload::Both
    }
}

/// The names of the transports of sp and remote.
pub const TRANSPORT_NAMES: [&str; 8] =
    ["tcp", "ipc", "inproc", "shm", "shm-spin", "tls", "ws", "wss"];

/// The transports of a peer whose file names none.
pub const TRANSPORTS_AT_LEAST: [&str; 3] = ["tcp", "ipc", "inproc"];
