//! Nodes: export actors and reach those of other nodes.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, Weak};

use wigwag_actor::Actor;
use wigwag_link::budget::Pools;
use wigwag_net::places::Places;
use wigwag_spin::SPIN_MAX;

use crate::access::NodeAccess;
use crate::events::Announcer;
use crate::exported_groups::GroupTable;
use crate::exported_groups::source::GroupSource;
use crate::exports::Exports;
use crate::limits::{HANDSHAKES_MAX, REACHES_MAX};
use crate::metrics::counters::NodeCounters;
use crate::metrics::observer::MetricsSource;
use crate::random;
use crate::reconnecting::task::Peers;
use crate::sp_clients::SpClients;

mod api;
pub(crate) mod options;
pub(crate) mod sessions;
mod inner;
mod dial;
pub(crate) mod listeners;
pub(crate) mod fetch;
mod accept;
mod drive;
pub(crate) mod runtime;
pub(crate) mod close;
mod flush;
pub(crate) mod cluster;

use inner::Inner;
use listeners::Listeners;
use options::NodeOptions;

/// A node exports actors under names and reaches the actors that other nodes export.
///
/// Clones are the same node. A node keeps one session with each peer; references to actors behind
/// the same address share it.
///
/// ```
/// use wigwag::{Actor, Node};
///
/// #[derive(Default)]
/// struct Counter {
///     total: u64,
/// }
///
/// #[wigwag::actor]
/// impl Counter {
///     pub fn add(&mut self, amount: u64) -> u64 {
///         self.total += amount;
///         self.total
///     }
/// }
///
/// # #[wigwag::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let service = Node::new();
/// service.export("counter", &Counter::default().spawn())?;
/// let bound = service.listen("tcp://127.0.0.1:0").await?;
///
/// let client = Node::new();
/// let counter = client.actor::<Counter>(&format!("{bound}/counter")).await?;
/// assert_eq!(counter.add(42).ask().await?, 42);
/// # Ok(()) }
/// ```
///
/// # Limits
/// A node has at most [`SESSIONS_MAX`](crate::limits::SESSIONS_MAX) sessions that peers have
/// opened, half of them from one source, and at most
/// [`HANDSHAKES_MAX`](crate::limits::HANDSHAKES_MAX) connections in their handshake.
/// [`NodeOptions::peer_memory`] bounds the memory that peers can make it use.
///
/// # Shutdown
/// [`close`](Node::close) delivers what was told and asked, within a time, and reports what it
/// could not. A node that is dropped instead publishes, tries to write for at most one second per
/// session, and logs what is left; the outcome of what the peers had not acknowledged by then is
/// unknown. The last clone counts.
#[derive(Clone)]
pub struct Node {
    pub(crate) inner: Arc<Inner>,
}

impl Default for Node {
    fn default() -> Node {
        Node::new()
    }
}

impl Node {
    /// Creates a node with default options, on the current tokio runtime, with which it ends. Outside a
    /// runtime, the node uses a small one of its own.
    ///
    /// See [`Node`] for an example.
    ///
    /// # Panics
    /// If there is no runtime and no thread can be started for one.
    pub fn new() -> Node {
        Node::with(NodeOptions::default())
    }

    /// Creates a node with options.
    ///
    /// See [`NodeOptions`] for an example.
    ///
    /// # Panics
    /// If there is no runtime and no thread can be started for one.
    pub fn with(options: NodeOptions) -> Node {
        let runtime = wigwag_background::current_or_own()
            .expect("the operating system can start one more thread");
        let incarnation = random::id();
        let pools = Arc::new(Pools::of(options.peer_memory));
        let access = Arc::new(NodeAccess::new(options.access.clone(), pools));
        let exports = Arc::new(Exports::new(options.lists_actors, access.clone()));
        let groups = Arc::new(GroupTable::new());
        let (table, checks) = (groups.clone(), access.clone());
        exports.offer_groups(Box::new(move || {
            GroupSource::new(&table, &checks).spawn().as_ref().exported()
        }));
        let inner = Inner {
            // A node without a name has a new id after each start, and peers see that.
            node: options.name.as_deref().map_or(incarnation, id_of),
            incarnation,
            access,
            options,
            announcer: Announcer::default(),
            counters: NodeCounters::new(),
            sp_clients: Arc::new(SpClients::new(exports.clone(), groups.clone())),
            proxy_rooms: Arc::default(),
            groups,
            exports,
            sessions: Mutex::default(),
            session_added: Arc::default(),
            pending_sessions: Mutex::default(),
            dialed_sessions: Mutex::default(),
            listeners: Listeners::default(),
            pending_handshakes: Places::new(HANDSHAKES_MAX),
            runtime,
            closed: AtomicBool::new(false),
            peers: Peers::default(),
            lost: flush::LostSessions::default(),
            answer_spin: Mutex::new(SPIN_MAX),
            reaching: tokio::sync::Semaphore::new(REACHES_MAX),
        };
        let node = Node { inner: Arc::new(inner) };
        if node.inner.options.observable {
            node.inner.exports.observe(Arc::downgrade(&node.inner) as Weak<dyn MetricsSource>);
        }
        runtime::register(&node.inner);
        node
    }
}

/// The id of the node with this name.
fn id_of(name: &str) -> u128 {
    let hash = hmac_sha256::Hash::hash(name.as_bytes());
    hash.first_chunk().map_or(0, |half| u128::from_le_bytes(*half))
}
