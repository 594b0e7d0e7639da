//! What a node can be given before it begins.

use std::time::Duration;

use wigwag_link::limits::NODE_BYTES_MAX;
use wigwag_link::{Limits, features};

use crate::limits::{ASKS_MAX, PEER_MEMORY_MIN, SESSION_TTL, SESSION_TTL_MAX};

/// What [`Node::with`](crate::Node::with) is given.
///
/// ```
/// use std::time::Duration;
/// use wigwag::{Node, NodeOptions};
///
/// # #[wigwag::main]
/// # async fn main() {
/// let options = NodeOptions::default().name("orders").keep_sessions(Duration::from_secs(10));
/// let node = Node::with(options);
/// # drop(node);
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct NodeOptions {
    pub(crate) name: Option<String>,
    pub(crate) ttl: Duration,
    pub(crate) limits: Limits,
    pub(crate) fixed_width: bool,
    pub(crate) peer_memory: u64,
}

impl Default for NodeOptions {
    fn default() -> NodeOptions {
        NodeOptions {
            name: None,
            ttl: SESSION_TTL,
            limits: Limits { slots_max: ASKS_MAX as u64, ..Limits::default() },
            fixed_width: true,
            peer_memory: NODE_BYTES_MAX,
        }
    }
}

impl NodeOptions {
    /// A name that stays when the process is started anew, and that no other node of those it talks to
    /// has. A peer whose connection was cut then knows a restart from another node that listens at
    /// the same address meanwhile. A node without a name is a new one each time.
    pub fn name(mut self, name: impl Into<String>) -> NodeOptions {
        self.name = Some(name.into());
        self
    }

    /// How long a session is kept after its connection was cut, when a peer has dialed it: 60 s
    /// unless it is set, an hour at most. Zero: a cut ends the session.
    pub fn keep_sessions(mut self, time: Duration) -> NodeOptions {
        self.ttl = time.min(SESSION_TTL_MAX);
        self
    }

    /// After so much silence a sign of life is sent, and after three times as much of the peer's its
    /// connection counts as cut: 1 s unless it is set, at least 10 ms, at most 60 s. The longer time
    /// of the two nodes counts.
    pub fn heartbeat(mut self, interval: Duration) -> NodeOptions {
        self.limits.heartbeat_ms = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// Whether numbers travel in their own width between two nodes that know the same types, without
    /// MessagePack's markers: they do unless either node says no. It concerns calls whose arguments
    /// are numbers, truths, and tuples, arrays and structs of them, of 47 bytes together at most.
    pub fn fixed_width(mut self, on: bool) -> NodeOptions {
        self.fixed_width = on;
        self
    }

    /// Bytes that peers together can make this node hold: calls that wait for slow actors, and answers
    /// that the peers have not acknowledged. 4 GiB unless it is set, 16 MiB at least. When it is spent,
    /// peers get less credit and large replies are refused as `Overloaded`; nothing is lost. Beside that
    /// a session takes some 20 KiB, and there are at most [`SESSIONS_MAX`](crate::limits::SESSIONS_MAX).
    pub fn peer_memory(mut self, bytes: u64) -> NodeOptions {
        self.peer_memory = bytes.max(PEER_MEMORY_MIN);
        self
    }

    /// Features that the node offers.
    pub(crate) fn features(&self) -> u64 {
        let mut offered = features::OFFERED;
        if self.ttl.is_zero() {
            offered &= !features::RESUME;
        }
        if !self.fixed_width {
            offered &= !features::FIXED;
        }
        offered
    }
}
