//! The calls of a session: stored as they were received, and decoded straight into their handlers.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use wigwag_wire::call::{CallExtra, Calls, EncodedCall};
use wigwag_wire::{DecodeError, Reader};

use crate::error::CallErrorKind;
use crate::letters::{Loss, Origin};
use crate::lifecycle::control::Control;
use crate::mailbox::backlog::chunk::Frames;
use crate::mailbox::ready_queues::Provenance;
use crate::mailbox::refuse_calls;
use crate::reply::Reply;
use crate::reply::cancelled::CancelledAsks;
use crate::reply::owner::{CallGate, InboundQueueOwner};
use crate::runtime::actor::{Actor, Handled, handle_alone};
use crate::runtime::run::mixed_calls::{MixedCalls, handle_mixed};
use crate::runtime::run::same_calls::{SameCalls, renew};
use crate::runtime::run::spans::CallScope;
use crate::runtime::run::trace::{self, TraceContext};
use crate::runtime::run::{CallSource, Remaining};

/// Calls of a session.
pub(crate) struct EncodedCalls<'a, M> {
    calls: Calls<'a>,
    /// Where the run began, and the calls and asks from there on. The calls taken are counted from
    /// here, so that the counts of all runs over a chunk cost one walk over it.
    start: Calls<'a>,
    total: (usize, usize),
    /// The memory of the calls, if it is shared.
    shared: Option<&'a Bytes>,
    owner: &'a Arc<dyn InboundQueueOwner>,
    origin: Option<Origin<M>>,
    control: &'a Control,
    cancelled: &'a CancelledAsks,
    /// Decides which calls are handled.
    gate: Option<&'a dyn CallGate>,
}

impl<'a, M> EncodedCalls<'a, M> {
    pub(crate) fn new(
        frames: &'a Frames,
        owner: &'a Arc<dyn InboundQueueOwner>,
        origin: Option<Origin<M>>,
        control: &'a Control,
    ) -> EncodedCalls<'a, M> {
        let (calls, shared) = (frames.left(), frames.shared());
        let start = calls.clone();
        let total = (frames.calls(), frames.asks());
        let alone = EncodedCalls::alone(owner, origin, control);
        EncodedCalls { calls, start, total, shared, ..alone }
    }

    /// No calls: the source of one that came by itself.
    pub(crate) fn alone(
        owner: &'a Arc<dyn InboundQueueOwner>,
        origin: Option<Origin<M>>,
        control: &'a Control,
    ) -> EncodedCalls<'a, M> {
        let (calls, start, total, shared) = (Calls::default(), Calls::default(), (0, 0), None);
        let (cancelled, gate) = (owner.cancelled(), owner.gate());
        EncodedCalls { calls, start, total, shared, owner, origin, control, cancelled, gate }
    }

    /// Takes what the caller of an ask has said besides. True if its deadline has passed, which ends
    /// it; false if it is to be handled.
    #[cold]
    fn heed(&self, extra: CallExtra, reply: &mut Reply<'_>) -> bool {
        let is_late = match extra {
            CallExtra::Deadline(deadline) => self.owner.has_passed(deadline),
            CallExtra::Items(limit) => {
                reply.wants_items(limit);
                false
            }
        };
        if is_late {
            reply.fail(CallErrorKind::DeadlinePassed, "");
        }
        is_late
    }

    /// The calls that have not begun, and the asks among them.
    fn left_and_asks(&self) -> (usize, usize) {
        // Most runs end with their chunk, and no walk over it is due: 6 ns for each tell.
        if self.calls.is_empty() {
            return (0, 0);
        }
        let (calls, asks) = self.calls.taken_since(&self.start);
        (self.total.0.saturating_sub(calls), self.total.1.saturating_sub(asks))
    }

    /// True if the call is refused, because the peer may not call this method, or not so often.
    #[inline(always)]
    fn is_refused<A: Actor>(&self, call: &EncodedCall<'_>, reply: &mut Reply<'_>) -> bool {
        self.gate.is_some_and(|gate| self.refuses::<A>(gate, call, reply))
    }

    fn refuses<A: Actor>(
        &self,
        gate: &dyn CallGate,
        call: &EncodedCall<'_>,
        reply: &mut Reply<'_>,
    ) -> bool {
        if !gate.permits(call.method) {
            self.owner.discarded(call.arguments, CallErrorKind::NoSuchMethod);
            // The answer is that to a method that is absent.
            self.reply_not_understood::<A>(call.method, None, reply);
            return true;
        }
        if gate.admits() {
            return false;
        }
        self.owner.discarded(call.arguments, CallErrorKind::Overloaded);
        let why =
            "the caller makes more calls a second than `IdentityLimits::calls_per_second` allows";
        match reply.is_wanted() {
            true => reply.fail(CallErrorKind::Overloaded, why),
            false => {
                self.owner.rejected(call.method, CallErrorKind::Overloaded, &why);
                if let Some(origin) = &self.origin {
                    origin.lost_method(Loss::NoRoom, call.method);
                }
            }
        }
        true
    }

    /// Enters the handler of a call that is no part of a run, unless it is not to be handled.
    #[inline(always)]
    pub(crate) fn enter_one<A: Actor<Message = M>>(
        &self,
        actor: &mut A,
        call: &EncodedCall<'_>,
        reply: &mut Reply<'_>,
        scope: impl CallScope,
    ) -> Handled<M> {
        // For a tell the reply is as the call before left it: without an asker.
        if let Some(asker) = call.asker
            && renew(reply, self.cancelled, asker)
        {
            self.owner.discarded(call.arguments, CallErrorKind::Cancelled);
            return Handled::Done;
        }
        if let Some(extra) = call.extra
            && self.heed(extra, reply)
        {
            self.owner.discarded(call.arguments, CallErrorKind::DeadlinePassed);
            return Handled::Done;
        }
        if self.is_refused::<A>(call, reply) {
            return Handled::Done;
        }
        let handled = self.enter_alone(actor, call, reply, scope);
        self.understood::<A>(call.method, handled, reply)
    }

    /// Answers calls that were not understood.
    #[inline(always)]
    fn understood<A: Actor<Message = M>>(
        &self,
        method: u32,
        handled: Result<Option<Handled<M>>, DecodeError>,
        reply: &mut Reply<'_>,
    ) -> Handled<M> {
        match handled {
            Ok(Some(handled)) => return handled,
            Ok(None) => self.reply_not_understood::<A>(method, None, reply),
            Err(error) => self.reply_not_understood::<A>(method, Some(error), reply),
        }
        Handled::Done
    }

    /// Enters the handler of a call that is no part of a run.
    #[inline(always)]
    fn enter_alone<A: Actor<Message = M>>(
        &self,
        actor: &mut A,
        call: &EncodedCall<'_>,
        reply: &mut Reply<'_>,
        scope: impl CallScope,
    ) -> Result<Option<Handled<M>>, DecodeError> {
        // Until the handler, or its first part, has ended.
        let trace = call.trace.and_then(TraceContext::from_bytes);
        let _entered = trace.map(trace::enter);
        let method = call.method;
        let arguments = match self.shared {
            None => Reader::new(call.arguments),
            Some(shared) => Reader::of_owner(shared, call.arguments),
        };
        let mut enter = |reply: &mut Reply<'_>| {
            scope.enter(method, || handle_alone(actor, method, arguments.clone(), reply))
        };
        let handled = match enter(reply) {
            Err(DecodeError::NeedsSession) => {
                // Only a call with a reference to an actor needs to know its session, and it is
                // too long to be one of a run. Every other call is spared that.
                let mut handled = Err(DecodeError::NeedsSession);
                self.owner.reading(call.arguments, &mut || {
                    handled = enter(reply);
                    matches!(handled, Ok(Some(_)))
                });
                handled
            }
            handled => {
                let refused = match &handled {
                    Ok(Some(_)) => None,
                    Ok(None) => Some(CallErrorKind::NoSuchMethod),
                    Err(_) => Some(CallErrorKind::BadArguments),
                };
                if let Some(why) = refused {
                    self.owner.discarded(call.arguments, why);
                }
                handled
            }
        };
        if let (Some(trace), Ok(Some(Handled::Later(_) | Handled::SideBySide(_)))) =
            (trace, &handled)
        {
            reply.keep_trace(trace);
        }
        handled
    }

    #[cold]
    fn reply_not_understood<A: Actor>(
        &self,
        method: u32,
        error: Option<DecodeError>,
        reply: &mut Reply<'_>,
    ) {
        let kind = match error {
            None => CallErrorKind::NoSuchMethod,
            Some(DecodeError::NotSerializable) => CallErrorKind::NotSerializable,
            Some(_) => CallErrorKind::BadArguments,
        };
        let reason = NotUnderstood { method: A::SCHEMA.method_name(method), error };
        if reply.is_wanted() {
            return reply.fail(kind, &reason.to_string());
        }
        self.owner.rejected(method, kind, &reason);
        if let Some(origin) = &self.origin {
            origin.lost_method(Loss::NotUnderstood, method);
        }
    }
}

