//! The state shared by the clones of a node, its listeners and its sessions.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;
use wigwag_link::opening::resume::{Credentials, Ticket, TicketVerifier};
use wigwag_link::{Code, Identity, Opened, features};
use wigwag_net::places::Places;
use wigwag_net::source::Source;
use wigwag_net::transport::Boxed;
use wigwag_net::{Address, Connection, DialOptions, clock};
use wigwag_wire::ReadBuf;

use super::dial::{DialedSession, PendingSessions};
use super::flush::LostSessions;
use super::listeners::Listeners;
use super::options::NodeOptions;
use super::sessions::SessionTable;
use super::{Node, drive, id_of, runtime};
use wigwag_actor::{losses, turn};

use crate::access::{IdentityPlace, NodeAccess};
use crate::error::NodeError;
use crate::events::{Announcer, SessionChange};
use crate::exported_groups::GroupTable;
use crate::exports::Exports;
use crate::limits::{DROP_WAIT, SESSION_TTL_MAX};
use crate::lock::lock;
use crate::metrics::counters::NodeCounters;
use crate::metrics::observer::MetricsSource;
use crate::metrics::{Metrics, SessionStatistics};
use crate::proxy::rooms::Rooms;
use crate::random;
use crate::reconnecting::task::{Dialer, Peers};
use crate::session::connection::SessionConnection;
use crate::session::resumption::Resumption;
use crate::session::{Session, SessionOwner, SessionStart};
use crate::sp_clients::{SpClients, Stage};

pub(crate) struct Inner {
    pub(crate) node: u128,
    pub(crate) incarnation: u128,
    pub(crate) options: NodeOptions,
    pub(crate) announcer: Announcer,
    pub(crate) access: Arc<NodeAccess>,
    pub(crate) counters: NodeCounters,
    pub(crate) exports: Arc<Exports>,
    pub(crate) groups: Arc<GroupTable>,
    pub(crate) sp_clients: Arc<SpClients>,
    /// The room of each actor for the calls of proxies.
    pub(crate) proxy_rooms: Arc<Rooms>,
    pub(crate) sessions: Mutex<SessionTable>,
    /// Notified when a session was added to `sessions`, and at the end of the node.
    pub(crate) session_added: Arc<Notify>,
    /// Peers that a session is being opened with.
    pub(crate) pending_sessions: Mutex<PendingSessions>,
    pub(crate) dialed_sessions: Mutex<HashMap<Address, DialedSession>>,
    pub(crate) listeners: Listeners,
    pub(crate) pending_handshakes: Arc<Places>,
    pub(crate) runtime: Handle,
    pub(crate) closed: AtomicBool,
    /// Peers that references come back to.
    pub(crate) peers: Peers,
    /// Sessions that were lost since the last flush.
    pub(crate) lost: LostSessions,
    /// How long an ask spins for its answer before its thread parks.
    pub(crate) answer_spin: Mutex<Duration>,
    /// One permit for each reference to an actor of a third node that is dialed at a time.
    pub(crate) reaching: Semaphore,
}

impl Inner {
    /// This node's identity, with a fresh nonce.
    pub(crate) fn identity(&self) -> Identity {
        Identity {
            node: self.node,
            incarnation: self.incarnation,
            nonce: random::id(),
            offered: self.options.features(),
            required: 0,
            limits: self.options.limits(),
        }
    }

    pub(crate) fn check_open(&self) -> Result<(), NodeError> {
        if self.closed.load(Ordering::Acquire) { Err(NodeError::Closed) } else { Ok(()) }
    }

    /// Refuses what needs the node's runtime when there is none any more: timers of one that has ended
    /// panic, and its tasks never run.
    pub(crate) fn check_running(&self) -> Result<(), NodeError> {
        self.check_open()?;
        if runtime::has_ended(&self.runtime) { Err(NodeError::RuntimeEnded) } else { Ok(()) }
    }

