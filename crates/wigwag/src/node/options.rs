//! The options of a node.

use std::time::Duration;

use wigwag_link::limits::NODE_BYTES_MAX;
use wigwag_link::{Limits, features};
use wigwag_net::{DialOptions, ListenOptions};

use crate::access::{Access, AccessOptions, SharedKey};
use crate::limits::{
    ASKS_MAX, MESSAGE_PART_OF_MEMORY, PEER_CHANNELS_MAX, PEER_MEMORY_MIN, SESSION_TTL,
    SESSION_TTL_MAX,
};

/// Options for [`Node::with`](crate::Node::with).
///
/// ```
/// use std::time::Duration;
///
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
    pub(crate) sp_clients: bool,
    pub(crate) dial: DialOptions,
    pub(crate) listen: ListenOptions,
    pub(crate) dials_references: bool,
    pub(crate) relays_references: bool,
    pub(crate) lists_actors: bool,
    pub(crate) access: AccessOptions,
    pub(crate) observable: bool,
    pub(crate) trace_context: bool,
}

impl Default for NodeOptions {
    fn default() -> NodeOptions {
        NodeOptions {
            name: None,
            ttl: SESSION_TTL,
            limits: Limits { slots_max: ASKS_MAX as u64, ..Limits::default() },
            fixed_width: true,
            peer_memory: NODE_BYTES_MAX,
            sp_clients: true,
            dial: DialOptions::default(),
            listen: ListenOptions::default(),
            dials_references: true,
            relays_references: true,
            lists_actors: true,
            access: AccessOptions::default(),
            observable: false,
            trace_context: false,
        }
    }
}

