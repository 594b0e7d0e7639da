//! A session with one peer, shared by its driver and by everybody who sends.
//!
//! It goes from [connection](crate::session::connection) to connection; what is in here stays. Three locks, in
//! this order when more are held: `reading` (the driver alone), `connection` (who writes), `sending`
//! (every sender). None is held while waiting. The asks that wait for an answer need none of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, Weak};
use std::task::Waker;
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};
use wigwag_actor::{CallError, CallErrorKind, Parked, Ticket};
use wigwag_link::budget::Pools;
use wigwag_link::send_half::Outgoing;
use wigwag_link::{Code, Identity, SendHalf, features};
use wigwag_net::{Connection, clock};
use wigwag_wire::Time;
use wigwag_wire::run::RUN_BODY_BYTES_MAX;

use crate::events::{Announcer, SessionChange};
use crate::exports::Exports;
use crate::limits::{CODEC_FIXED, CODEC_MESSAGEPACK};
use crate::replies::asks::AskTable;
use crate::replies::ring::Ring;
use crate::session::connection::{DrivenSession, SessionConnection};
use crate::session::fence::Fence;
use crate::session::receive::RecvState;
use crate::session::resumption::Resumption;
use crate::sync::{AtomicBool, AtomicU64, Ordering};

pub(crate) mod connection;
pub(crate) mod fence;
pub(crate) mod resumption;
pub(crate) mod buffers;
pub(crate) mod receive;
pub(crate) mod outcome;
mod attach;
mod reconnect;
mod end;

pub(crate) use attach::Attached;
use attach::Attaching;

/// Senders of each channel that are woken when room in the link or a slot has come free.
const FRONT_WAKES: u64 = 16;

/// Why a link is over, in words; what came of the calls is told to each caller.
#[derive(Clone, Debug)]
pub(crate) struct SessionEnd {
    pub(crate) why: Arc<str>,
}

/// What we know of a channel of ours beside its credit.
pub(crate) struct OutboundChannel {
    /// The actor's address.
    pub(crate) target: Arc<str>,
    /// Calls that were published.
    pub(crate) called: u64,
    /// Calls that a turn held back when the session ended.
    pub(crate) held_back: u64,
    /// Calls of which the peer says that their handlers have ended.
    pub(crate) handled: u64,
    pub(crate) parked: Parked,
    /// Turns that hold credit of this channel and have not published yet.
    pub(crate) turns: u32,
    /// The last reference is gone; detach when `turns` is zero.
    pub(crate) detach_wanted: bool,
    /// The receiver is done with it; calls fail with this.
    pub(crate) gone: Option<CallErrorKind>,
    attaching: Option<Attaching>,
}

/// Bytes and frames of one link, both ways, since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionStatistics {
    /// Bytes handed to the transport: framing, headers and all.
    pub bytes_sent: u64,
    /// SP messages handed to the transport.
    pub batches_sent: u64,
    /// Sequenced frames published.
    pub frames_sent: u64,
    /// Bytes of the SP messages received.
    pub bytes_received: u64,
    /// SP messages received.
    pub batches_received: u64,
    /// Sequenced frames accepted.
    pub frames_received: u64,
    /// Tells that could not be delivered: no such method, wrong arguments, actor stopped.
    pub tells_undeliverable: u64,
    /// Times that a sender found no credit or no room and had to wait or was refused.
    pub credit_stalls: u64,
    /// Connections that were lost.
    pub cuts: u64,
    /// Connections that have taken the session up again.
    pub resumes: u64,
    /// Frames that had to go once more.
    pub frames_repeated: u64,
}

/// What senders share.
pub(crate) struct SendState {
    pub(crate) sender: SendHalf,
    pub(crate) channels: Vec<OutboundChannel>,
    /// The connection that may take frames.
    pub(crate) epoch: u64,
    /// Since when there is no connection.
    cut: Option<Time>,
    outgoing: Outgoing,
    pub(crate) ended: Option<SessionEnd>,
    /// The end was announced.
    is_announced: bool,
    /// The peer takes no new calls.
    pub(crate) draining: bool,
    pub(crate) statistics: SessionStatistics,
}

/// The node, as its sessions see it.
pub(crate) trait SessionOwner: Send + Sync {
    /// Ends the session that has been without a connection for longest, if there is one: it holds
    /// channels that others need.
    fn free_channels(&self);
}