    pub(crate) fn sessions(&self) -> MutexGuard<'_, SessionTable> {
        lock(&self.sessions)
    }

    /// The live session with this incarnation of a peer.
    pub(crate) fn session_with(&self, incarnation: u128) -> Option<Arc<Session>> {
        let sessions = self.sessions();
        sessions.with(incarnation).find(|session| session.sending().ended.is_none()).cloned()
    }

    /// The live session with this incarnation of a peer for a reference to one of its actors, whose node
    /// listens at `addresses`; none that a dial there would not use either.
    pub(crate) fn session_for(
        &self,
        incarnation: u128,
        addresses: &[Arc<str>],
    ) -> Option<Arc<Session>> {
        let is_tls = |address: &Arc<str>| {
            ["tls+tcp://", "wss://"].iter().any(|scheme| address.starts_with(scheme))
        };
        let has_certificate = addresses.iter().any(is_tls);
        self.session_with(incarnation).filter(|session| {
            self.access.check_reused(session.principal(), has_certificate).is_ok()
        })
    }

    /// How long a session is kept after a cut, as announced to dialers.
    pub(crate) fn ttl_ms(&self) -> u64 {
        u64::try_from(self.options.ttl.as_millis()).unwrap_or(u64::MAX)
    }

    /// Starts an opened session on the runtime. `dialed` is the address if this node has dialed, and the
    /// options with which it dials again.
    pub(crate) fn start(
        self: &Arc<Inner>,
        connection: Connection,
        input: ReadBuf,
        opened: &Opened,
        dialed: Option<(Address, DialOptions)>,
        identity_place: IdentityPlace,
    ) -> Result<Arc<Session>, NodeError> {
        let Opened { session: id, token, ttl_ms, peer, .. } = *opened;
        // Nobody can take the name of another: the id that HELLO announces is its hash.
        let peer_name = opened.peer_name.as_deref().filter(|name| id_of(name) == peer.node);
        let ours = self.identity();
        let can_resume = features::on(peer.offered) & ours.offered & features::RESUME != 0;
        let ttl = Duration::from_millis(if can_resume { ttl_ms } else { 0 });
        let is_dialer = dialed.is_some();
        let source = (!is_dialer).then(|| Source::of(&connection));
        let credentials = match dialed {
            Some(_) => Credentials::Dialer(Ticket::new(id, token)),
            None => Credentials::Listener(TicketVerifier::new(token)),
        };
        let ttl = ttl.min(SESSION_TTL_MAX);
        let (dialed, dial_options) = dialed.unzip();
        let dial_options = dial_options.unwrap_or_default();
        let resumption = Resumption::new(id, ttl, credentials, dialed, dial_options);
        let start = SessionStart {
            ours,
            peer,
            peer_name: peer_name.map(Arc::from),
            dialed: is_dialer,
            relays: self.options.relays_references,
            resumption,
            access: self.access.clone(),
            identity_place,
            owner: Arc::downgrade(self) as Weak<dyn SessionOwner>,
        };
        let exports = self.exports.clone();
        let session = Session::new(&connection, start, exports, self.announcer.clone());
        let mut sessions = self.sessions();
        // Checked under the lock that `close` takes, so no session starts behind its back.
        self.check_open()?;
        let replaced = sessions.with(peer.incarnation).filter(|old| old.is_doubtful());
        replaced.for_each(|old| old.halt());
        sessions.add(&session, source);
        drop(sessions);
        self.session_added.notify_waiters();
        session.announce(SessionChange::Opened);
        let session_connection = session.connection().clone();
        self.drive_session(session.clone(), session_connection, connection, input);
        Ok(session)
    }

    /// Spawns the task that drives a session on a connection.
    pub(crate) fn drive_session(
        self: &Arc<Inner>,
        session: Arc<Session>,
        session_connection: Arc<SessionConnection>,
        connection: Connection,
        input: ReadBuf,
    ) {
        let node = Arc::downgrade(self);
        self.runtime.spawn(drive::drive_session(
            session,
            session_connection,
            connection,
            input,
            node,
        ));
    }

    /// Removes a session that has ended.
    pub(crate) fn forget(&self, session: &Arc<Session>) {
        self.sessions().remove(session);
        lock(&self.dialed_sessions).retain(|_, dialed| {
            // The lock is held during a dial to that address.
            dialed.try_lock().map_or(true, |dialed| {
                dialed.as_ref().is_none_or(|living| !Arc::ptr_eq(living, session))
            })
        });
    }

    /// Stops all listeners and refuses new work. Returns the tasks of the listeners, which end by that.
    pub(crate) fn refuse_work(&self) -> Vec<JoinHandle<()>> {
        self.closed.store(true, Ordering::Release);
        self.sp_clients.advance(Stage::Closing);
        let stopped = self.listeners.close();
        self.peers.wake_all();
        // Tasks that wait for sessions find the node closed.
        self.session_added.notify_waiters();
        stopped
    }
}