impl NodeOptions {
    /// Sets a name, which must stay the same when the process restarts and be unique among the
    /// nodes that talk to each other. A peer whose connection was cut can then tell a restart from
    /// another node that listens at the same address meanwhile. By default a node has no name and a
    /// new identity each time.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> NodeOptions {
        self.name = Some(name.into());
        self
    }

    /// Sets how long a session that a peer has dialed is kept after its connection was cut: 60 s by
    /// default, at most one hour. The dialer waits 5 s longer than its listener. Zero ends each
    /// session of this node with its connection, also those that it has dialed. A session over
    /// which nothing has arrived yet is kept for 5 s at most.
    #[must_use]
    pub fn keep_sessions(mut self, time: Duration) -> NodeOptions {
        self.ttl = time.min(SESSION_TTL_MAX);
        self
    }

    /// Sets the heartbeat interval: 1 s by default, at least 10 ms, at most 60 s. A node that has
    /// sent nothing for this long sends a heartbeat; after three intervals without anything from
    /// the peer its connection counts as cut. The longer interval of the two nodes applies. A
    /// session without calls for 10 s sends a heartbeat every 15 s only, and its connection counts
    /// as cut after 17 s.
    #[must_use]
    pub fn heartbeat(mut self, interval: Duration) -> NodeOptions {
        self.limits.heartbeat_ms = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// Sets whether numbers are sent in their fixed width, without the markers of MessagePack,
    /// between nodes that know the same types. On by default, if both nodes agree. It applies to
    /// calls whose arguments are numbers, booleans, and tuples, arrays and structs of them, with at
    /// most 47 bytes together.
    #[must_use]
    pub fn fixed_width(mut self, on: bool) -> NodeOptions {
        self.fixed_width = on;
        self
    }

    /// Sets how many bytes all peers together can make this node hold: unhandled calls to slow
    /// actors, and replies that the peers have not acknowledged. 4 GiB by default, at least 16 MiB.
    /// When they are used up, peers get less credit and large replies are refused as `Overloaded`;
    /// nothing is lost. The streams that this node reads hold a sixteenth of it besides; the next one
    /// is `Overloaded`. On top of that each session takes some 20 KiB, and there are at most
    /// [`SESSIONS_MAX`](crate::limits::SESSIONS_MAX).
    #[must_use]
    pub fn peer_memory(mut self, bytes: u64) -> NodeOptions {
        self.peer_memory = bytes.max(PEER_MEMORY_MIN);
        self
    }

    /// Sets how many actors of this node a peer may have references to in one session: 8,192 by
    /// default, at least 1, at most 262,144. The peer's next [`Node::actor`](crate::Node::actor)
    /// fails as `Overloaded`. For each of them the node may have to hold 4 KiB of unhandled calls: a
    /// quarter of [`peer_memory`](Self::peer_memory) bounds that for all peers together.
    #[must_use]
    pub fn actors_per_peer(mut self, most: u64) -> NodeOptions {
        self.limits.channels_max = most.clamp(1, PEER_CHANNELS_MAX);
        self
    }

    /// Sets the bytes of the longest call or reply that this node accepts from a peer, encoded and
    /// with a few bytes of header: 16 MiB by default, at least 64 KiB, and at most a sixteenth of
    /// [`peer_memory`](Self::peer_memory). A peer's call, or its reply to a call of this node, that
    /// is longer fails as `TooLarge` on its side. A message of more than 64 KiB is sent in parts,
    /// and messages to and from other actors go between them. A peer of an earlier release sends and
    /// accepts 64 KiB.
    ///
    /// Each session may have four such calls of its peer under way or waiting for slow actors, out
    /// of an eighth of `peer_memory` for all sessions together.
    #[must_use]
    pub fn message_bytes_max(mut self, bytes: u64) -> NodeOptions {
        self.limits.message_max = bytes;
        self
    }

    /// Sets whether the node serves [SP clients](crate::sp_clients), programs of nanomsg, NNG and
    /// mangos that call its actors without a session. On by default. Otherwise a dialer that is no
    /// node gets the node's header, and the connection is closed.
    #[must_use]
    pub fn sp_clients(mut self, on: bool) -> NodeOptions {
        self.sp_clients = on;
        self
    }

    /// Sets the options with which the node dials, also when it comes back to a session that was cut:
    /// those of the transport, such as keep-alive or what is trusted with TLS. Those for sockets,
    /// as the pauses and priorities, have no effect. Header lines of ws, which may have a token, are not
    /// sent to addresses of [references](Self::dial_references), which peers choose.
    #[must_use]
    pub fn dial_options(mut self, options: DialOptions) -> NodeOptions {
        self.dial = options;
        self
    }

    /// Sets the options with which [`Node::listen`](crate::Node::listen) listens, such as the
    /// certificate with TLS.
    #[must_use]
    pub fn listen_options(mut self, options: ListenOptions) -> NodeOptions {
        self.listen = options;
        self
    }

    /// Sets whether this node dials the node of an actor when it receives a reference to it from
    /// another peer, and has no session with that node. On by default. A peer can make this node
    /// open connections to addresses of the peer's choice. Where the actor's node is not dialed or not
    /// reached, calls go through the node that has given the reference, if that one
    /// [relays](Self::relay_references) them.
    #[must_use]
    pub fn dial_references(mut self, on: bool) -> NodeOptions {
        self.dials_references = on;
        self
    }

    /// Sets whether this node passes on the calls of a peer to an actor of a third node, if it has
    /// given the peer a reference to that actor and the peer cannot reach the actor's node by itself.
    /// On by default.
    ///
    /// A relayed call is decoded and encoded once more. The calls of one peer to one actor arrive in
    /// order, each at most once: those that this node had accepted when it or one of the two sessions
    /// ended are lost or have an unknown outcome, also if the caller was told that they are
    /// delivered.
    #[must_use]
    pub fn relay_references(mut self, on: bool) -> NodeOptions {
        self.relays_references = on;
        self
    }

    /// Sets whether peers may list the actors that this node exports, with their types and comments:
    /// [`Node::list_actors`](crate::Node::list_actors). On by default. Off, a peer reaches the actors
    /// whose names it knows, and learns of no other.
    #[must_use]
    pub fn lists_actors(mut self, on: bool) -> NodeOptions {
        self.lists_actors = on;
        self
    }

    /// Sets which peers may call what, and how much of this node each may use. By default every peer
    /// that is let in may call everything that is exported, within the limits of the node.
    ///
    /// The [example of `access`](crate::access) sets rules.
    #[must_use]
    pub fn access(mut self, rules: Access) -> NodeOptions {
        self.access.rules = Some(rules);
        self
    }

    /// Sets the key by which this node proves who it is when it dials. A listener that does not prove
    /// the same key to it is refused as `AuthFailed`, and so is one with which this node has a session
    /// already that the peer has opened without a proof of who it is.
    #[must_use]
    pub fn shared_key(mut self, key: SharedKey) -> NodeOptions {
        self.access.own_key = Some(key);
        self
    }

    /// Adds keys of peers that may dial this node. From then on a peer that proves nothing is refused
    /// as `AuthRequired`, unless the node is [insecure](Self::insecure); one that has a certificate, and
    /// one in this process or on a Unix socket, needs no key. Several keys may have one name: to replace a
    /// key, accept both until all peers have the new one.
    #[must_use]
    pub fn accept_keys(mut self, keys: impl IntoIterator<Item = SharedKey>) -> NodeOptions {
        self.access.accepted_keys.extend(keys);
        self
    }

    /// Sets whether peers that prove nothing are let in, also from other machines. Off by default: then
    /// [`Node::listen`](crate::Node::listen) refuses an address that other machines reach, unless TLS
    /// checks the certificates of clients or the node [accepts keys](Self::accept_keys).
    #[must_use]
    pub fn insecure(mut self, on: bool) -> NodeOptions {
        self.access.is_insecure = on;
        self
    }

    /// Sets whether peers may link their actors to those of this node that they have references to
    /// ([`This::link_ref`](crate::This::link_ref)). Off by default: each of two linked actors ends with
    /// the other, unless its [`Life::exited`](crate::Life::exited) says otherwise, so a link lets a peer
    /// end an actor of this node. [`Access::allow_links`] allows it for one export and some peers.
    ///
    /// Links of this node's actors to those of a peer need the peer's consent alone. An end that the
    /// peer tells of is believed, also its reason.
    #[must_use]
    pub fn accept_links(mut self, on: bool) -> NodeOptions {
        self.access.accepts_links = on;
        self
    }

    /// Sets whether peers may take a snapshot of this node's metrics:
    /// [`Node::peer_metrics`](crate::Node::peer_metrics), `wigwag top` and `wigwag metrics`. Off by
    /// default: a snapshot has the addresses and names of all peers, and the names of all actors.
    /// Where there are rules, they must also [allow](Access::allow) the actor `/metrics`.
    #[must_use]
    pub fn observable(mut self, on: bool) -> NodeOptions {
        self.observable = on;
        self
    }

    /// Sets whether calls carry their [trace context](crate::trace) between this node and peers that set
    /// this too. Off by default. A call with a context takes 30 bytes more, and does not share a frame
    /// with others.
    #[must_use]
    pub fn trace_context(mut self, on: bool) -> NodeOptions {
        self.trace_context = on;
        self
    }

    /// The limits that the node announces.
    pub(crate) fn limits(&self) -> Limits {
        let Limits { message_max, frame_max, .. } = self.limits;
        let most = self.peer_memory / MESSAGE_PART_OF_MEMORY;
        Limits { message_max: message_max.min(most).max(frame_max), ..self.limits }
    }

    /// The features that the node offers.
    pub(crate) fn features(&self) -> u64 {
        let mut offered = features::OFFERED;
        if self.ttl.is_zero() {
            offered &= !features::RESUME;
        }
        if !self.fixed_width {
            offered &= !features::FIXED;
        }
        if !self.trace_context {
            offered &= !features::TRACE_CONTEXT;
        }
        offered
    }
}