/// A session with one peer.
pub(crate) struct Session {
    pub(crate) peer: Arc<str>,
    pub(crate) identity: Identity,
    /// Who we are to the peer.
    pub(crate) ours: Identity,
    /// The peer understands runs.
    pub(crate) runs: bool,
    /// What a channel may use at best.
    pub(crate) codec: u8,
    /// We have dialed, not the peer.
    pub(crate) dialed: bool,
    connection: RwLock<Arc<SessionConnection>>,
    pub(crate) resumption: Resumption,
    announcer: Announcer,
    pub(crate) asks: AskTable,
    /// ATTACHes that the peer bears unanswered.
    attaches: Arc<Semaphore>,
    pub(crate) reading: Fence<RecvState>,
    sending: Mutex<SendState>,
    /// Something was acknowledged, or the link ended.
    pub(crate) progress: Notify,
    /// The session is to end here, whatever its connection does.
    is_halting: AtomicBool,
    halt_requested: Notify,
    has_ended: AtomicBool,
    draining: AtomicBool,
    /// When the session began.
    pub(crate) started_at: Time,
    /// When bytes came last.
    pub(crate) last_received: AtomicU64,
    /// Channels of the peer, open or with calls that are not handled yet.
    pub(crate) inbound_channels: AtomicU64,
    pub(crate) pools: Arc<Pools>,
    pub(crate) owner: Weak<dyn SessionOwner>,
}

/// What a session begins with.
pub(crate) struct SessionStart {
    /// Who we are.
    pub(crate) ours: Identity,
    /// Who the peer is.
    pub(crate) peer: Identity,
    /// We have dialed, not the peer.
    pub(crate) dialed: bool,
    pub(crate) resumption: Resumption,
    /// Pools that the node's sessions share.
    pub(crate) pools: Arc<Pools>,
    pub(crate) owner: Weak<dyn SessionOwner>,
}

impl Session {
    pub(crate) fn new(
        connection: &Connection,
        start: SessionStart,
        exports: Arc<Exports>,
        announcer: Announcer,
    ) -> Arc<Session> {
        let SessionStart { ours, peer: identity, dialed, resumption, pools, owner } = start;
        let features = features::on(identity.offered) & ours.offered;
        let sender =
            SendHalf::new(&ours.limits, identity.limits, clock::now()).with_pools(pools.clone());
        Arc::new_cyclic(|me: &Weak<Session>| Session {
            runs: features & features::RUNS != 0
                && identity.limits.body_max() >= RUN_BODY_BYTES_MAX as u64,
            codec: if features & features::FIXED != 0 { CODEC_FIXED } else { CODEC_MESSAGEPACK },
            peer: connection.peer.clone(),
            identity,
            ours,
            dialed,
            connection: RwLock::new(Arc::new(SessionConnection::new(0, connection))),
            resumption,
            announcer,
            asks: AskTable::new(identity.limits.slots_max),
            attaches: attach::attaches(&identity.limits),
            reading: Fence::new(RecvState::new(me.clone(), features, &ours.limits, exports)),
            sending: Mutex::new(SendState {
                sender,
                channels: Vec::new(),
                epoch: 0,
                cut: None,
                outgoing: Outgoing::default(),
                ended: None,
                is_announced: false,
                draining: false,
                statistics: SessionStatistics::default(),
            }),
            progress: Notify::new(),
            is_halting: AtomicBool::new(false),
            halt_requested: Notify::new(),
            has_ended: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            started_at: clock::now(),
            last_received: AtomicU64::new(0),
            inbound_channels: AtomicU64::new(0),
            pools,
            owner,
        })
    }

    pub(crate) fn sending(&self) -> MutexGuard<'_, SendState> {
        // Whole between two statements, so a panic elsewhere has broken nothing.
        self.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slot of an ask is free again.
    pub(crate) fn free_slot(&self, number: u32) {
        if self.asks.release([number]) {
            let front_wakers = self.sending().front_wakers();
            front_wakers.into_iter().for_each(Waker::wake);
        }
    }

    /// The slots of a ring are free.
    pub(crate) fn close_ring(&self, ring: &Arc<Ring>) {
        if self.asks.close_ring(ring) {
            let front_wakers = self.sending().front_wakers();
            front_wakers.into_iter().for_each(Waker::wake);
        }
    }

    /// A hint, without the lock: nothing can be sent any more.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    /// Writes all that waits, with the calling thread.
    pub(crate) fn flush(&self) {
        let connection = self.connection();
        connection.flusher.flush(&DrivenSession { session: self, connection: &connection });
    }

    /// Writes all that waits, waiting for room up to `limit`. True when nothing is left.
    pub(crate) fn flush_blocking(&self, limit: Duration) -> bool {
        let connection = self.connection().clone();
        connection
            .flusher
            .flush_blocking(&DrivenSession { session: self, connection: &connection }, limit)
    }

