//! A node: the place from which actors are exported and others' actors are reached.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use wigwag_actor::limits::ANSWER_WATCH;
use wigwag_actor::{Interface, Ref};
use wigwag_link::budget::Pools;
use wigwag_link::resume::{Ticket, Tickets};
use wigwag_link::{Identity, Opened, features};
use wigwag_net::pending_handshakes::PendingHandshakes;
use wigwag_net::source::Source;
use wigwag_net::{Address, Connection, ListenOptions};
use wigwag_wire::ReadBuf;

use crate::carrier::Carrier;
use crate::described::{Dynamic, describe};
use crate::dialing::{Beginning, DialedLink};
use crate::error::NodeError;
use crate::events::{Announcer, SessionChange, SessionEvents};
use crate::exports::Exports;
use crate::limits::{DROP_WAIT, HANDSHAKES_MAX, SESSION_TTL_MAX};
use crate::link::{Begun, Link, LinkStatistics};
use crate::opening;
use crate::options::NodeOptions;
use crate::remote::Remote;
use crate::resuming::{Resuming, Right};
use crate::sessions::Sessions;
use crate::{door, driving, random, runtime, turns};

/// A node. Clones are the same node; when the last one is dropped the node ends.
///
/// # Close and drop
/// [`close`](Node::close) delivers what was told and asked, within a time, and reports what it
/// could not. A node that is dropped instead publishes, tries to write for at most a second a
/// link, and logs what is left; what the peers had not acknowledged by then is not known.
#[derive(Clone)]
pub struct Node {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) node: u128,
    pub(crate) incarnation: u128,
    pub(crate) options: NodeOptions,
    pub(crate) announcer: Announcer,
    /// Pools that all sessions share.
    pools: Arc<Pools>,
    pub(crate) exports: Arc<Exports>,
    sessions: Mutex<Sessions>,
    /// A link was added to `sessions`.
    pub(crate) arrived: Notify,
    /// Incarnations with which a session is being opened.
    pub(crate) beginning: Mutex<Beginning>,
    pub(crate) dialed: Mutex<HashMap<Address, DialedLink>>,
    pub(crate) listeners: Mutex<Vec<JoinHandle<()>>>,
    pub(crate) strangers: Arc<PendingHandshakes>,
    pub(crate) runtime: Handle,
    pub(crate) closed: AtomicBool,
    /// How long an asker looks for its answer before it sleeps.
    watch: Mutex<Duration>,
}

/// What a node has to do with each of its peers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PeerStatistics {
    /// Who is at the other end.
    pub peer: Arc<str>,
    /// What went over the link.
    pub link: LinkStatistics,
}

impl Default for Node {
    fn default() -> Node {
        Node::new()
    }
}

impl Node {
    /// A node on the runtime of the caller, or on a small one of its own when there is none.
    ///
    /// # Panics
    /// When there is no runtime and no thread can be started for one.
    pub fn new() -> Node {
        Node::with(NodeOptions::default())
    }

    /// The same with options.
    ///
    /// # Panics
    /// As [`new`](Node::new).
    pub fn with(options: NodeOptions) -> Node {
        let runtime = wigwag_net::socket::background::current_or_own()
            .expect("the operating system can start one more thread");
        let incarnation = random::id();
        let inner = Inner {
            // A node without a name is another one after each start, and shows it.
            node: options.name.as_deref().map_or(incarnation, id_of),
            incarnation,
            pools: Arc::new(Pools::of(options.peer_memory)),
            options,
            announcer: Announcer::default(),
            exports: Arc::default(),
            sessions: Mutex::default(),
            arrived: Notify::new(),
            beginning: Mutex::default(),
            dialed: Mutex::default(),
            listeners: Mutex::default(),
            strangers: PendingHandshakes::new(HANDSHAKES_MAX),
            runtime,
            closed: AtomicBool::new(false),
            watch: Mutex::new(ANSWER_WATCH),
        };
        let node = Node { inner: Arc::new(inner) };
        runtime::remember(&node.inner);
        node
    }

    /// Lets others call `actor` under `name`. The actor lives as long as it is exported.
    ///
    /// # Errors
    /// `BadName` when the name is taken or cannot be used.
    pub fn export<I: Interface>(
        &self,
        name: &str,
        actor: &impl AsRef<Ref<I>>,
    ) -> Result<(), NodeError> {
        self.inner.check_open()?;
        let Some(exported) = actor.as_ref().exported() else {
            let rule = "the actor lives on another node, which must export it";
            return Err(NodeError::BadName { name: name.to_owned(), rule });
        };
        self.inner.exports.add(name, exported)
    }

