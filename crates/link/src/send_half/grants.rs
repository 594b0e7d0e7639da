//! The channels that the peer sends on: how much credit each has, and when it gets more.
//!
//! A grant that gets too little of the budget waits, and is served when another channel returns
//! units. Grants with something to announce are collected until the next batch.

use core::fmt;

use super::{SendHalf, Use};
use crate::code::Code;
use crate::error::LinkError;
use crate::flow_control::credit::{ActorBound, Grant};
use crate::frames::frame::Frame;
use crate::frames::write;
use crate::limits::{PIPES_PENDING_MAX, REVOKES_PENDING_MAX};

impl SendHalf {
    /// Grants `units` to a channel that the peer opens, or less if its actor has a `bound`, and
    /// returns its first limit.
    ///
    /// # Errors
    ///
    /// Fails if the channel's number is beyond the limit, or if the channel is open already.
    pub fn grant(
        &mut self,
        channel: u64,
        units: u64,
        bound: Option<ActorBound>,
    ) -> Result<u64, LinkError> {
        if channel >= self.channels_max {
            let rule = "a channel's number is below channels_max";
            return Err(LinkError::Misbehaved { code: Code::LIMIT_EXCEEDED, rule });
        }
        let at = channel as usize;
        if self.grants.len() <= at {
            self.grants.resize_with(at + 1, || None);
            self.uses.resize(at + 1, Use::default());
        }
        if self.grants[at].is_some() {
            return Err(LinkError::protocol("ATTACH of a channel that is open"));
        }
        let grant = match bound {
            None => Grant::new(units, &mut self.budget),
            Some(bound) => Grant::bounded(units, bound, &mut self.budget),
        };
        let limit = grant.announced();
        self.grants[at] = Some(grant);
        self.uses[at].open = self.next_use;
        self.next_use += 1;
        Ok(limit)
    }

    /// The use of the peer's channel number that is open; 0 if none is. Each use has a number of
    /// its own.
    pub fn use_of(&self, channel: u64) -> u64 {
        let at = usize::try_from(channel).unwrap_or(usize::MAX);
        self.uses.get(at).map_or(0, |number| number.open)
    }

    /// True while this use of the peer's channel number is open.
    pub fn is_current(&self, channel: u64, use_of: u64) -> bool {
        use_of != 0 && self.use_of(channel) == use_of
    }

    /// The units that the peer was allowed to use of a channel that has ended.
    pub fn last_limit(&self, channel: u64) -> u64 {
        let at = usize::try_from(channel).unwrap_or(usize::MAX);
        self.uses.get(at).map_or(0, |number| number.last_limit)
    }

    /// The code with which calls fail on a channel that has ended.
    pub fn end_code(&self, channel: u64) -> Code {
        let at = usize::try_from(channel).unwrap_or(usize::MAX);
        self.uses.get(at).and_then(|number| number.code).unwrap_or(Code::ACTOR_STOPPED)
    }

    /// Puts a channel under the bound of its actor, which was not known when it was opened. The units
    /// that its window has already stay.
    pub fn bind(&mut self, channel: u64, bound: ActorBound) {
        if let Some(grant) = self.granted(channel) {
            grant.bind(bound);
        }
    }

    /// Ends a channel that the peer sends on and tells it so with DETACHED; `accepted` counts the
    /// calls that the actor was given, and is 0 if calls are not counted. Returns the grant, which
    /// is to be [closed](Self::close_grant) when its last call is handled; `None` if the channel
    /// had ended before.
    pub fn end_channel(&mut self, channel: u64, code: Code, accepted: u64) -> Option<Grant> {
        self.end_channel_because(channel, code, accepted, &[])
    }

    /// As [`end_channel`](Self::end_channel), and says why the actor has stopped.
    pub fn end_channel_because(
        &mut self,
        channel: u64,
        code: Code,
        accepted: u64,
        reason: &[u8],
    ) -> Option<Grant> {
        let grant = self.take_grant(channel)?;
        self.uses[channel as usize].code = Some(code);
        let detached = Frame::Detached { channel, code, accepted, reason };
        self.outbox.append(|out| write::any(out, &detached));
        Some(grant)
    }

    /// The grant of a channel that the peer sends on.
    pub fn granted(&mut self, channel: u64) -> Option<&mut Grant> {
        self.grants.get_mut(usize::try_from(channel).ok()?)?.as_mut()
    }

    /// Closes a channel of the peer that has no unhandled calls.
    pub fn withdraw(&mut self, channel: u64) {
        if let Some(grant) = self.take_grant(channel) {
            self.close_grant(grant);
        }
    }

    /// Takes the grant of a channel that the peer has closed. Its unhandled calls keep their places
    /// until [`close_grant`](Self::close_grant) returns them.
    pub fn take_grant(&mut self, channel: u64) -> Option<Grant> {
        let at = usize::try_from(channel).ok()?;
        let grant = self.grants.get_mut(at)?.take()?;
        self.due.remove(&at);
        self.waiting.remove(&at);
        self.rejections.forget(channel);
        self.uses[at] = Use { open: 0, last_limit: grant.allowed(), code: None };
        Some(grant)
    }

    /// Returns the places of a closed channel whose last call was handled.
    pub fn close_grant(&mut self, grant: Grant) {
        grant.close(&mut self.budget);
        self.serve_waiting();
    }

