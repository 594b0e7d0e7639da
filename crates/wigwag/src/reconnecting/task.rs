//! The task that reaches a peer again, for all references to its actors.
//!
//! It sleeps until a session with the peer ends, or an actor there. Then it dials, with the pauses of
//! a redial, and attaches the references that are detached, until none is left. It ends with the
//! last reference.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep;
use wigwag_net::backoff::Backoff;
use wigwag_net::transport::Boxed;
use wigwag_net::{Address, Redial, clock};
use wigwag_wire::Time;

use crate::connect::handshake::within_handshake_time;
use crate::error::NodeError;
use crate::limits::{REDIAL_LEAST, REDIAL_MOST};
use crate::lock::lock;
use crate::random;
use crate::session::Session;

/// Why there is no next incarnation, where the node is closed.
const CLOSED: &str = "this node is closed";

/// The node, as this task needs it.
pub(crate) trait Dialer: Send + Sync {
    /// The session with the peer at `address`; dials if there is none.
    fn session_to(
        self: Arc<Self>,
        address: Address,
    ) -> Boxed<'static, Result<Arc<Session>, NodeError>>;

    /// True if the node is closed.
    fn is_closed(&self) -> bool;
}

/// A reference that is attached anew.
pub(crate) trait Reattach: Send + Sync {
    /// True if its actor or session has ended and it has no other.
    fn is_detached(&self) -> bool;

    /// Notes when the next attempt is; `None` when it begins.
    fn plan(&self, at: Option<Time>);

    /// Notes why an attempt has failed.
    fn failed(&self, why: &str);

    /// Attaches to the actor over `session`.
    fn attach(self: Arc<Self>, session: Arc<Session>) -> Boxed<'static, Result<(), NodeError>>;

    /// There will be no other attempt, for this reason.
    fn end(&self, why: &str);
}

/// The peers that a node's references come back to. Each has a task as long as there is such a
/// reference.
#[derive(Clone, Default)]
pub(crate) struct Peers(Arc<Mutex<HashMap<Address, Arc<Peer>>>>);

/// One address, and the references to the actors there.
pub(crate) struct Peer {
    node: Weak<dyn Dialer>,
    address: Address,
    wake: Arc<Notify>,
    references: Mutex<Vec<Weak<dyn Reattach>>>,
    /// Why the task has ended.
    over: OnceLock<&'static str>,
}

impl Peers {
    /// The peer at `address`, with its task. `serve` is called while the task cannot end.
    pub(crate) fn with<T>(
        &self,
        address: &Address,
        node: &Weak<dyn Dialer>,
        runtime: &Handle,
        serve: impl FnOnce(Arc<Peer>) -> T,
    ) -> T {
        let mut peers = lock(&self.0);
        let peer = peers.entry(address.clone()).or_insert_with(|| {
            let peer = Arc::new(Peer {
                node: node.clone(),
                address: address.clone(),
                wake: Arc::default(),
                references: Mutex::default(),
                over: OnceLock::new(),
            });
            runtime.spawn(EndOnDrop(peer.clone()).run(self.clone()));
            peer
        });
        serve(peer.clone())
    }

    /// Wakes all tasks: the node is closing.
    pub(crate) fn wake_all(&self) {
        lock(&self.0).values().for_each(|peer| peer.wake.notify_one());
    }
}

impl Peer {
    /// Notified when a session, an actor or a reference has ended.
    pub(crate) fn wake(&self) -> &Arc<Notify> {
        &self.wake
    }

    /// Serves a reference from now on.
    pub(crate) fn serve(&self, reference: &Arc<dyn Reattach>) {
        lock(&self.references).push(Arc::downgrade(reference));
    }

    /// Waits until the node is closed.
    async fn closed(&self) {
        while self.over().is_none() {
            self.wake.notified().await;
        }
    }

    /// Why no reference is attached any more: the node is closed, or the task has ended.
    pub(crate) fn over(&self) -> Option<&'static str> {
        let is_closed = || self.node.upgrade().is_none_or(|node| node.is_closed());
        self.over.get().copied().or_else(|| is_closed().then_some(CLOSED))
    }

    /// The references that exist.
    fn references(&self) -> Vec<Arc<dyn Reattach>> {
        let mut references = lock(&self.references);
        references.retain(|reference| reference.strong_count() > 0);
        references.iter().filter_map(Weak::upgrade).collect()
    }

    fn detached(&self) -> Vec<Arc<dyn Reattach>> {
        let mut references = self.references();
        references.retain(|reference| reference.is_detached());
        references
    }

    /// Attaches all detached references.
    async fn reattach(&self, pauses: &mut Backoff) {
        loop {
            let detached = self.detached();
            if detached.is_empty() {
                return;
            }
            let pause = pauses.next(random::id() as u64);
            let at = clock::now() + pause;
            detached.iter().for_each(|reference| reference.plan(Some(at)));
            // A pause keeps no reference that its user drops.
            drop(detached);
            sleep(pause).await;
            self.attempt().await;
        }
    }

    /// Dials once, and attaches what it can.
    async fn attempt(&self) {
        let Some(node) = self.node.upgrade() else { return };
        self.detached().iter().for_each(|reference| reference.plan(None));
        let dialed = node.session_to(self.address.clone());
        let text = self.address.to_string();
        let session = match within_handshake_time(&text, dialed).await {
            Ok(session) => session,
            Err(error) => {
                let reason = error.reason();
                tracing::debug!(peer = %text, reason, "a reference waits for its peer");
                self.detached().iter().for_each(|reference| reference.failed(&reason));
                return;
            }
        };
        let mut attaching = JoinSet::new();
        for reference in self.detached() {
            let (session, text) = (session.clone(), text.clone());
            attaching.spawn(async move {
                let attach = reference.clone().attach(session);
                if let Err(error) = within_handshake_time(&text, attach).await {
                    reference.failed(&error.reason());
                }
            });
        }
        while attaching.join_next().await.is_some() {}
    }
}

/// A peer's task. When the runtime drops it, callers no longer wait.
struct EndOnDrop(Arc<Peer>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        let why = self.0.over().unwrap_or("the runtime has ended");
        // Before the references end: one that is detached later reads it.
        self.0.over.get_or_init(|| why);
        self.0.detached().iter().for_each(|reference| reference.end(why));
    }
}

impl EndOnDrop {
    async fn run(self, peers: Peers) {
        let peer = &self.0;
        let bounds = Redial::new(REDIAL_LEAST, REDIAL_MOST).unwrap_or_default();
        let mut pauses = Backoff::immediate(bounds);
        loop {
            let attached_at = clock::now();
            peer.wake.notified().await;
            // A peer whose sessions end at once is dialed no more often than one that refuses them.
            if clock::now().since(attached_at) >= REDIAL_MOST {
                pauses = Backoff::immediate(bounds);
            }
            tokio::select! {
                // Takes notifications, and looks for detached references itself.
                () = peer.reattach(&mut pauses) => {}
                () = peer.closed() => break,
            }
            let mut peers = lock(&peers.0);
            // References are added under this lock.
            if peer.references().is_empty() {
                peers.remove(&peer.address);
                return;
            }
        }
        lock(&peers.0).remove(&peer.address);
    }
}
