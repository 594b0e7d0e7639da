//! A session with one peer, shared by its driver and by everybody who sends.
//!
//! Two locks, in this order when both are held: `reading` (the driver alone), `sending` (every
//! sender). Neither is held while waiting. The asks that wait for an answer need none of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;

use tokio::sync::{Notify, oneshot};
use wigwag_actor::{CallError, CallErrorKind, Parked, Ticket};
use wigwag_link::frame::Frame;
use wigwag_link::session::Outgoing;
use wigwag_link::{Code, Identity, Limits, LinkError, Receiver, Sender, features, write};
use wigwag_net::driver::{Crank, Flusher};
use wigwag_net::{Connection, Outlet, clock};
use wigwag_wire::run::RUN_BODY_BYTES_MAX;
use wigwag_wire::{Batch, Framing, ReadBuf, Time};

use crate::asks::Asks;
use crate::channel;
use crate::exports::Exports;
use crate::reading::Reading;
use crate::ring::Ring;
use crate::sync::{AtomicBool, AtomicU64, Ordering};

/// The PAIR1 header of every message: hop count 1, as NNG sends it.
pub(crate) const PAIR1_HEADER: [u8; 4] = [0, 0, 0, 1];

/// Senders of each channel that are woken when room in the link or a slot has come free.
const FRONTS: u64 = 16;

/// Why a link is over, in words; what came of the calls is told to each caller.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) why: Arc<str>,
}

/// What ATTACHED says.
pub(crate) struct Attached {
    pub(crate) schema_hash: u64,
}

/// What we know of a channel of ours beside its credit.
#[derive(Default)]
pub(crate) struct Channel {
    pub(crate) parked: Parked,
    /// Turns that hold credit of this channel and have not published yet.
    pub(crate) turns: u32,
    /// The last reference is gone; detach when `turns` is zero.
    pub(crate) detach_wanted: bool,
    /// The receiver is done with it; calls fail with this.
    pub(crate) gone: Option<CallErrorKind>,
    /// DETACH is on its way: the number is free again when DETACHED comes.
    leaving: bool,
    attaching: Option<oneshot::Sender<Result<Attached, CallErrorKind>>>,
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
}

/// What senders share.
pub(crate) struct Sending {
    pub(crate) sender: Sender,
    pub(crate) channels: Vec<Channel>,
    /// Which use of each of the peer's channel numbers is the living one.
    pub(crate) grants: Vec<u64>,
    outgoing: Outgoing,
    pub(crate) ended: Option<Ended>,
    /// The peer takes no new calls.
    pub(crate) draining: bool,
    pub(crate) statistics: LinkStatistics,
}

/// A session with one peer.
pub(crate) struct Link {
    pub(crate) peer: Arc<str>,
    pub(crate) identity: Identity,
    /// The peer understands runs.
    pub(crate) runs: bool,
    /// We have dialed, not the peer.
    pub(crate) dialed: bool,
    framing: Framing,
    pub(crate) flusher: Flusher,
    pub(crate) asks: Asks,
    reading: Mutex<Reading>,
    sending: Mutex<Sending>,
    /// Something was acknowledged, or the link ended.
    pub(crate) progress: Notify,
    /// Ends the driver.
    pub(crate) cut: Notify,
    over: AtomicBool,
    /// When bytes came last.
    heard: AtomicU64,
}

