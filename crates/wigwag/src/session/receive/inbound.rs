//! A session as its actors see it: the owner of inbound channels, to which replies and freed room
//! go.

use std::fmt;
use std::sync::{Arc, OnceLock};

use wigwag_actor::reply::cancelled::CancelledAsks;
use wigwag_actor::{
    CallErrorKind, CallGate, Caller, Exported, InboundQueueOwner, ItemSink, Reason,
    RemoteCallCounters,
};
use wigwag_link::credit::{ActorBound, Grant};
use wigwag_link::{Code, write};
use wigwag_net::clock;
use wigwag_wire::small::DynEncode;
use wigwag_wire::{Buffer, Time};

use crate::access::MethodGate;
use crate::limits::ERROR_TEXT_CHARS_MAX;
use crate::session::buffers;
use crate::session::receive::items::SentItems;
use crate::session::references::scope;
use crate::session::{SendState, Session};
use crate::sync::Ordering;

/// One inbound channel while it is attached. Calls of a channel that was closed may still be
/// handled; then `use_of` differs from the current use of the number, and credit is left alone. The
/// owner holds the session, which drops its owners when it ends.
pub(crate) struct ChannelOwner {
    session: Arc<Session>,
    channel: u64,
    use_of: u64,
    /// The check of each call, if there is one.
    gate: Option<MethodGate>,
    /// The grant that the channel had when it ended. Its unhandled calls still hold that grant, so
    /// a peer that attaches again and again is granted no more than one that does not.
    withdrawn: OnceLock<Grant>,
    /// The counters of the actor.
    counters: OnceLock<Arc<RemoteCallCounters>>,
    _place: ChannelPermit,
}

/// The permit of a channel among those of its session and its node, held until its last call is
/// handled.
pub(crate) struct ChannelPermit(Arc<Session>);

impl ChannelPermit {
    /// Takes a permit. `None` if the session has as many channels as this node announced, or all
    /// sessions together have as many as a node may have.
    pub(crate) fn take(session: &Arc<Session>, most: u64) -> Option<ChannelPermit> {
        let before = session.inbound_channels.fetch_add(1, Ordering::Relaxed);
        if before < most && session.pools.channels.take_one() {
            return Some(ChannelPermit(session.clone()));
        }
        session.inbound_channels.fetch_sub(1, Ordering::Relaxed);
        None
    }
}

impl Drop for ChannelPermit {
    fn drop(&mut self) {
        self.0.inbound_channels.fetch_sub(1, Ordering::Relaxed);
        self.0.pools.channels.give_one_back();
    }
}

impl ChannelOwner {
    pub(crate) fn new(
        place: ChannelPermit,
        gate: Option<MethodGate>,
        (channel, use_of): (u64, u64),
    ) -> ChannelOwner {
        let (session, withdrawn) = (place.0.clone(), OnceLock::new());
        let counters = OnceLock::new();
        ChannelOwner { session, channel, use_of, gate, withdrawn, counters, _place: place }
    }

    /// Keeps the grant of a channel that has ended until its last call is handled.
    pub(crate) fn keep_grant(&self, grant: Option<Grant>) {
        if let Some(grant) = grant {
            // Set once: a channel ends once, and the next use of its number has another owner.
            let _ = self.withdrawn.set(grant);
        }
    }

    /// Counts for `actor`, to which the channel leads from now on.
    pub(crate) fn leads_to(&self, actor: &dyn Exported) {
        // A channel leads to one actor.
        let _ = self.counters.set(actor.remote_counters());
    }

    /// Counts a call that was not handled.
    fn reject(&self, kind: CallErrorKind) {
        if let Some(counters) = self.counters.get() {
            counters.rejected(kind);
        }
    }