    /// Takes a name back; who has looked it up already keeps the actor. False when there is none.
    pub fn withdraw(&self, name: &str) -> bool {
        self.inner.exports.remove(name)
    }

    /// Listens at `address` and gives where it really listens: `tcp://127.0.0.1:0` takes a free
    /// port.
    pub async fn listen(&self, address: &str) -> Result<Address, NodeError> {
        self.listen_with(address, ListenOptions::default()).await
    }

    /// The same with options.
    pub async fn listen_with(
        &self,
        address: &str,
        options: ListenOptions,
    ) -> Result<Address, NodeError> {
        self.inner.check_open()?;
        let address: Address = address.parse()?;
        let listening = wigwag_net::transport::listen(&address, options);
        let listener = runtime::on(&self.inner.runtime, listening).await?;
        let bound = listener.address().clone();
        let task = door::open(listener, Arc::downgrade(&self.inner));
        lock(&self.inner.listeners).push(self.inner.runtime.spawn(task));
        Ok(bound)
    }

    /// A reference to the actor at `address`, whose last segment is its name:
    /// `tcp://127.0.0.1:7001/counter`. Dials if there is no session with that peer yet.
    ///
    /// # Errors
    /// Whatever stands in the way: nobody listens, the peer is no node, no such actor. Each within
    /// the time of a handshake.
    pub async fn actor<I: Interface>(&self, address: &str) -> Result<I::Ref, NodeError> {
        let search = Box::pin(async {
            let (channel, theirs) = self.attach(address, I::SCHEMA.hash).await?;
            let described =
                if theirs == I::SCHEMA.hash { None } else { Some(describe(&channel).await?) };
            let watch = *lock(&self.inner.watch);
            let remote = Remote::<I>::new(channel, described.as_ref(), watch);
            Ok(Ref::remote(Arc::new(remote)).into())
        });
        runtime::on(&self.inner.runtime, opening::bounded(address, search)).await
    }

    /// The same for an actor whose interface this program does not know.
    pub async fn dynamic(&self, address: &str) -> Result<Dynamic, NodeError> {
        let search = Box::pin(async {
            let (channel, _) = self.attach(address, 0).await?;
            Ok(Dynamic::new(channel).await?)
        });
        runtime::on(&self.inner.runtime, opening::bounded(address, search)).await
    }

    /// How long an asker looks for its answer before its thread sleeps, for references that are
    /// fetched from now on. 100 µs unless it is set; zero: never.
    ///
    /// Who awaits one ask at a time sleeps between ask and answer, and to wake a processor costs more
    /// than the rest of a round trip. So the asker lets everybody else of its runtime go first and
    /// looks again, until this time is over. Where answers take longer it is tried ever more rarely,
    /// and with a single processor not at all.
    pub fn watch_answers(&self, limit: Duration) {
        *lock(&self.inner.watch) = limit;
    }

    /// [`listen`](Node::listen) for a thread outside a runtime.
    ///
    /// # Panics
    /// Inside a runtime, which it would stop.
    pub fn blocking_listen(&self, address: &str) -> Result<Address, NodeError> {
        self.inner.runtime.block_on(self.listen(address))
    }

    /// [`actor`](Node::actor) for a thread outside a runtime.
    ///
    /// # Panics
    /// Inside a runtime, which it would stop.
    pub fn blocking_actor<I: Interface>(&self, address: &str) -> Result<I::Ref, NodeError> {
        self.inner.runtime.block_on(self.actor::<I>(address))
    }

    /// What happens to this node's sessions from now on: cuts, resumes, ends. Up to 1,024 events wait.
    pub fn session_events(&self) -> SessionEvents {
        SessionEvents::of(&self.inner.announcer)
    }

    /// What went over each link since it began; links that are over are not in it.
    pub fn statistics(&self) -> Vec<PeerStatistics> {
        let sessions = self.inner.sessions();
        let one =
            |link: &Arc<Link>| PeerStatistics { peer: link.peer.clone(), link: link.statistics() };
        sessions.iter().filter(|link| !link.is_over()).map(one).collect()
    }
}

impl Inner {
    /// Who we are, with a fresh nonce.
    pub(crate) fn identity(&self) -> Identity {
        Identity {
            node: self.node,
            incarnation: self.incarnation,
            nonce: random::id(),
            offered: self.options.features(),
            required: 0,
            limits: self.options.limits,
        }
    }