impl Link {
    pub(crate) fn new(
        connection: &Connection,
        ours: &Limits,
        identity: Identity,
        dialed: bool,
        exports: Arc<Exports>,
    ) -> Arc<Link> {
        let features = features::on(identity.offered);
        let receiver = Receiver::new(ours).with_features(features);
        Arc::new_cyclic(|me: &Weak<Link>| Link {
            runs: features & features::RUNS != 0
                && identity.limits.body_max() >= RUN_BODY_BYTES_MAX as u64,
            peer: connection.peer.clone(),
            identity,
            dialed,
            framing: connection.framing,
            flusher: Flusher::new(connection.outlet.clone()),
            asks: Asks::new(identity.limits.slots_max),
            reading: Mutex::new(Reading::new(me.clone(), receiver, ours, exports)),
            sending: Mutex::new(Sending {
                sender: Sender::new(ours, identity.limits, clock::now()),
                channels: Vec::new(),
                grants: Vec::new(),
                outgoing: Outgoing::default(),
                ended: None,
                draining: false,
                statistics: LinkStatistics::default(),
            }),
            progress: Notify::new(),
            cut: Notify::new(),
            over: AtomicBool::new(false),
            heard: AtomicU64::new(0),
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
        self.flusher.flush(self);
    }

    pub(crate) fn outlet(&self) -> &Arc<dyn Outlet> {
        self.flusher.outlet()
    }

    pub(crate) fn statistics(&self) -> LinkStatistics {
        let sending = self.sending();
        let frames_sent = sending.sender.outbox.next_seq();
        LinkStatistics { frames_sent, ..sending.statistics }
    }

    /// Opens a channel to the actor exported as `name`.
    ///
    /// # Cancellation
    /// Dropped while it waits, the channel is given back.
    pub(crate) async fn attach(
        self: &Arc<Link>,
        name: &str,
        schema_hash: u64,
        target: &Arc<str>,
    ) -> Result<(channel::Channel, Attached), CallError> {
        let (answer, attached) = oneshot::channel();
        let number = {
            let mut sending = self.sending();
            sending.check(target)?;
            let Some(channel) = sending.sender.open_channel() else {
                return Err(CallError::new(CallErrorKind::Overloaded, target)
                    .with_detail("the peer accepts no more channels"));
            };
            let at = channel as usize;
            if sending.channels.len() <= at {
                sending.channels.resize_with(at + 1, Channel::default);
            }
            sending.channels[at] = Channel { attaching: Some(answer), ..Channel::default() };
            let target = name.as_bytes();
            let attach = Frame::Attach { channel, how: 0, target, schema_hash, codec: 0 };
            sending.sender.outbox.append(|out| write::any(out, &attach));
            channel
        };
        let channel = channel::Channel { link: self.clone(), number, target: target.clone() };
        self.flush();
        match attached.await {
            Ok(Ok(attached)) => Ok((channel, attached)),
            Ok(Err(kind)) => Err(CallError::new(kind, target)),
            Err(_) => match self.sending().check(target) {
                Err(error) => Err(error),
                Ok(()) => Err(CallError::new(CallErrorKind::NotDelivered, target)),
            },
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
        } else if open.gone.is_some() {
            sending.sender.close_channel(channel);
        } else if sending.ended.is_none() {
            open.leaving = true;
            let outbox = &mut sending.sender.outbox;
            outbox.append(|out| write::any(out, &Frame::Detach { channel }));
            drop(guard);
            self.flusher.wake_driver();
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

    /// The connection is over: everybody who waits hears of it.
    pub(crate) fn end(&self, why: &str) {
        let ended = Ended { why: why.into() };
        let mut wakers = Vec::new();
        {
            let mut sending = self.sending();
            sending.ended.get_or_insert(ended.clone());
            self.over.store(true, Ordering::Relaxed);
            for channel in &mut sending.channels {
                wakers.append(&mut channel.parked.drain());
                channel.attaching = None;
            }
        }
        wakers.append(&mut self.fail_asks(CallErrorKind::Unknown, why));
        wakers.into_iter().for_each(Waker::wake);
        self.progress.notify_waiters();
        self.outlet().close();
    }

    /// The driver has ended: actors and link let go of each other.
    pub(crate) fn let_go(&self) {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner).let_go();
    }

    /// No answers will come any more. Gives those who wait for one.
    pub(crate) fn fail_asks(&self, kind: CallErrorKind, why: &str) -> Vec<Waker> {
        self.asks.fail_all(|| Box::new((kind, why.into())))
    }
}

impl Sending {
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

    /// ATTACHED has come.
    pub(crate) fn attached(&mut self, number: u64, limit: u64, schema_hash: u64) {
        self.sender.attached(number, limit);
        let channel = self.channels.get_mut(number as usize);
        if let Some(answer) = channel.and_then(|channel| channel.attaching.take()) {
            // The asker may have gone away; then its reference was never made.
            let _ = answer.send(Ok(Attached { schema_hash }));
        }
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
            let _ = answer.send(Err(kind));
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

impl Crank for Link {
    type Error = LinkError;

    fn heard(&self, now: Time) {
        self.heard.store(now.as_nanos(), Ordering::Relaxed);
    }

    fn read(&self, input: &mut ReadBuf, now: Time) -> Result<(), LinkError> {
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = reading.read(self, self.framing, input, now);
        let told = outcome.as_ref().err().and_then(LinkError::code_to_tell);
        if let Some((code, rule)) = told {
            self.sending().sender.close(code, rule);
        }
        outcome
    }

    fn fill(&self, batch: &mut Batch, now: Time) {
        let mut sending = self.sending();
        let Sending { sender, outgoing, statistics, .. } = &mut *sending;
        sender.take_output(outgoing, now);
        if outgoing.is_empty() {
            return;
        }
        let (prefix, used) = self.framing.prefix(PAIR1_HEADER.len() + outgoing.len());
        batch.head(|out| {
            out.put(prefix, used);
            out.extend(&PAIR1_HEADER);
            out.extend(outgoing.head.as_slice());
        });
        outgoing.taken.segments.drain(..).for_each(|segment| batch.segment(segment));
        statistics.bytes_sent += batch.len() as u64;
        statistics.batches_sent += 1;
    }

    fn tick(&self, now: Time) -> Result<(), LinkError> {
        let sender = &mut self.sending().sender;
        sender.heard(Time::from_nanos(self.heard.load(Ordering::Relaxed)));
        sender.tick(now, || self.asks.waiting() > 0)
    }

    fn deadline(&self) -> Option<Time> {
        self.sending().sender.deadline()
    }
}
