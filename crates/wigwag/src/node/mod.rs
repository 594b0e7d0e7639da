//! Nodes: export actors and reach those of other nodes.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use wigwag_actor::{Actor, Exportable, Groups, Interface, Principal, Ref};
use wigwag_link::budget::Pools;
use wigwag_net::places::Places;
use wigwag_net::{Address, ListenOptions, Listener};
use wigwag_spin::SPIN_MAX;

use crate::access::{self, NodeAccess};
use crate::error::NodeError;
use crate::events::{Announcer, SessionEvents};
use crate::exported_groups::source::GroupSource;
use crate::exported_groups::{ExportedGroup, GroupTable};
use crate::exports::Exports;
use crate::limits::{HANDSHAKES_MAX, REACHES_MAX};
use crate::lock::lock;
use crate::metrics::Metrics;
use crate::metrics::counters::NodeCounters;
use crate::metrics::observer::MetricsSource;
use crate::node::fetch::Fetch;
use crate::proxy::{ExportedRoute, Proxy};
use crate::random;
use crate::reconnecting::task::Peers;
use crate::send::channel::Channel;
use crate::send::dynamic::Dynamic;
use crate::session::attach::AttachTo;
use crate::session::{PeerHoldings, PeerStatistics, Session};
use crate::sp_clients::{SpClientStatistics, SpClients};

pub(crate) mod options;
pub(crate) mod sessions;
mod inner;
mod dial;
pub(crate) mod fetch;
mod accept;
mod drive;
pub(crate) mod runtime;
pub(crate) mod close;
mod flush;
mod lost;
pub(crate) mod cluster;