impl Dialer for Inner {
    fn session_to(
        self: Arc<Inner>,
        address: Address,
    ) -> Boxed<'static, Result<Arc<Session>, NodeError>> {
        Box::pin(async move { Node { inner: self }.session_to(&address).await })
    }

    fn is_closed(&self) -> bool {
        self.check_open().is_err()
    }
}

impl SessionOwner for Inner {
    fn free_channels(&self) {
        let cut = self.sessions().evict_longest_cut();
        cut.inspect(|cut| cut.dismiss(Code::TOO_MANY, "its channels were needed for others"));
    }

    fn session_lost(&self, peer: &Arc<str>, why: &Arc<str>) {
        self.lost.add(peer, why);
    }

    fn session_ended(&self, is_closed: bool, counters: &SessionStatistics) {
        self.counters.session_ended(is_closed, counters);
    }

    fn session_evicted(&self) {
        self.counters.session_evicted();
    }

    fn living_session(&self, incarnation: u128, addresses: &[Arc<str>]) -> Option<Arc<Session>> {
        self.session_for(incarnation, addresses)
    }

    fn reach(
        self: Arc<Inner>,
        incarnation: u128,
        addresses: Vec<Arc<str>>,
    ) -> Boxed<'static, Result<Arc<Session>, NodeError>> {
        Box::pin(async move { Node { inner: self }.reach(incarnation, &addresses).await })
    }

    fn own_addresses(&self) -> Vec<Arc<str>> {
        self.listeners.advertised()
    }

    fn answer_spin(&self) -> Duration {
        *lock(&self.answer_spin)
    }

    fn runtime(&self) -> &Handle {
        &self.runtime
    }
}

impl MetricsSource for Inner {
    fn metrics(&self) -> Metrics {
        let sessions: Vec<Arc<Session>> = self.sessions().iter().cloned().collect();
        let uptime = clock::now().since(self.counters.started_at);
        let metrics = Metrics {
            node: self.options.name.clone(),
            uptime_ms: uptime.as_millis() as u64,
            actors: self.exports.metrics(),
            sessions: sessions.iter().filter_map(|session| session.metrics()).collect(),
            ended: self.counters.ended_sessions(),
            acceptor: self.counters.acceptor_metrics(self.pending_handshakes.count() as u64),
            sp_clients: self.sp_clients.statistics(),
            lost_tells: losses().into(),
            ..Metrics::default()
        };
        metrics.bounded()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        drop(self.refuse_work());
        self.sp_clients.finish();
        turn::buffers::publish_all();
        let sessions = std::mem::take(&mut *self.sessions());
        let living = sessions.iter().filter(|session| session.sending().ended.is_none());
        let sessions: Vec<Arc<Session>> = living.cloned().collect();
        for session in &sessions {
            let is_written = session.flush_blocking(DROP_WAIT);
            // Of a long message, only as much leaves as the peer acknowledges.
            let (left, _) = session.sending().sender.outbox.unsettled();
            if !is_written || left > 0 {
                tracing::warn!(peer = %session.peer, left, "a node was dropped with unsent messages");
            }
        }
        // Closing a socket while the peer still sends would destroy what the peer has not read yet.
        // If the runtime goes on, the sessions have time to end in good order.
        runtime::close_in_background(&self.runtime, sessions);
    }
}

/// A weak reference to a node.
pub(crate) type WeakNode = Weak<Inner>;
