//! The calls of one chunk while they are handled.
//!
//! Mail of local senders is stored as messages; calls of a session are stored as received and
//! decoded here, one by one, straight into their handlers. However a run ends, even by a panic or
//! because the runtime shuts down while a handler waits, the waiting askers are told.

pub(crate) mod handling;
#[cfg(feature = "testing")]
mod one_by_one;
pub(crate) mod spans;

use std::mem::ManuallyDrop;
use std::sync::Arc;

use wigwag_wire::call::{self, CallRun, Calls};
use wigwag_wire::fixed::FixedWidth;
use wigwag_wire::{DecodeError, Reader};

use crate::error::CallErrorKind;
use crate::lifecycle::control::Control;
use crate::mailbox::backlog::chunk::Frames;
use crate::mailbox::mail_batch::{MailBatch, MailDrain};
use crate::mailbox::ready_queues::Provenance;
use crate::mailbox::{refuse_askers, refuse_calls};
use crate::reply::owner::InboundQueueOwner;
use crate::reply::{LocalReply, Reply, ReplySlot};
use crate::runtime::actor::{Actor, Handled};

/// The reason for which a run pauses.
pub(crate) enum RunPause<M> {
    /// No call is left.
    End,
    /// This call has an `async` handler.
    Later(M),
    /// The handler of this call runs side by side with others.
    SideBySide(M),
    /// Control mail is waiting.
    Orders,
}

/// Calls that have not begun and are to be put back.
pub(crate) enum Remaining<M> {
    Mails(MailBatch<M>),
    /// The number of frames left at the end of those that the run was made from.
    Frames(usize),
}

/// A source of calls for a run.
pub(crate) trait CallSource<A: Actor> {
    /// Handles calls one after the other, as far as possible.
    fn handle(
        &mut self,
        actor: &mut A,
        reply: &mut Reply<'_>,
        control: &Control,
    ) -> RunPause<A::Message>;

    /// The number of calls that have not begun.
    fn left(&self) -> usize;

    /// Takes out the calls that have not begun.
    fn keep(&mut self) -> Remaining<A::Message>;

    /// Tells the waiting askers that there will be no answer.
    fn refuse(&mut self, provenance: Provenance<'_, A::Message>);
}

/// True when only the mailbox still holds the reply slot: the asker is gone, and its call is not
/// begun unless it asked only for a receipt. One load, of a cache line that the answer needs next.
#[inline(always)]
pub(crate) fn is_gone(asker: &Arc<dyn LocalReply>) -> bool {
    Arc::strong_count(asker) == 1 && asker.is_called_off()
}

impl<A: Actor> CallSource<A> for MailDrain<'_, A::Message> {
    fn handle(
        &mut self,
        actor: &mut A,
        reply: &mut Reply<'_>,
        control: &Control,
    ) -> RunPause<A::Message> {
        loop {
            if control.is_marked() {
                return RunPause::Orders;
            }
            let Some((message, asker)) = self.next() else { return RunPause::End };
            // For a tell the reply is as the call before left it: without an asker.
            if let Some(asker) = asker {
                if is_gone(&asker) {
                    continue;
                }
                reply.renew(ReplySlot::Local(asker));
            }
            match actor.handle(message, reply) {
                Handled::Done => {}
                Handled::Later(message) => return RunPause::Later(message),
                Handled::SideBySide(message) => return RunPause::SideBySide(message),
            }
            reply.end();
        }
    }

    fn left(&self) -> usize {
        MailDrain::left(self)
    }

    fn keep(&mut self) -> Remaining<A::Message> {
        Remaining::Mails(self.collect())
    }

    fn refuse(&mut self, provenance: Provenance<'_, A::Message>) {
        refuse_askers(self, provenance.origin);
    }
}

/// Calls of a session.
pub(crate) struct EncodedCalls<'a> {
    calls: Calls<'a>,
    owner: &'a Arc<dyn InboundQueueOwner>,
}

