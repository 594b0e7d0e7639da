//! A session with one peer, shared by its driver and by everybody who sends.
//!
//! It goes from [connection](crate::carrier) to connection; what is in here stays. Three locks, in
//! this order when more are held: `reading` (the driver alone), `carrier` (who writes), `sending`
//! (every sender). None is held while waiting. The asks that wait for an answer need none of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, Weak};
use std::task::Waker;
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};
use wigwag_actor::{CallError, CallErrorKind, Parked, Ticket};
use wigwag_link::budget::Pools;
use wigwag_link::frame::Frame;
use wigwag_link::send_half::Outgoing;
use wigwag_link::{Code, Identity, RecvHalf, SendHalf, features, write};
use wigwag_net::{Connection, clock};
use wigwag_wire::Time;
use wigwag_wire::run::RUN_BODY_BYTES_MAX;

use crate::asks::Asks;
use crate::carrier::{Carried, Carrier};
use crate::events::{Announcer, SessionChange};
use crate::exports::Exports;
use crate::fence::Fence;
use crate::limits::{CODEC_FIXED, CODEC_MESSAGEPACK};
use crate::node::WeakNode;
use crate::reading::Reading;
use crate::resuming::Resuming;
use crate::ring::Ring;
use crate::sync::{AtomicBool, AtomicU64, Ordering};

mod attaching;
mod carrying;
mod ending;

pub(crate) use attaching::Attached;
use attaching::Attaching;

/// The PAIR1 header of every message: hop count 1, as NNG sends it.
pub(crate) const PAIR1_HEADER: [u8; 4] = [0, 0, 0, 1];

/// Senders of each channel that are woken when room in the link or a slot has come free.
const FRONTS: u64 = 16;

/// Why a link is over, in words; what came of the calls is told to each caller.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) why: Arc<str>,
}

/// What we know of a channel of ours beside its credit.
pub(crate) struct Channel {
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
    /// DETACH is on its way: the number is free again when DETACHED comes.
    leaving: bool,
    attaching: Option<Attaching>,
}

/// Bytes and frames of one link, both ways, since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkStatistics {
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
pub(crate) struct Sending {
    pub(crate) sender: SendHalf,
    pub(crate) channels: Vec<Channel>,
    /// Which use of each of the peer's channel numbers is the living one.
    pub(crate) grants: Vec<u64>,
    /// The connection that may take frames.
    pub(crate) epoch: u64,
    /// Since when there is no connection.
    cut: Option<Time>,
    outgoing: Outgoing,
    pub(crate) ended: Option<Ended>,
    /// The end was announced.
    is_announced: bool,
    /// The peer takes no new calls.
    pub(crate) draining: bool,
    pub(crate) statistics: LinkStatistics,
}

/// A session with one peer.
pub(crate) struct Link {
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
    carrier: RwLock<Arc<Carrier>>,
    pub(crate) resuming: Resuming,
    announcer: Announcer,
    pub(crate) asks: Asks,
    /// ATTACHes that the peer bears unanswered.
    attaches: Arc<Semaphore>,
    pub(crate) reading: Fence<Reading>,
    sending: Mutex<Sending>,
    /// Something was acknowledged, or the link ended.
    pub(crate) progress: Notify,
    /// The session is to end here, whatever its connection does.
    stopping: AtomicBool,
    stop: Notify,
    over: AtomicBool,
    /// When the session began.
    pub(crate) begun: Time,
    /// When bytes came last.
    pub(crate) heard: AtomicU64,
    /// Channels of the peer, open or with calls that are not handled yet.
    pub(crate) inbound_channels: AtomicU64,
    pub(crate) pools: Arc<Pools>,
    pub(crate) node: WeakNode,
}

/// What a session begins with.
pub(crate) struct Begun {
    /// Who we are.
    pub(crate) ours: Identity,
    /// Who the peer is.
    pub(crate) peer: Identity,
    /// We have dialed, not the peer.
    pub(crate) dialed: bool,
    pub(crate) resuming: Resuming,
    /// Pools that the node's sessions share.
    pub(crate) pools: Arc<Pools>,
    pub(crate) node: WeakNode,
}

