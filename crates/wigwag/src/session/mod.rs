//! Sessions between two nodes: their events and statistics.
//!
//! A program needs this module to watch what happens to its connections:
//! [`Node::session_events`](crate::Node::session_events) reports cuts, resumptions and ends, and
//! [`Node::statistics`](crate::Node::statistics) the traffic of each session.

// A session with one peer, shared by its driver and all senders.
//
// A session moves from connection (`connection.rs`) to connection; the state in here
// stays. There are three locks, taken in this order where several are held: `reading` (the
// driver, and a thread that resumes the session), `connection` (whatever thread writes), `sending`
// (every sender). No lock is held across a
// wait. Outstanding asks need none of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore};
use wigwag_actor::lifecycle::handle::fresh_number;
use wigwag_actor::reply::cancelled::CancelledAsks;
use wigwag_actor::{Caller, Principal, Reason};
use wigwag_link::budget::Pools;
use wigwag_link::{Identity, SendHalf, features};
use wigwag_net::transport::Boxed;
use wigwag_net::{Connection, clock};
use wigwag_wire::Time;
use wigwag_wire::run::RUN_BODY_BYTES_MAX;

use crate::access::{IdentityPlace, NodeAccess};
use crate::error::NodeError;
use crate::events::Announcer;
use crate::exports::Exports;
use crate::limits::{CODEC_FIXED, CODEC_MESSAGEPACK};
use crate::replies::asks::AskTable;
use crate::session::ask_waits::AskWaits;
use crate::session::attach::routes::SharedRoutes;
use crate::session::buffers::held::HeldFrames;
use crate::session::connection::SessionConnection;
use crate::session::fence::Fence;
use crate::session::pipes::SessionPipes;
use crate::session::receive::RecvState;
use crate::session::receive::next_call::NextCall;
use crate::session::resumption::Resumption;
use crate::session::watchdog::WakeWatch;
use crate::streams::{ReadStreams, SentStreams};
use crate::sync::{AtomicBool, AtomicU64, Ordering};

pub use crate::events::{
    Delivery, HeldActor, HeldActors, PeerHoldings, SessionChange, SessionEvent, SessionEvents,
};
pub use statistics::{PeerStatistics, SessionStatistics};
pub use wigwag_link::{Code, LinkError};

pub(crate) mod connection;
pub(crate) mod sending;
pub(crate) mod fence;
pub(crate) mod resumption;
pub(crate) mod buffers;
pub(crate) mod receive;
pub(crate) mod rejected;
pub(crate) mod outcome;
pub(crate) mod attach;
pub(crate) mod references;
pub(crate) mod pipes;
pub(crate) mod links;
pub(crate) mod stream_values;
pub(crate) mod watchdog;
pub(crate) mod statistics;
mod ask_waits;
mod reconnect;
mod flush;
mod end;

pub(crate) use attach::{Attached, OpenedChannel};
use links::SessionLinks;
use references::SessionReferences;
use references::held::HeldChannels;
pub(crate) use sending::{OutboundChannel, SendState};
use stream_values::StreamValues;

/// Why a session is over, in words. Each caller gets the outcome of its own calls.
#[derive(Clone, Debug)]
pub(crate) struct SessionEnd {
    pub(crate) why: Arc<str>,
    pub(crate) how: EndKind,
    /// The actors that the peer held, if somebody is told.
    held: HeldActors,
}

/// How a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndKind {
    /// One of its nodes was closed.
    Closed,
    /// It was lost, or given up.
    Lost,
}

impl SessionEnd {
    /// Why the actors of the peer cannot be reached.
    pub(crate) fn reason(&self) -> Reason {
        match self.how {
            EndKind::Closed => Reason::NodeClosed,
            EndKind::Lost => Reason::Unreachable(self.why.clone()),
        }
    }
}

/// The interface of the node for its sessions.
pub(crate) trait SessionOwner: Send + Sync {
    /// Ends the session that has been without a connection for longest, if there is one, to free
    /// its channels.
    fn free_channels(&self);

    /// A session has ended with calls that its peer may not have.
    fn session_lost(&self, peer: &Arc<str>, why: &Arc<str>);

    /// A session has ended, with these counters; `is_closed` if it was closed in good order.
    fn session_ended(&self, is_closed: bool, counters: &SessionStatistics);

    /// The node gives up a session.
    fn session_evicted(&self);

    /// The living session with this incarnation of a peer, which listens at `addresses`.
    fn living_session(&self, incarnation: u128, addresses: &[Arc<str>]) -> Option<Arc<Session>>;

    /// A session with this incarnation of a peer, which may be reached at `addresses`.
    fn reach(
        self: Arc<Self>,
        incarnation: u128,
        addresses: Vec<Arc<str>>,
    ) -> Boxed<'static, Result<Arc<Session>, NodeError>>;