    pub(crate) fn check_open(&self) -> Result<(), NodeError> {
        if self.closed.load(Ordering::Acquire) { Err(NodeError::Closed) } else { Ok(()) }
    }

    pub(crate) fn sessions(&self) -> MutexGuard<'_, Sessions> {
        lock(&self.sessions)
    }

    /// The living link with that incarnation.
    pub(crate) fn link_with(&self, incarnation: u128) -> Option<Arc<Link>> {
        let sessions = self.sessions();
        sessions.with(incarnation).find(|link| link.sending().ended.is_none()).cloned()
    }

    /// How long a session is kept here after a cut, as a dialer is told.
    pub(crate) fn ttl_ms(&self) -> u64 {
        u64::try_from(self.options.ttl.as_millis()).unwrap_or(u64::MAX)
    }

    /// The session is open: somebody must turn its crank. `dialed` is the address if it was us.
    pub(crate) fn start(
        self: &Arc<Inner>,
        connection: Connection,
        input: ReadBuf,
        opened: &Opened,
        dialed: Option<Address>,
    ) -> Result<Arc<Link>, NodeError> {
        let Opened { session, token, ttl_ms, peer } = *opened;
        let ours = self.identity();
        let both = features::on(peer.offered) & ours.offered & features::RESUME != 0;
        let ttl = Duration::from_millis(if both { ttl_ms } else { 0 });
        let is_dialer = dialed.is_some();
        let source = (!is_dialer).then(|| Source::of(&connection));
        let right = match dialed {
            Some(address) => Right::Dialer(Ticket::new(session, token), address),
            None => Right::Listener(Tickets::new(token)),
        };
        let resuming = Resuming::new(session, ttl.min(SESSION_TTL_MAX), right);
        let begun = Begun {
            ours,
            peer,
            dialed: is_dialer,
            resuming,
            pools: self.pools.clone(),
            node: Arc::downgrade(self),
        };
        let exports = self.exports.clone();
        let link = Link::new(&connection, begun, exports, self.announcer.clone());
        let mut sessions = self.sessions();
        // Looked at under the lock that close takes: no link begins behind its back.
        self.check_open()?;
        let replaced = sessions.with(peer.incarnation).filter(|old| old.is_doubtful());
        replaced.for_each(|old| old.halt());
        sessions.add(&link, source);
        drop(sessions);
        self.arrived.notify_waiters();
        link.announce(SessionChange::Opened);
        let carrier = link.carrier().clone();
        self.tend(link.clone(), carrier, connection, input);
        Ok(link)
    }

    /// Has the runtime care for a session on a connection.
    pub(crate) fn tend(
        self: &Arc<Inner>,
        link: Arc<Link>,
        carrier: Arc<Carrier>,
        connection: Connection,
        input: ReadBuf,
    ) {
        let node = Arc::downgrade(self);
        self.runtime.spawn(driving::tend(link, carrier, connection, input, node));
    }

    /// The link is over.
    pub(crate) fn forget(&self, link: &Arc<Link>) {
        self.sessions().remove(link);
        lock(&self.dialed).retain(|_, dialed| {
            // Held: somebody is dialing there at this moment.
            dialed.try_lock().map_or(true, |dialed| {
                dialed.as_ref().is_none_or(|living| !Arc::ptr_eq(living, link))
            })
        });
    }

    /// Lets nobody in any more.
    pub(crate) fn stop_listening(&self) {
        self.closed.store(true, Ordering::Release);
        lock(&self.listeners).drain(..).for_each(|listener| listener.abort());
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop_listening();
        turns::publish_all();
        let sessions = std::mem::take(&mut *self.sessions());
        let living = sessions.iter().filter(|link| link.sending().ended.is_none());
        let links: Vec<Arc<Link>> = living.cloned().collect();
        for link in &links {
            if !link.flush_blocking(DROP_WAIT) {
                let left = link.sending().sender.outbox.untaken_frames();
                tracing::warn!(peer = %link.peer, left, "a node was dropped with unsent messages");
            }
        }
        // To end a socket while the peer still talks to it would take from the peer what it has not
        // read yet. Where the runtime goes on, the links have time to end in good order.
        runtime::linger(&self.runtime, links);
    }
}

/// The id of the node that has this name.
fn id_of(name: &str) -> u128 {
    let hash = hmac_sha256::Hash::hash(name.as_bytes());
    hash.first_chunk().map_or(0, |half| u128::from_le_bytes(*half))
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whole between two statements, so a panic elsewhere has broken nothing.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A node that may be gone.
pub(crate) type WeakNode = Weak<Inner>;