use inner::Inner;
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
    /// Creates a node with default options, on the current tokio runtime. Outside a runtime, the
    /// node uses a small one of its own.
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
        let runtime = wigwag_net::socket::background::current_or_own()
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
            listeners: Mutex::default(),
            pending_handshakes: Places::new(HANDSHAKES_MAX),
            runtime,
            closed: AtomicBool::new(false),
            peers: Peers::default(),
            lost: lost::LostSessions::default(),
            answer_spin: Mutex::new(SPIN_MAX),
            reaching: tokio::sync::Semaphore::new(REACHES_MAX),
            advertised: Mutex::default(),
        };
        let node = Node { inner: Arc::new(inner) };
        if node.inner.options.observable {
            node.inner.exports.observe(Arc::downgrade(&node.inner) as Weak<dyn MetricsSource>);
        }
        runtime::register(&node.inner);
        node
    }

    /// Exports `actor` under `name`, so that other nodes can call it. The node holds a reference:
    /// the actor lives as long as it is exported.
    ///
    /// See [`Node`] for an example.
    ///
    /// # Errors
    /// - [`BadName`](NodeError::BadName) if the name is taken by a running actor, is empty, longer
    ///   than 255 bytes, or contains a slash or control characters; also if the actor lives on
    ///   another node;
    /// - [`Closed`](NodeError::Closed) if the node is closed.
    pub fn export<I: Interface>(
        &self,
        name: &str,
        actor: &impl AsRef<Ref<I>>,
    ) -> Result<(), NodeError>
    where
        I::Codec: Exportable,
    {
        self.inner.check_open()?;
        let Some(exported) = actor.as_ref().exported() else {
            let rule = "the actor lives on another node, which must export it";
            return Err(NodeError::BadName { name: name.to_owned(), rule });
        };
        let publisher = self.inner.options.sp_clients;
        let publisher = publisher.then(|| self.inner.sp_clients.publisher_for(name));
        self.inner.exports.add(name, exported, publisher)
    }

    /// Calls the exported actors for a program that has no session: what a server for another protocol
    /// does, as an HTTP gateway. The calls are those of `principal`, whom the server has identified and
    /// who is at `peer`, an address in words: permissions and limits of [`Access`](crate::access::Access)
    /// apply, and an actor sees both in [`This::caller`](crate::This::caller).
    ///
    /// See [`Proxy`] for an example.
    ///
    /// # Errors
    /// - [`Session`](NodeError::Session) if the identity has as many sessions, proxies among them, as it
    ///   may;
    /// - [`Closed`](NodeError::Closed) if the node is closed.
    pub fn proxy(&self, principal: Principal, peer: &str) -> Result<Proxy, NodeError> {
        self.inner.check_open()?;
        let peer: Arc<str> = peer.into();
        let full = |error| NodeError::Session { peer: peer.clone(), error };
        let place = self.inner.access.enter(&principal, None).map_err(full)?;
        Ok(Proxy::new(&self.inner.exports, place, peer, &self.inner.proxy_rooms))
    }

    /// The routes of the exported actors (`#[wigwag(get = "/path")]`), in the order of the actors' names.
    pub fn http_routes(&self) -> Vec<ExportedRoute> {
        ExportedRoute::all(&self.inner.exports)
    }

    /// The version of the exports: it changes whenever an actor is exported or withdrawn.
    pub fn exports_version(&self) -> u64 {
        self.inner.exports.version()
    }

    /// Exports the members of a group that live in this process under `name`: for other nodes that
    /// [follow](Node::follow_group) it, and for surveys of [SP clients](crate::sp_clients), which they
    /// answer. Such a name is beside those of actors, and a survey for a name that both have asks the
    /// group.
    ///
    /// # Errors
    /// - [`BadName`](NodeError::BadName) if the name is that of another exported group, is empty,
    ///   longer than 255 bytes, or contains a slash or control characters;
    /// - [`Closed`](NodeError::Closed) if the node is closed.
    pub fn export_group<I: Interface>(
        &self,
        name: &str,
        scope: &Groups<I>,
        group: &str,
    ) -> Result<(), NodeError>
    where
        I::Codec: Exportable,
    {
        self.inner.check_open()?;
        let group = ExportedGroup { scope: scope.clone(), group: group.to_owned() };
        self.inner.groups.add(name, Arc::new(group))
    }

    /// Withdraws a group; false if it was not exported.
    pub fn withdraw_group(&self, name: &str) -> bool {
        self.inner.groups.remove(name)
    }

    /// Withdraws a name; false if it was not exported. References that were fetched before keep
    /// working.
    ///
    /// ```
    /// use wigwag::{Actor, Node};
    ///
    /// struct Clock;
    ///
    /// #[wigwag::actor]
    /// impl Clock {
    ///     pub fn hour(&self) -> u8 {
    ///         12
    ///     }
    /// }
    ///
    /// # #[wigwag::main]
    /// # async fn main() -> Result<(), wigwag::NodeError> {
    /// let node = Node::new();
    /// node.export("clock", &Clock.spawn())?;
    /// assert!(node.withdraw("clock"));
    /// assert!(!node.withdraw("clock"));
    /// # Ok(()) }
    /// ```
    pub fn withdraw(&self, name: &str) -> bool {
        self.inner.exports.remove(name)
    }

    /// Listens at `address` and returns the actual address: `tcp://127.0.0.1:0` gets a free port.
    /// The node listens until it is closed or dropped, with the options of
    /// [`NodeOptions::listen_options`].
    ///
    /// See [`Node`] for an example.
    ///
    /// # Errors
    /// - [`Net`](NodeError::Net) if the address is malformed or cannot be bound;
    /// - [`Closed`](NodeError::Closed) if the node is closed.
    ///
    /// # Cancellation
    /// If dropped while it waits, the node does not listen there.
    pub async fn listen(&self, address: &str) -> Result<Address, NodeError> {
        self.listen_with(address, self.inner.options.listen.clone()).await
    }

    /// Listens at `address` with options, such as the permissions of a socket file.
    ///
    /// # Errors
    /// - [`Net`](NodeError::Net) if the address is malformed or cannot be bound, or if the options
    ///   do not fit it;
    /// - [`Closed`](NodeError::Closed) if the node is closed.
    ///
    /// # Cancellation
    /// If dropped while it waits, the node does not listen there.
    pub async fn listen_with(
        &self,
        address: &str,
        options: ListenOptions,
    ) -> Result<Address, NodeError> {
        self.inner.check_open()?;
        let address: Address = address.parse()?;
        let listening = wigwag_net::transport::listen(&address, options.clone());
        let listener = runtime::enter(&self.inner.runtime, listening).await?;
        self.listen_on(listener, options)
    }

    /// Accepts connections from a listener of the program's own, until the node is closed or dropped:
    /// those that a server hands over, for example. `options` are those of sessions; the listener was
    /// made with its own.
    ///
    /// # Errors
    /// - [`Unprotected`](NodeError::Unprotected) if the listener is not
    ///   [local](crate::transport::Listener::is_local), and nothing identifies its peers;
    /// - [`Closed`](NodeError::Closed) if the node is closed.
    pub fn listen_on(
        &self,
        listener: Box<dyn Listener>,
        options: ListenOptions,
    ) -> Result<Address, NodeError> {
        self.inner.check_open()?;
        let bound = listener.address().clone();
        if !access::is_protected(&*listener, &options) && !self.inner.access.opens_to_all() {
            return Err(NodeError::Unprotected { address: bound.to_string() });
        }
        self.advertise(&bound);
        let task = accept::listen(listener, options, Arc::downgrade(&self.inner));
        lock(&self.inner.listeners).push(self.inner.runtime.spawn(task));
        Ok(bound)
    }

    /// Fetches a reference to the actor at `address`, whose last segment is the actor's name:
    /// `tcp://127.0.0.1:7001/counter`. Dials if there is no session with that peer yet.
    ///
    /// See [`Node`] for an example.
    ///
    /// A second reference to the same actor, of the same type and fetched while the first is in use,
    /// is like a clone of the first: it uses the same channel, so their calls are handled in the
    /// order in which they were sent, and its errors name the address of the first. This holds also
    /// for two [references that come back](Fetch::reconnecting) with one name, and not for one of
    /// each kind. For a peer of an earlier release, and after [`watch_answers`](Node::watch_answers), it has a channel of its
    /// own.
    ///
    /// # Errors
    /// Each within the time of a handshake, 5 s:
    /// - [`NoName`](NodeError::NoName) if the address names no actor;
    /// - [`Net`](NodeError::Net) if nothing listens there, or no SP program;
    /// - [`Session`](NodeError::Session) if the peer is no wigwag node or refuses the session;
    /// - [`Disconnected`](NodeError::Disconnected) if the session with the peer was cut and is not
    ///   resumed in this time: the error has the reason of the last attempt to reconnect;
    /// - [`Call`](NodeError::Call) if the peer exports no such actor or accepts no more channels;
    /// - [`Closed`](NodeError::Closed) if this node is closed.
    ///
    /// # Cancellation
    /// If dropped while it waits, no reference is made. A session that was opened by then stays
    /// with the node.
    pub fn actor<I: Interface>(&self, address: &str) -> Fetch<I> {
        Fetch::new(self.clone(), address)
    }

    /// Fetches an untyped reference to the actor at `address`, for programs that do not know its
    /// interface.
    ///
    /// See [`Dynamic`] for an example.
    ///
    /// # Errors
    /// The errors of [`actor`](Node::actor).
    ///
    /// # Cancellation
    /// As for [`actor`](Node::actor).
    pub async fn dynamic(&self, address: &str) -> Result<Dynamic, NodeError> {
        let attach = Box::pin(async {
            let (peer, name) = self.split(address)?;
            let session = self.session_to(&peer).await?;
            let (channel, _) =
                Channel::attach(session, AttachTo::Name(&name), 0, &address.into()).await?;
            Ok(Dynamic::new(channel).await?)
        });
        runtime::enter(&self.inner.runtime, self.within_attach_time(address, attach)).await
    }

    /// Sets how long an ask spins for its answer before its thread parks, for references that are
    /// fetched from now on, and how long a session that has received a single call spins for the
    /// next one, for sessions that begin from now on. The default is 100 µs; zero turns spinning off.
    ///
    /// A caller that awaits one ask at a time parks between ask and answer, and waking a processor
    /// costs more than the rest of a round trip. A spinning ask lets all other tasks of its runtime
    /// run and then looks again, until the time is over.
    ///
    /// Asks spin where that costs no more processor time, that of the peer included. Each reference
    /// and session finds this out by trials: from time to time some hundred asks spin and some
    /// hundred sleep, and the cheaper of both goes on. Where answers take longer than `limit`, an ask
    /// spins ever more rarely; while other threads want all processors, and with a single processor,
    /// none does.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let node = wigwag::Node::new();
    /// node.watch_answers(Duration::from_micros(20));
    /// ```
    pub fn watch_answers(&self, limit: Duration) {
        *lock(&self.inner.answer_spin) = limit;
    }

    /// Listens at `address`, for threads outside a runtime; the blocking form of
    /// [`listen`](Node::listen).
    ///
    /// See [`blocking_actor`](Node::blocking_actor) for an example.
    ///
    /// # Errors
    /// The errors of [`listen`](Node::listen).
    ///
    /// # Panics
    /// Inside a runtime, because it would block the runtime's thread.
    pub fn blocking_listen(&self, address: &str) -> Result<Address, NodeError> {
        self.inner.runtime.block_on(self.listen(address))
    }

    /// Fetches a reference to the actor at `address`, for threads outside a runtime; the blocking
    /// form of [`actor`](Node::actor).
    ///
    /// ```
    /// use wigwag::{Actor, Node, block_on};
    ///
    /// struct Sum;
    ///
    /// #[wigwag::actor]
    /// impl Sum {
    ///     pub fn add(&mut self, a: i64, b: i64) -> i64 {
    ///         a + b
    ///     }
    /// }
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let runtime = tokio::runtime::Runtime::new()?;
    /// let service = Node::new();
    /// // The actor runs on the runtime of the thread that spawns it.
    /// service.export("sum", &runtime.block_on(async { Sum.spawn() }))?;
    /// let bound = service.blocking_listen("tcp://127.0.0.1:0")?;
    /// let client = Node::new();
    /// let sum = client.blocking_actor::<Sum>(&format!("{bound}/sum"))?;
    /// assert_eq!(block_on(async { sum.add(1, 2).ask().await })?, 3);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The errors of [`actor`](Node::actor).
    ///
    /// # Panics
    /// Inside a runtime, because it would block the runtime's thread.
    pub fn blocking_actor<I: Interface>(&self, address: &str) -> Result<I::Ref, NodeError> {
        self.inner.runtime.block_on(self.actor::<I>(address))
    }

    /// Subscribes to the events of this node's sessions from now on: opened, cut, resumed, ended.
    ///
    /// See [`SessionEvent`](crate::session::SessionEvent) for an example.
    ///
    /// # Limits
    /// Up to 1,024 events wait for each subscriber; then the oldest are dropped and counted.
    pub fn session_events(&self) -> SessionEvents {
        SessionEvents::of(&self.inner.announcer)
    }

    /// Returns the counters for [SP clients](crate::sp_clients).
    pub fn sp_client_statistics(&self) -> SpClientStatistics {
        self.inner.sp_clients.statistics()
    }

    /// Takes a snapshot of what the actors, the sessions and the listeners of this node have done.
    ///
    /// The [module](crate::metrics) has an example.
    ///
    /// # Performance
    /// It takes the lock of each exported actor and of each session once, for a moment. A busy node
    /// bears one a second.
    pub fn metrics(&self) -> Metrics {
        MetricsSource::metrics(&*self.inner)
    }

    /// Lists which actors of this node each peer holds channels and references to: what keeps them
    /// alive, and what is lost to the peer when its session ends.
    ///
    /// ```
    /// use wigwag::{Actor, Node};
    ///
    /// struct Clock;
    ///
    /// #[wigwag::actor]
    /// impl Clock {
    ///     pub fn hour(&self) -> u8 {
    ///         12
    ///     }
    /// }
    ///
    /// # #[wigwag::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (service, client) = (Node::new(), Node::new());
    /// service.export("clock", &Clock.spawn())?;
    /// let bound = service.listen("tcp://127.0.0.1:0").await?;
    /// let _clock = client.actor::<Clock>(&format!("{bound}/clock")).await?;
    /// for one in service.held_actors() {
    ///     println!("{}: {:?}", one.peer.peer, one.held.actors);
    /// }
    /// assert_eq!(service.held_actors()[0].held.actors[0].kind, "Clock");
    /// # Ok(()) }
    /// ```
    ///
    /// # Performance
    /// It looks at each channel and each lent reference of all sessions.
    pub fn held_actors(&self) -> Vec<PeerHoldings> {
        let sessions: Vec<_> = self.inner.sessions().iter().cloned().collect();
        let living = sessions.iter().filter(|session| !session.has_ended());
        let holdings = |session: &Arc<Session>| PeerHoldings {
            peer: session.caller(),
            held: session.held_actors(),
        };
        living.map(holdings).collect()
    }

    /// Returns the counters of each open session.
    ///
    /// ```
    /// # use wigwag::{Actor, Node};
    /// # struct Echo;
    /// # #[wigwag::actor]
    /// # impl Echo {
    /// #     pub fn say(&self, word: String) -> String {
    /// #         word
    /// #     }
    /// # }
    /// # #[wigwag::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (service, client) = (Node::new(), Node::new());
    /// # service.export("echo", &Echo.spawn())?;
    /// # let bound = service.listen("tcp://127.0.0.1:0").await?;
    /// let echo = client.actor::<Echo>(&format!("{bound}/echo")).await?;
    /// assert_eq!(echo.say("hello".to_owned()).ask().await?, "hello");
    /// for peer in client.statistics() {
    ///     println!("{}: {} bytes sent", peer.peer, peer.session.bytes_sent);
    ///     // One frame has attached the reference, one is the ask.
    ///     assert_eq!((peer.session.frames_sent, peer.session.cuts), (2, 0));
    /// }
    /// # Ok(()) }
    /// ```
    pub fn statistics(&self) -> Vec<PeerStatistics> {
        let sessions = self.inner.sessions();
        let statistics = |session: &Arc<Session>| PeerStatistics {
            peer: session.peer.clone(),
            name: session.peer_name.clone(),
            principal: session.principal().clone(),
            session: session.statistics(),
        };
        sessions.iter().filter(|session| !session.has_ended()).map(statistics).collect()
    }
}

/// The id of the node with this name.
fn id_of(name: &str) -> u128 {
    let hash = hmac_sha256::Hash::hash(name.as_bytes());
    hash.first_chunk().map_or(0, |half| u128::from_le_bytes(*half))
}
