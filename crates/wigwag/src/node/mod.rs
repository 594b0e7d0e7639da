//! A node: the place from which actors are exported and others' actors are reached.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use wigwag_actor::limits::ANSWER_WATCH;
use wigwag_actor::{Interface, Ref};
use wigwag_link::budget::Pools;
use wigwag_net::strangers::Strangers;
use wigwag_net::{Address, ListenOptions};

use crate::connect::handshake;
use crate::error::NodeError;
use crate::events::{Announcer, SessionEvents};
use crate::limits::HANDSHAKES_MAX;
use crate::lock::lock;
use crate::random;
use crate::send::dynamic::{Dynamic, describe};
use crate::send::remote::Remote;
use crate::session::{Session, SessionStatistics};

pub(crate) mod options;
pub(crate) mod sessions;
mod inner;
mod dial;
mod accept;
mod drive;
pub(crate) mod runtime;
pub(crate) mod close;

use inner::Inner;
use options::NodeOptions;

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

/// What a node has to do with each of its peers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PeerStatistics {
    /// Who is at the other end.
    pub peer: Arc<str>,
    /// What went over the link.
    pub session: SessionStatistics,
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
            session_added: tokio::sync::Notify::new(),
            pending_sessions: Mutex::default(),
            dialed_sessions: Mutex::default(),
            listeners: Mutex::default(),
            pending_handshakes: Strangers::new(HANDSHAKES_MAX),
            runtime,
            closed: AtomicBool::new(false),
            answer_spin: Mutex::new(ANSWER_WATCH),
        };
        let node = Node { inner: Arc::new(inner) };
        runtime::register(&node.inner);
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
        let listener = runtime::enter(&self.inner.runtime, listening).await?;
        let bound = listener.address().clone();
        let task = accept::listen(listener, Arc::downgrade(&self.inner));
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
        let attach = Box::pin(async {
            let (channel, theirs) = self.attach(address, I::SCHEMA.hash).await?;
            let described =
                if theirs == I::SCHEMA.hash { None } else { Some(describe(&channel).await?) };
            let answer_spin = *lock(&self.inner.answer_spin);
            let remote = Remote::<I>::new(channel, described.as_ref(), answer_spin);
            Ok(Ref::remote(Arc::new(remote)).into())
        });
        runtime::enter(&self.inner.runtime, handshake::within_handshake_time(address, attach)).await
    }

    /// The same for an actor whose interface this program does not know.
    pub async fn dynamic(&self, address: &str) -> Result<Dynamic, NodeError> {
        let attach = Box::pin(async {
            let (channel, _) = self.attach(address, 0).await?;
            Ok(Dynamic::new(channel).await?)
        });
        runtime::enter(&self.inner.runtime, handshake::within_handshake_time(address, attach)).await
    }

    /// How long an asker looks for its answer before its thread sleeps, for references that are
    /// fetched from now on. 100 µs unless it is set; zero: never.
    ///
    /// Who awaits one ask at a time sleeps between ask and answer, and to wake a processor costs more
    /// than the rest of a round trip. So the asker lets everybody else of its runtime go first and
    /// looks again, until this time is over. Where answers take longer it is tried ever more rarely,
    /// and with a single processor not at all.
    pub fn watch_answers(&self, limit: Duration) {
        *lock(&self.inner.answer_spin) = limit;
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
        let statistics = |session: &Arc<Session>| PeerStatistics {
            peer: session.peer.clone(),
            session: session.statistics(),
        };
        sessions.iter().filter(|session| !session.has_ended()).map(statistics).collect()
    }
}

/// The id of the node that has this name.
fn id_of(name: &str) -> u128 {
    let hash = hmac_sha256::Hash::hash(name.as_bytes());
    hash.first_chunk().map_or(0, |half| u128::from_le_bytes(*half))
}