impl<'a> EncodedCalls<'a> {
    pub(crate) fn new(
        frames: &'a Frames,
        owner: &'a Arc<dyn InboundQueueOwner>,
    ) -> EncodedCalls<'a> {
        EncodedCalls { calls: frames.left(), owner }
    }

    /// Takes the next call.
    pub(crate) fn next(&mut self) -> Option<call::EncodedCall<'a>> {
        self.calls.next()
    }

    #[cold]
    pub(crate) fn reply_not_understood<A: Actor>(
        &self,
        method: u32,
        error: Option<DecodeError>,
        reply: &mut Reply<'_>,
    ) {
        if !reply.is_wanted() {
            return self.owner.undelivered();
        }
        match error {
            None => reply.fail(CallErrorKind::NoSuchMethod, ""),
            Some(error) => {
                let detail = format!("{}: {error}", A::SCHEMA.method_name(method));
                let kind = match error {
                    DecodeError::NotSerializable => CallErrorKind::NotSerializable,
                    _ => CallErrorKind::BadArguments,
                };
                reply.fail(kind, &detail);
            }
        }
    }
}

impl<A: Actor> CallSource<A> for EncodedCalls<'_> {
    fn handle(
        &mut self,
        actor: &mut A,
        reply: &mut Reply<'_>,
        control: &Control,
    ) -> RunPause<A::Message> {
        loop {
            if control.is_marked() {
                return RunPause::Orders;
            }
            // Nearly all calls of a busy session come in runs, so runs are tried first.
            let (method, handled) = if let Some(run) = self.calls.run() {
                let method = run.method();
                (method, actor.handle_run(method, &mut SameCalls { run, control }, reply))
            } else {
                let Some(call) = self.calls.next() else { return RunPause::End };
                // For a tell the reply is as the call before left it: without an asker.
                if let Some((slot, generation)) = call.asker {
                    reply.renew(ReplySlot::Remote { slot, generation });
                }
                let mut arguments = Reader::new(call.arguments);
                (call.method, actor.handle_encoded(call.method, &mut arguments, reply))
            };
            match handled {
                Ok(Some(Handled::Done)) => {}
                Ok(Some(Handled::Later(message))) => return RunPause::Later(message),
                Ok(Some(Handled::SideBySide(message))) => return RunPause::SideBySide(message),
                Ok(None) => self.reply_not_understood::<A>(method, None, reply),
                Err(error) => self.reply_not_understood::<A>(method, Some(error), reply),
            }
            reply.end();
        }
    }

    fn left(&self) -> usize {
        self.calls.clone().count()
    }

    fn keep(&mut self) -> Remaining<A::Message> {
        Remaining::Frames(std::mem::take(&mut self.calls).count())
    }

    fn refuse(&mut self, provenance: Provenance<'_, A::Message>) {
        refuse_calls(std::mem::take(&mut self.calls), provenance);
    }
}

/// Consecutive calls of one method, as [`Actor::handle_run`] gets them.
#[derive(Debug)]
pub struct SameCalls<'c, 'a> {
    run: CallRun<'c, 'a>,
    control: &'c Control,
}