    /// Counts the answer to an ATTACH, which is appended next.
    ///
    /// # Errors
    ///
    /// Fails if more than `most` such answers were not taken by a writer yet: the peer cannot have
    /// received them, so it has sent more than it may without waiting.
    pub fn answer_attach(&mut self, most: u64) -> Result<(), LinkError> {
        let rule = "no more ATTACHes are unanswered than attach_pending_max";
        self.attaches.add(&self.outbox, most, rule)
    }

    /// Counts the answer to an ATTACH to the actor of an answer, as
    /// [`answer_attach`](Self::answer_attach) does for others.
    pub fn answer_pipe(&mut self) -> Result<(), LinkError> {
        let rule = "at most 1024 ATTACHes to actors of answers are unanswered";
        self.pipes.add(&self.outbox, PIPES_PENDING_MAX, rule)
    }

    /// Counts the answer to a REVOKE, as [`answer_attach`](Self::answer_attach) does for ATTACH.
    pub fn answer_revoke(&mut self) -> Result<(), LinkError> {
        self.revokes.add(&self.outbox, REVOKES_PENDING_MAX, "at most 1024 REVOKEs are unanswered")
    }

    /// Retries the grants that got too little, because units have returned to the budget.
    pub(super) fn serve_waiting(&mut self) {
        for at in core::mem::take(&mut self.waiting) {
            if let Some(Some(grant)) = self.grants.get_mut(at) {
                if grant.need(0, 0, &mut self.budget) | grant.fit_call(&mut self.budget) {
                    self.due.insert(at);
                }
                if grant.is_short() {
                    self.waiting.insert(at);
                }
            }
        }
    }

    /// The actor has taken `units` of the peer's channel out of its inbound queue. Returns true if
    /// the caller should flush.
    pub fn freed(&mut self, channel: u64, units: u64) -> bool {
        let grant = usize::try_from(channel).ok().and_then(|at| self.grants.get_mut(at));
        let Some(Some(grant)) = grant else {
            return false;
        };
        let mut due = grant.free(units);
        let has_returned = grant.settle(&mut self.budget);
        if grant.wants_long_call() && !grant.is_bounded() {
            due |= grant.fit_long_call(&mut self.budget);
        }
        // A NEED stands before the calls that were sent before it, so the end of its batch decides.
        if grant.is_bounded() && !self.blocked.contains(&(channel as usize)) {
            due |= grant.fit_call(&mut self.budget);
        }
        let mut measures = false;
        if grant.ran_dry() {
            let scaled = self.rtt.window_units();
            due |= scaled > 0 && grant.scale(scaled, &mut self.budget);
            if grant.is_base_exhausted() {
                self.rtt.request();
                measures = self.rtt.wants_ping();
            }
        }
        if due {
            self.due.insert(channel as usize);
        }
        if has_returned {
            self.serve_waiting();
        }
        due || measures
    }

    /// The handlers of `tells` tells and `asks` asks on the peer's channel have ended; calls that
    /// were not understood count too. The peer is told with the next credit of the channel, or with
    /// the next batch that carries only an ack, a PING or a PONG. Returns true if the caller should
    /// flush.
    pub fn handled(&mut self, channel: u64, tells: u64, asks: u64) -> bool {
        let Some(grant) = self.granted(channel) else { return false };
        grant.handled(tells, asks);
        self.handled_unannounced = true;
        let is_due = self.rejections.is_unreported(channel);
        if is_due {
            self.due.insert(channel as usize);
        }
        is_due
    }

    /// The actor has not understood a tell of the peer's channel, for the reason `code`, which
    /// `text` says in words. [`handled`](Self::handled) is to count the tell afterwards.
    pub fn rejected(&mut self, channel: u64, method: u64, code: Code, text: &dyn fmt::Display) {
        let reports = self.reports_outcomes;
        if let Some(grant) = self.granted(channel).filter(|_| reports) {
            grant.rejected();
            self.rejections.add(channel, method, code, text);
        }
    }

    /// Handles NEED; `units` is the cost of the peer's next call if that is longer than a frame may
    /// be, and 0 otherwise. Returns true if the caller should flush.
    pub fn need_received(&mut self, channel: u64, wanted: u64, units: u64) -> bool {
        let at = usize::try_from(channel).unwrap_or(usize::MAX);
        let Some(Some(grant)) = self.grants.get_mut(at) else {
            return false;
        };
        if self.rtt.is_unknown() {
            self.rtt.request();
        }
        let due = grant.need(wanted, units, &mut self.budget);
        if due {
            self.due.insert(at);
        }
        if grant.is_bounded() {
            self.blocked.insert(at);
        } else if grant.is_short() {
            self.waiting.insert(at);
        }
        due
    }

    /// A batch has ended. Gives room to calls that are larger than the windows of their bounded
    /// actors: the calls that were sent before such a NEED stand behind it in its batch.
    pub(super) fn fit_blocked_calls(&mut self) {
        for at in core::mem::take(&mut self.blocked) {
            let Some(Some(grant)) = self.grants.get_mut(at) else { continue };
            if grant.fit_call(&mut self.budget) {
                self.due.insert(at);
            }
            if grant.is_short() {
                self.waiting.insert(at);
            }
        }
    }
}