impl Link {
    pub(crate) fn new(
        connection: &Connection,
        begun: Begun,
        exports: Arc<Exports>,
        announcer: Announcer,
    ) -> Arc<Link> {
        let Begun { ours, peer: identity, dialed, resuming, pools, node } = begun;
        let features = features::on(identity.offered) & ours.offered;
        let receiver = RecvHalf::new(&ours.limits).with_features(features);
        let sender =
            SendHalf::new(&ours.limits, identity.limits, clock::now()).with_pools(pools.clone());
        Arc::new_cyclic(|me: &Weak<Link>| Link {
            runs: features & features::RUNS != 0
                && identity.limits.body_max() >= RUN_BODY_BYTES_MAX as u64,
            codec: if features & features::FIXED != 0 { CODEC_FIXED } else { CODEC_MESSAGEPACK },
            peer: connection.peer.clone(),
            identity,
            ours,
            dialed,
            carrier: RwLock::new(Arc::new(Carrier::new(0, connection))),
            resuming,
            announcer,
            asks: Asks::new(identity.limits.slots_max),
            attaches: attaching::attaches(&identity.limits),
            reading: Fence::new(Reading::new(me.clone(), receiver, &ours.limits, exports)),
            sending: Mutex::new(Sending {
                sender,
                channels: Vec::new(),
                grants: Vec::new(),
                epoch: 0,
                cut: None,
                outgoing: Outgoing::default(),
                ended: None,
                is_announced: false,
                draining: false,
                statistics: LinkStatistics::default(),
            }),
            progress: Notify::new(),
            stopping: AtomicBool::new(false),
            stop: Notify::new(),
            over: AtomicBool::new(false),
            begun: clock::now(),
            heard: AtomicU64::new(0),
            inbound_channels: AtomicU64::new(0),
            pools,
            node,
        })
    }

    pub(crate) fn sending(&self) -> MutexGuard<'_, Sending> {
        // Whole between two statements, so a panic elsewhere has broken nothing.
        self.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slot of an ask is free again.
    pub(crate) fn free_slot(&self, number: u32) {
        if self.asks.give_back([number]) {
            let fronts = self.sending().fronts();
            fronts.into_iter().for_each(Waker::wake);
        }
    }

    /// The slots of a ring are free.
    pub(crate) fn close_ring(&self, ring: &Arc<Ring>) {
        if self.asks.close_ring(ring) {
            let fronts = self.sending().fronts();
            fronts.into_iter().for_each(Waker::wake);
        }
    }

    /// A hint, without the lock: nothing can be sent any more.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Writes all that waits, with the calling thread.
    pub(crate) fn flush(&self) {
        let carrier = self.carrier();
        carrier.flusher.flush(&Carried { link: self, carrier: &carrier });
    }

    /// Writes all that waits, waiting for room up to `limit`. True when nothing is left.
    pub(crate) fn flush_blocking(&self, limit: Duration) -> bool {
        let carrier = self.carrier().clone();
        carrier.flusher.flush_blocking(&Carried { link: self, carrier: &carrier }, limit)
    }

    /// Has the driver write what waits.
    pub(crate) fn wake_driver(&self) {
        self.carrier().flusher.wake_driver();
    }

    /// The connection that carries the session, or did last.
    pub(crate) fn carrier(&self) -> RwLockReadGuard<'_, Arc<Carrier>> {
        self.carrier.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn announce(&self, what: SessionChange) {
        self.announcer.announce(&self.peer, what);
    }

    pub(crate) fn statistics(&self) -> LinkStatistics {
        let sending = self.sending();
        let frames_sent = sending.sender.outbox.next_seq();
        LinkStatistics { frames_sent, ..sending.statistics }
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
        } else if open.gone.is_some() {
            sending.sender.close_channel(channel);
        } else if sending.ended.is_none() {
            open.leaving = true;
            let outbox = &mut sending.sender.outbox;
            outbox.append(|out| write::any(out, &Frame::Detach { channel }));
            drop(guard);
            self.wake_driver();
        }
    }

    /// A sender that waited gives up.
    pub(crate) fn leave(&self, channel: u64, ticket: &mut Ticket) {
        let woken = {
            let mut sending = self.sending();
            if let Some(channel) = sending.channels.get_mut(channel as usize) {
                channel.parked.leave(ticket);
            }
            sending.woken(channel)
        };
        woken.into_iter().for_each(Waker::wake);
    }
}

impl Channel {
    fn new(target: &Arc<str>) -> Channel {
        Channel {
            target: target.clone(),
            called: 0,
            held_back: 0,
            handled: 0,
            parked: Parked::default(),
            turns: 0,
            detach_wanted: false,
            gone: None,
            leaving: false,
            attaching: None,
        }
    }
}

impl Sending {
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

    /// DETACHED has come; gives the senders that waited.
    pub(crate) fn detached(&mut self, number: u64, code: Code) -> Vec<Waker> {
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        let Some(channel) = self.channels.get_mut(at) else {
            return Vec::new();
        };
        let kind = CallErrorKind::from_code(code.0);
        channel.gone = Some(kind);
        if channel.leaving {
            self.sender.close_channel(number);
        }
        if let Some(answer) = channel.attaching.take() {
            answer.send(Err(kind));
        }
        channel.parked.drain()
    }

    /// Credit or room has come to a channel: those for whom it suffices, if their calls are small.
    pub(crate) fn woken(&mut self, number: u64) -> Vec<Waker> {
        let free = self.sender.window(number).map_or(0, |window| window.free());
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        self.channels.get(at).map_or_else(Vec::new, |channel| channel.parked.woken_by(free))
    }

    /// The senders in front of every queue; when something has come that all share.
    pub(crate) fn fronts(&self) -> Vec<Waker> {
        self.channels.iter().flat_map(|channel| channel.parked.woken_by(FRONTS)).collect()
    }
}
