//! The sending side of a session: its channels, their waiting senders, and the batches of its
//! connection.

mod channel;
mod slots;
mod writing;

pub(crate) use channel::OutboundChannel;

use std::sync::Arc;
use std::task::Waker;

use wigwag_actor::lifecycle::end_watchers::EndWatchers;
use wigwag_actor::{CallError, CallErrorKind, Reason};
use wigwag_link::send_half::Outgoing;
use wigwag_link::{Code, SendHalf};
use wigwag_wire::Time;

use crate::replies::ask_origin::AskOrigin;
use crate::session::SessionEnd;
use crate::session::reconnect::Cut;
use crate::session::rejected::RejectionLog;
use crate::session::statistics::SessionStatistics;
use crate::streams::outlet::Outlet;
use crate::sync::Ordering;

/// Senders per channel that are woken when the outbox has room again or a slot is released.
const FRONT_WAKES: u64 = 16;

/// The sending state, shared by all senders.
pub(crate) struct SendState {
    pub(crate) sender: SendHalf,
    pub(crate) channels: Vec<OutboundChannel>,
    /// The epoch of the connection that may take frames.
    pub(crate) epoch: u64,
    /// The cut, while there is no connection.
    pub(in crate::session) cut: Option<Cut>,
    pub(in crate::session) outgoing: Outgoing,
    pub(crate) ended: Option<SessionEnd>,
    /// Calls that were taken out of a turn or a run after the end, and whose asks are not counted yet:
    /// see [`UnsentCalls::fail`](crate::session::outcome::UnsentCalls::fail).
    pub(in crate::session) unsent_to_fail: usize,
    /// The asks that were open at the end have failed and are counted.
    pub(in crate::session) are_asks_counted: bool,
    /// The end was announced.
    pub(in crate::session) is_announced: bool,
    /// The event of the end is among those that the program reads.
    pub(crate) is_end_told: bool,
    /// The peer takes no new calls, or this node is closing.
    pub(crate) draining: bool,
    pub(crate) statistics: SessionStatistics,
    /// Asks of the peer that have a completion, of those that `Session::asks_received` counts.
    pub(crate) asks_answered: u64,
    /// Producers of streams that wait for room in the outbox, each once.
    pub(crate) waiting_producers: Vec<Arc<Outlet>>,
    /// Channels opened so far.
    pub(in crate::session) channels_opened: u32,
    /// Links of actors of this node to actors of the peer.
    pub(in crate::session) links: usize,
    pub(in crate::session) rejection_log: RejectionLog,
}

impl SendState {
    pub(in crate::session) fn new(sender: SendHalf) -> SendState {
        SendState {
            sender,
            channels: Vec::new(),
            epoch: 0,
            cut: None,
            outgoing: Outgoing::default(),
            ended: None,
            unsent_to_fail: 0,
            are_asks_counted: false,
            is_announced: false,
            is_end_told: false,
            draining: false,
            statistics: SessionStatistics::default(),
            asks_answered: 0,
            waiting_producers: Vec::new(),
            channels_opened: 0,
            links: 0,
            rejection_log: RejectionLog::default(),
        }
    }

    /// True if the session has ended and the outcome of its calls was announced.
    pub(crate) fn is_announced(&self) -> bool {
        self.is_announced
    }

    /// The channel that an ask was sent on, unless its reference was dropped meanwhile.
    pub(crate) fn channel_of(&mut self, origin: AskOrigin) -> Option<&mut OutboundChannel> {
        let channel = self.channels.get_mut(origin.channel())?;
        (AskOrigin::new(origin.channel() as u64, channel.use_of) == origin).then_some(channel)
    }

    /// Counts asks that have failed, each with the kind of its error.
    pub(crate) fn asks_failed(
        &mut self,
        failed: impl IntoIterator<Item = (AskOrigin, CallErrorKind)>,
    ) {
        for (origin, kind) in failed {
            if let Some(channel) = self.channel_of(origin) {
                channel.tally.ask_failed(kind);
            }
        }
    }

    /// The next batch for the connection; `None` if there is nothing to send.
    pub(crate) fn take_output(&mut self, now: Time) -> Option<&mut Outgoing> {
        self.sender.take_output(&mut self.outgoing, now);
        (!self.outgoing.is_empty()).then_some(&mut self.outgoing)
    }

    /// An error if nothing can be sent any more.
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

    /// Handles CREDIT, which counts the handled calls of a channel. Returns the wakers of the
    /// senders that have room.
    pub(crate) fn credited(&mut self, number: u64, handled: u64, has_risen: bool) -> Vec<Waker> {
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        if let Some(channel) = self.channels.get_mut(at) {
            channel.tally.handled(handled);
        }
        if has_risen { self.wakers_with_room(number) } else { Vec::new() }
    }

    /// Handles DETACHED; returns the wakers of the senders that waited, and the watchers of the end.
    pub(crate) fn detached(
        &mut self,
        number: u64,
        code: Code,
        reason: &Reason,
    ) -> (Vec<Waker>, EndWatchers) {
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        self.forget_links(at);
        let Some(channel) = self.channels.get_mut(at) else {
            return Default::default();
        };
        let kind = CallErrorKind::from_code(code.0);
        channel.gone = Some(kind);
        channel.end_reason = Some(reason.clone());
        if let Some(answer) = channel.attaching.take() {
            answer.send(Err(kind));
        }
        (channel.parked.drain(), std::mem::take(&mut channel.end_watchers))
    }

    /// The wakers of the senders that the free credit of a channel suffices for, if their calls are
    /// small.
    pub(crate) fn wakers_with_room(&mut self, number: u64) -> Vec<Waker> {
        let free = self.sender.window(number).map_or(0, |window| window.free());
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        self.channels.get(at).map_or_else(Vec::new, |channel| channel.parked.woken_by(free))
    }

    /// The wakers of senders that waited for the end of a long call.
    pub(crate) fn wakers_behind_long_calls(&mut self) -> Vec<Waker> {
        if self.sender.take_ended_long_calls().is_empty() {
            return Vec::new();
        }
        self.front_wakers()
    }

    /// The producers that have waited for room.
    pub(crate) fn take_producers(&mut self) -> Vec<Arc<Outlet>> {
        let producers = std::mem::take(&mut self.waiting_producers);
        producers.iter().for_each(|one| one.waits_for_room.store(false, Ordering::Relaxed));
        producers
    }

    /// The wakers of the first senders of each queue, for room that all channels share.
    pub(crate) fn front_wakers(&self) -> Vec<Waker> {
        self.channels.iter().flat_map(|channel| channel.parked.woken_by(FRONT_WAKES)).collect()
    }
}