    /// The addresses at which other nodes may reach this one.
    fn own_addresses(&self) -> Vec<Arc<str>>;

    /// How long an ask spins for its answer before its thread parks.
    fn answer_spin(&self) -> Duration;

    /// The runtime of the node.
    fn runtime(&self) -> &Handle;
}

/// A session with one peer.
pub(crate) struct Session {
    /// No other session of the process has it.
    number: u64,
    pub(crate) peer: Arc<str>,
    pub(crate) peer_name: Option<Arc<str>>,
    pub(crate) identity: Identity,
    /// The access control of the node.
    pub(crate) access: Arc<NodeAccess>,
    /// The place of the session among those of the peer's authenticated identity, until its end.
    pub(crate) identity_place: IdentityPlace,
    /// This node's identity towards the peer.
    pub(crate) ours: Identity,
    /// The peer understands runs.
    pub(crate) runs: bool,
    /// The peer understands mixed runs.
    pub(crate) mixed_runs: bool,
    /// Bytes of the longest call or reply that the peer accepts, with its head.
    pub(crate) message_max: u64,
    /// The peer knows calls and replies that come in parts.
    knows_parts: bool,
    /// The peer counts the tells that it has taken and rejected.
    counts_tells: bool,
    /// References to actors as values.
    pub(crate) references: SessionReferences,
    /// An ask that either side cancels and the other has not begun is not handled.
    pub(crate) cancels: bool,
    /// The asks that the peer has cancelled.
    pub(crate) cancelled: CancelledAsks,
    /// The peer knows streams.
    pub(crate) streams: bool,
    /// Calls carry their trace context.
    pub(crate) traces: bool,
    pub(crate) read_streams: ReadStreams,
    pub(crate) sent_streams: SentStreams,
    /// Channels to actors that answers lead to.
    pub(crate) pipes: SessionPipes,
    /// Streams as values.
    pub(crate) stream_values: StreamValues,
    /// Links between actors of the two nodes.
    pub(crate) links: SessionLinks,
    /// The channels of the peer, for people.
    pub(crate) held_channels: HeldChannels,
    /// The best codec that a channel may use.
    pub(crate) codec: u8,
    /// This node has dialed, not the peer.
    pub(crate) dialed: bool,
    connection: RwLock<Arc<SessionConnection>>,
    pub(crate) resumption: Resumption,
    announcer: Announcer,
    pub(crate) asks: AskTable,
    ask_waits: Arc<AskWaits>,
    /// One permit for each ATTACH that the peer accepts unanswered.
    attaches: Arc<Semaphore>,
    pub(crate) reading: Fence<RecvState>,
    /// Whether the driver spins for the next call.
    pub(crate) next_call: NextCall,
    sending: Mutex<SendState>,
    /// Notified when frames were acknowledged or the session has ended.
    pub(crate) progress: Notify,
    /// Callers that wait for an acknowledgement of less than everything.
    flushing: AtomicU64,
    /// The session's task is to end, whatever its connection does.
    is_halting: AtomicBool,
    halt_requested: Notify,
    has_ended: AtomicBool,
    draining: AtomicBool,
    /// When the session began.
    pub(crate) started_at: Time,
    /// The time at which bytes were last received; 0 before the first ones.
    pub(crate) last_received: AtomicU64,
    /// Channels of the peer that are open or have unhandled calls.
    pub(crate) inbound_channels: AtomicU64,
    /// Asks of the peer that have reached an actor's queue: each has one completion.
    pub(crate) asks_received: AtomicU64,
    shared_routes: Mutex<SharedRoutes>,
    held: HeldFrames,
    me: Weak<Session>,
    runtime: Option<Handle>,
    pub(crate) wake_watch: WakeWatch,
    pub(crate) pools: Arc<Pools>,
    pub(crate) owner: Weak<dyn SessionOwner>,
}

/// The parameters of a new session.
pub(crate) struct SessionStart {
    /// This node's identity.
    pub(crate) ours: Identity,
    /// The peer's identity.
    pub(crate) peer: Identity,
    /// The peer's name, if it has one.
    pub(crate) peer_name: Option<Arc<str>>,
    /// This node has dialed, not the peer.
    pub(crate) dialed: bool,
    /// Calls to actors of third nodes are passed on.
    pub(crate) relays: bool,
    pub(crate) resumption: Resumption,
    pub(crate) access: Arc<NodeAccess>,
    pub(crate) identity_place: IdentityPlace,
    pub(crate) owner: Weak<dyn SessionOwner>,
}