impl<'a> SameCalls<'_, 'a> {
    /// Returns the arguments of the next call and sets `reply` to its asker. `None` when there is
    /// none, and when control mail is waiting.
    #[inline(always)]
    pub fn take(&mut self, reply: &mut Reply<'_>) -> Option<&'a [u8]> {
        if self.control.is_marked() {
            return None;
        }
        let (slot, arguments) = self.run.take()?;
        if let Some(generation) = self.run.generation() {
            reply.renew(ReplySlot::Remote { slot, generation });
        }
        Some(arguments)
    }

    /// Calls `handle` with the arguments of each tell in turn, as long as they are values of that
    /// width. Asks are left in place. A loop of its own, because the loop for all calls needs more
    /// registers than there are.
    ///
    /// # Errors
    /// As [`each`](Self::each).
    #[inline(never)]
    pub fn tells_fixed(
        &mut self,
        fixed: FixedWidth,
        mut handle: impl FnMut(&mut Reader<'_>, &mut Reply<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        if self.run.generation().is_some() {
            return Ok(());
        }
        let control = self.control;
        let mut run = self.run.cursor();
        while !control.is_marked_in_a_loop() {
            let Some((_, values)) = run.take_fixed(fixed) else { break };
            // A new reply each time, so that the compiler sees that there is no asker and removes
            // it.
            let mut nobody = ManuallyDrop::new(Reply::new(ReplySlot::Nobody, None));
            handle(&mut Reader::new(values), &mut nobody)?;
        }
        Ok(())
    }

    /// Calls `handle` with the arguments of each ask in turn, as [`tells_fixed`](Self::tells_fixed)
    /// does for tells; tells are left in place.
    ///
    /// # Errors
    /// As [`each`](Self::each).
    #[inline(never)]
    pub fn asks_fixed(
        &mut self,
        reply: &mut Reply<'_>,
        fixed: FixedWidth,
        mut handle: impl FnMut(&mut Reader<'_>, &mut Reply<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let Some(generation) = self.run.generation() else { return Ok(()) };
        let control = self.control;
        let mut run = self.run.cursor();
        while !control.is_marked_in_a_loop() {
            let Some((slot, values)) = run.take_fixed(fixed) else { break };
            reply.renew(ReplySlot::Remote { slot, generation });
            handle(&mut Reader::new(values), reply)?;
            reply.end();
        }
        Ok(())
    }

    /// Calls `handle` with the arguments of each call in turn. After an error no more calls are
    /// taken; the error is about the last one.
    ///
    /// # Errors
    /// The error that `handle` returns.
    #[inline(never)]
    pub fn each<M>(
        &mut self,
        reply: &mut Reply<'_>,
        mut handle: impl FnMut(&mut Reader<'_>, &mut Reply<'_>) -> Result<(), DecodeError>,
    ) -> Result<Option<Handled<M>>, DecodeError> {
        let (control, generation) = (self.control, self.run.generation());
        let mut run = self.run.cursor();
        while !control.is_marked_in_a_loop() {
            let Some((slot, arguments)) = run.take() else { break };
            if let Some(generation) = generation {
                reply.renew(ReplySlot::Remote { slot, generation });
            }
            handle(&mut Reader::new(arguments), reply)?;
            reply.end();
        }
        Ok(Some(Handled::Done))
    }
}

/// A run over a source; dropping it early refuses the calls that are left.
pub(crate) struct ChunkRun<'a, A: Actor, S: CallSource<A>> {
    pub(crate) source: S,
    calls: usize,
    /// 1 while the handler of the call that was taken out last has not ended.
    unfinished: usize,
    provenance: Provenance<'a, A::Message>,
    /// Set once the calls that were taken out have been counted.
    finished: bool,
    actor: std::marker::PhantomData<fn(A)>,
}

impl<'a, A: Actor, S: CallSource<A>> ChunkRun<'a, A, S> {
    /// Starts a run over `source`.
    pub(crate) fn new(
        source: S,
        calls: usize,
        provenance: Provenance<'a, A::Message>,
    ) -> ChunkRun<'a, A, S> {
        let actor = std::marker::PhantomData;
        ChunkRun { source, calls, unfinished: 1, provenance, finished: false, actor }
    }

    /// Counts the calls that were taken out as ended, except one that `broke_off`. Returns the
    /// calls that have not begun.
    pub(crate) fn finish(mut self, broke_off: bool) -> Remaining<A::Message> {
        self.unfinished = usize::from(broke_off);
        self.count();
        self.finished = true;
        self.source.keep()
    }

    fn count(&self) {
        if self.finished {
            return;
        }
        if let Some(owner) = self.provenance.owner {
            let begun = self.calls - self.source.left().min(self.calls);
            owner.handled(begun.saturating_sub(self.unfinished) as u64);
        }
    }
}

impl<A: Actor, S: CallSource<A>> Drop for ChunkRun<'_, A, S> {
    fn drop(&mut self) {
        self.count();
        self.source.refuse(self.provenance);
    }
}