/// True if calls of this method, or of several ones, need no check of their own.
fn is_free(gate: &dyn CallGate, method: Option<u32>) -> bool {
    !gate.is_counting() && method.is_some_and(|method| gate.permits(method))
}

/// Why a call was not understood, in words.
struct NotUnderstood {
    method: &'static str,
    error: Option<DecodeError>,
}

impl fmt::Display for NotUnderstood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.error {
            None => Ok(()),
            Some(error) => write!(f, "{}: {error}", self.method),
        }
    }
}

impl<A: Actor> CallSource<A> for EncodedCalls<'_, A::Message> {
    #[inline(always)]
    fn enter_next(
        &mut self,
        actor: &mut A,
        reply: &mut Reply<'_>,
        scope: impl CallScope,
    ) -> Option<Handled<A::Message>> {
        // Nearly all calls of a busy session come in runs, so runs are tried first.
        let gate = self.gate;
        let (method, handled) = if !scope.is_separate()
            && let Some(run) = self.calls.run()
            && gate.is_none_or(|gate| is_free(gate, run.method()))
        {
            let (control, cancelled) = (self.control, self.cancelled);
            match run.method() {
                Some(method) => {
                    let mut same = SameCalls { run, control, cancelled };
                    (method, actor.handle_run(method, &mut same, reply))
                }
                None => handle_mixed(actor, MixedCalls { run, control, cancelled }, reply),
            }
        } else {
            let call = self.calls.next()?;
            return Some(self.enter_one(actor, &call, reply, scope));
        };
        Some(self.understood::<A>(method, handled, reply))
    }

    fn left(&self) -> usize {
        self.left_and_asks().0
    }

    fn asks_left(&self) -> usize {
        self.left_and_asks().1
    }

    fn keep(&mut self) -> Remaining<A::Message> {
        let (calls, asks) = self.left_and_asks();
        let position = Some(self.calls.position());
        self.calls = Calls::default();
        Remaining::Frames { calls, asks, position }
    }

    fn refuse(&mut self, provenance: Provenance<'_, A::Message>) {
        refuse_calls(std::mem::take(&mut self.calls), provenance);
    }
}