impl Session {
    pub(crate) fn new(
        connection: &Connection,
        start: SessionStart,
        exports: Arc<Exports>,
        announcer: Announcer,
    ) -> Arc<Session> {
        let SessionStart { ours, peer: identity, peer_name, dialed, relays, .. } = start;
        let SessionStart { resumption, access, identity_place, owner, .. } = start;
        let pools = identity_place.identity().pools.clone();
        let features = features::on(identity.offered) & ours.offered;
        let sender = SendHalf::new(&ours.limits, identity.limits, clock::now());
        let sender = sender.with_features(features).with_pools(pools.clone());
        Arc::new_cyclic(|me: &Weak<Session>| Session {
            number: fresh_number(),
            runs: features & features::RUNS != 0
                && identity.limits.body_max() >= RUN_BODY_BYTES_MAX as u64,
            mixed_runs: features::has_mixed_runs(features),
            message_max: sender.message_max(),
            knows_parts: features & features::PARTS != 0,
            counts_tells: features & features::OUTCOMES != 0,
            references: SessionReferences::new(features, relays, exports.references.clone()),
            cancels: features & features::CANCELLING != 0,
            cancelled: CancelledAsks::default(),
            streams: features::has_streams(features),
            traces: features & features::TRACE_CONTEXT != 0,
            read_streams: ReadStreams::default(),
            sent_streams: SentStreams::default(),
            pipes: SessionPipes::new(features),
            stream_values: StreamValues::new(features),
            links: SessionLinks::new(features),
            held_channels: HeldChannels::default(),
            codec: if features & features::FIXED != 0 { CODEC_FIXED } else { CODEC_MESSAGEPACK },
            peer: connection.peer.clone(),
            peer_name,
            identity,
            access,
            identity_place,
            ours,
            dialed,
            connection: RwLock::new(Arc::new(SessionConnection::new(0, connection))),
            resumption,
            announcer,
            asks: AskTable::new(identity.limits.slots_max),
            ask_waits: Arc::default(),
            attaches: attach::attaches(&identity.limits),
            reading: Fence::new(RecvState::new(
                me.clone(),
                features,
                &ours.limits,
                exports,
                pools.clone(),
            )),
            next_call: NextCall::new(
                owner.upgrade().map_or(Duration::ZERO, |owner| owner.answer_spin()),
            ),
            sending: Mutex::new(SendState::new(sender)),
            progress: Notify::new(),
            flushing: AtomicU64::new(0),
            is_halting: AtomicBool::new(false),
            halt_requested: Notify::new(),
            has_ended: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            started_at: clock::now(),
            last_received: AtomicU64::new(0),
            inbound_channels: AtomicU64::new(0),
            asks_received: AtomicU64::new(0),
            shared_routes: Mutex::default(),
            held: HeldFrames::default(),
            me: me.clone(),
            runtime: Handle::try_current().ok(),
            wake_watch: WakeWatch::default(),
            pools,
            owner,
        })
    }

    /// A number that no other session of the process has.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The authenticated identity of the peer.
    pub(crate) fn principal(&self) -> &Principal {
        &self.identity_place.identity().principal
    }

    /// The caller of the calls that come over this session.
    pub(crate) fn caller(&self) -> Caller {
        Caller::new(self.principal().clone(), self.peer.clone(), self.peer_name.clone())
    }

    pub(crate) fn sending(&self) -> MutexGuard<'_, SendState> {
        // The value is consistent between statements, so a panic elsewhere cannot have broken it.
        self.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A hint, without the lock: true if nothing can be sent any more.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    /// The connection that carries the session, or carried it last.
    pub(crate) fn connection(&self) -> RwLockReadGuard<'_, Arc<SessionConnection>> {
        self.connection.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts draining: this side sends no new calls.
    pub(crate) fn start_draining(&self) {
        let mut sending = self.sending();
        sending.draining = true;
        // Stored under the lock that the reader takes at the end of a batch: either the reader sees
        // the flag, or this thread sees everything that the batch has brought.
        self.draining.store(true, Ordering::Relaxed);
    }

    /// True after [`start_draining`](Self::start_draining).
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Says that a call or reply of `bytes` bytes is longer than `receiver` accepts.
    #[cold]
    pub(crate) fn too_large(&self, what: &str, bytes: usize, receiver: &str) -> String {
        let most = self.message_max;
        let hint = match self.knows_parts {
            true => "`NodeOptions::message_bytes_max` of its node raises that",
            false => "a later release of its node accepts more",
        };
        format!("{what} has {bytes} bytes, {receiver} accepts {most}: {hint}")
    }

    pub(crate) fn announce(&self, what: SessionChange) {
        what.log(&self.peer, self.number);
        self.announcer.announce(|| self.caller(), what);
    }
}

#[cfg(test)]
pub(crate) mod tests;