    /// Has the driver write what waits.
    pub(crate) fn wake_driver(&self) {
        self.connection().flusher.wake_driver();
    }

    /// The connection that carries the session, or did last.
    pub(crate) fn connection(&self) -> RwLockReadGuard<'_, Arc<SessionConnection>> {
        self.connection.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// One of the two sides takes no new calls.
    pub(crate) fn start_draining(&self) {
        let mut sending = self.sending();
        sending.draining = true;
        // Stored under the lock that the reader takes at the end of a batch: it sees the flag, or the
        // thread that has set it sees all that the batch has brought.
        self.draining.store(true, Ordering::Relaxed);
    }

    /// True after [`start_draining`](Self::start_draining).
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    pub(crate) fn announce(&self, what: SessionChange) {
        self.announcer.announce(&self.peer, what);
    }

    pub(crate) fn statistics(&self) -> SessionStatistics {
        let sending = self.sending();
        let received = sending.sender.received();
        SessionStatistics {
            frames_sent: sending.sender.outbox.next_seq(),
            bytes_received: received.bytes,
            batches_received: received.batches,
            frames_received: received.frames,
            ..sending.statistics
        }
    }

    /// The last reference to the channel's actor is gone. Not before this may its number be used
    /// again, or an old reference would reach another actor.
    pub(crate) fn detach(&self, channel: u64) {
        let mut guard = self.sending();
        let sending = &mut *guard;
        let Some(open) = sending.channels.get_mut(channel as usize) else {
            return;
        };
        if open.turns > 0 {
            // Another thread's turn has called on it and not published yet: the last such turn
            // comes back here.
            open.detach_wanted = true;
        } else if sending.ended.is_none() && sending.sender.detach(channel) {
            drop(guard);
            self.wake_driver();
        }
    }

    /// A sender that waited gives up.
    pub(crate) fn stop_waiting(&self, channel: u64, ticket: &mut Ticket) {
        let wakers = {
            let mut sending = self.sending();
            if let Some(channel) = sending.channels.get_mut(channel as usize) {
                channel.parked.leave(ticket);
            }
            sending.wakers_with_room(channel)
        };
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl OutboundChannel {
    fn new(target: &Arc<str>) -> OutboundChannel {
        OutboundChannel {
            target: target.clone(),
            called: 0,
            held_back: 0,
            handled: 0,
            parked: Parked::default(),
            turns: 0,
            detach_wanted: false,
            gone: None,
            attaching: None,
        }
    }
}

impl SendState {
    /// The next batch for the connection; `None` when there is nothing to send.
    pub(crate) fn take_output(&mut self, now: Time) -> Option<&mut Outgoing> {
        self.sender.take_output(&mut self.outgoing, now);
        (!self.outgoing.is_empty()).then_some(&mut self.outgoing)
    }

    /// An error when nothing can be sent any more.
    pub(crate) fn check(&self, target: &Arc<str>) -> Result<(), CallError> {
        if let Some(ended) = &self.ended {
            let error = CallError::new(CallErrorKind::NotDelivered, target);
            return Err(error.with_detail(&ended.why));
        }
        if self.draining {
            return Err(CallError::new(CallErrorKind::Draining, target));
        }
        Ok(())
    }

    /// CREDIT has come: so many calls of the channel were handled. Gives the senders that have room.
    pub(crate) fn credited(&mut self, number: u64, handled: u64, has_risen: bool) -> Vec<Waker> {
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        if let Some(channel) = self.channels.get_mut(at) {
            channel.handled = channel.handled.max(handled);
        }
        if has_risen { self.wakers_with_room(number) } else { Vec::new() }
    }

    /// DETACHED has come; gives the senders that waited.
    pub(crate) fn detached(&mut self, number: u64, code: Code) -> Vec<Waker> {
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        let Some(channel) = self.channels.get_mut(at) else {
            return Vec::new();
        };
        let kind = CallErrorKind::from_code(code.0);
        channel.gone = Some(kind);
        if let Some(answer) = channel.attaching.take() {
            answer.send(Err(kind));
        }
        channel.parked.drain()
    }

    /// Credit or room has come to a channel: those for whom it suffices, if their calls are small.
    pub(crate) fn wakers_with_room(&mut self, number: u64) -> Vec<Waker> {
        let free = self.sender.window(number).map_or(0, |window| window.free());
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        self.channels.get(at).map_or_else(Vec::new, |channel| channel.parked.woken_by(free))
    }

    /// The senders in front of every queue; when something has come that all share.
    pub(crate) fn front_wakers(&self) -> Vec<Waker> {
        self.channels.iter().flat_map(|channel| channel.parked.woken_by(FRONT_WAKES)).collect()
    }
}