    /// The number of the channel.
    pub(crate) fn number(&self) -> u64 {
        self.channel
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// Puts the channel under the bound of its actor, which was not known when it was opened.
    pub(crate) fn bind(&self, bound: ActorBound) {
        let mut sending = self.session.sending();
        if self.is_current(&sending) {
            sending.sender.bind(self.channel, bound);
        }
    }

    /// Ends the channel: its calls fail with this error.
    pub(crate) fn end(&self, kind: CallErrorKind, why: &str) {
        let why = if why.is_empty() { kind.to_string() } else { why.to_owned() };
        self.end_with(Code(kind.code()), &Reason::Unreachable(why.into()));
    }

    fn end_with(&self, code: Code, reason: &Reason) {
        let session = &self.session;
        let mut sending = session.sending();
        if sending.ended.is_some() || !self.is_current(&sending) {
            return;
        }
        // The peer may use this number again.
        let grant = sending.sender.end_channel_because(self.channel, code, 0, &reason.to_wire());
        self.keep_grant(grant);
        drop(sending);
        buffers::flush_soon(session);
    }

    /// Answers an ask with an error.
    pub(crate) fn send_error(&self, asker: (u32, u32), kind: CallErrorKind, detail: &str) {
        let (session, code) = (&self.session, Code(kind.code()));
        buffers::publish(session);
        let detail: String = detail.chars().take(ERROR_TEXT_CHARS_MAX).collect();
        let mut sending = session.sending();
        sending.statistics.asks_failed += 1;
        sending.asks_answered += 1;
        match kind {
            CallErrorKind::Cancelled => sending.statistics.asks_cancelled += 1,
            CallErrorKind::DeadlinePassed => sending.statistics.asks_expired += 1,
            _ => {}
        }
        if sending.ended.is_none() {
            sending.sender.outbox.append(|out| write::error(out, asker, code, &detail));
        }
        drop(sending);
        buffers::flush_soon(session);
    }

    /// True while the channel is open.
    fn is_current(&self, sending: &SendState) -> bool {
        sending.sender.is_current(self.channel, self.use_of)
    }
}

impl Drop for ChannelOwner {
    fn drop(&mut self) {
        let mut sending = self.session.sending();
        if self.is_current(&sending) {
            self.keep_grant(sending.sender.take_grant(self.channel));
        }
        if let Some(grant) = self.withdrawn.take() {
            sending.sender.close_grant(grant);
        }
        let has_output = sending.sender.has_output();
        drop(sending);
        if has_output {
            self.session.wake_driver();
        }
    }
}

impl InboundQueueOwner for ChannelOwner {
    fn freed(&self, units: u64) {
        let session = &self.session;
        let due = {
            let mut sending = session.sending();
            self.is_current(&sending) && sending.sender.freed(self.channel, units)
        };
        if due {
            buffers::flush_soon(session);
        }
    }

    fn handled(&self, tells: u64, asks: u64) {
        if let Some(counters) = self.counters.get() {
            counters.handled(tells, asks);
        }
        let session = &self.session;
        let due = {
            let mut sending = session.sending();
            self.is_current(&sending) && sending.sender.handled(self.channel, tells, asks)
        };
        if due {
            buffers::flush_soon(session);
        }
    }

    fn stopped(&self, reason: &Reason) {
        self.end_with(Code::ACTOR_STOPPED, reason);
    }

    fn caller(&self) -> Option<Caller> {
        Some(self.session.caller())
    }

    fn gate(&self) -> Option<&dyn CallGate> {
        self.gate.as_ref().map(|gate| gate as &dyn CallGate)
    }

    fn cancelled(&self) -> &CancelledAsks {
        &self.session.cancelled
    }

    fn has_passed(&self, deadline: Time) -> bool {
        clock::now() >= deadline
    }

    fn joins(&self) -> bool {
        self.session.runs
    }

    fn replies(&self, frames: &mut Buffer, count: u64) {
        if !self.session.pipes.are_none() {
            self.session.pipes_answered(frames.as_slice());
        }
        buffers::answers(&self.session, frames, count);
    }

    fn reply(&self, slot: u32, generation: u32, value: &dyn DynEncode) {
        buffers::answer(&self.session, (slot, generation), value);
    }

    fn reading(&self, arguments: &[u8], read: &mut dyn FnMut() -> bool) {
        scope::read_from(&self.session, arguments, read);
    }

    fn discarded(&self, arguments: &[u8], why: CallErrorKind) {
        self.session.discard_value_because(arguments, why);
    }

    fn open_items(&self, slot: u32, generation: u32, limit: u64) -> Option<Box<dyn ItemSink>> {
        Some(Box::new(SentItems::open(&self.session, (slot, generation), limit)))
    }

    fn rejected(&self, method: u32, kind: CallErrorKind, reason: &dyn fmt::Display) {
        self.reject(kind);
        let mut sending = self.session.sending();
        sending.statistics.tells_undeliverable += 1;
        if self.is_current(&sending) {
            let code = Code(kind.code());
            sending.sender.rejected(self.channel, method.into(), code, reason);
        }
    }

    fn fail(&self, slot: u32, generation: u32, kind: CallErrorKind, detail: &str) {
        self.reject(kind);
        self.send_error((slot, generation), kind, detail);
        self.session.pipe_failed((slot, generation), kind, detail);
    }
}
