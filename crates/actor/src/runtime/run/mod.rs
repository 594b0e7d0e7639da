//! The calls of one chunk while they are handled.
//!
//! `run_calls` is the loop from which the handlers of an actor are entered. Mail of local senders
//! is stored as messages; calls of a session are stored as received and decoded here, straight into
//! their handlers. However a run ends, even by a panic or because the runtime shuts down while a
//! handler waits, the waiting askers are told.

pub(crate) mod handling;
pub(crate) mod alone;
mod encoded_calls;
pub(crate) mod pace;
mod mixed_calls;
pub mod same_calls;
pub(crate) mod sources;
pub(crate) mod spans;
pub mod trace;

use wigwag_wire::call::CallsPosition;

use crate::mailbox::ready_queues::Provenance;
use crate::mailbox::sending::mail_batch::MailBatch;
use crate::reply::Reply;
use crate::runtime::actor::{Actor, Handled};
use crate::runtime::run::spans::CallScope;

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
    /// The calls left at the end of the frames that the run was made from, the asks among them, and the
    /// place of the first.
    Frames {
        calls: usize,
        asks: usize,
        position: Option<CallsPosition>,
    },
}

/// A source of calls for a run.
pub(crate) trait CallSource<A: Actor> {
    /// Enters the handler of the next call, or of consecutive calls of one method, inside `scope`.
    /// `None` when no call is left.
    fn enter_next(
        &mut self,
        actor: &mut A,
        reply: &mut Reply<'_>,
        scope: impl CallScope,
    ) -> Option<Handled<A::Message>>;

    /// The number of calls that have not begun.
    fn left(&self) -> usize;

    /// The asks of a session among the calls that have not begun.
    fn asks_left(&self) -> usize;

    /// Takes out the calls that have not begun.
    fn keep(&mut self) -> Remaining<A::Message>;

    /// Tells the waiting askers that there will be no answer.
    fn refuse(&mut self, provenance: Provenance<'_, A::Message>);
}

/// Handles calls one after the other, as far as possible without waiting, until `breaks_off` says
/// that something else goes first.
#[inline(always)]
pub(crate) fn run_calls<A: Actor>(
    source: &mut impl CallSource<A>,
    actor: &mut A,
    reply: &mut Reply<'_>,
    scope: impl CallScope,
    breaks_off: impl Fn() -> bool,
) -> RunPause<A::Message> {
    loop {
        if breaks_off() {
            return if source.left() == 0 { RunPause::End } else { RunPause::Orders };
        }
        match source.enter_next(actor, reply, scope) {
            None => return RunPause::End,
            Some(Handled::Done) => reply.end(),
            Some(Handled::Later(message)) => return RunPause::Later(message),
            Some(Handled::SideBySide(message)) => return RunPause::SideBySide(message),
        }
    }
}

/// A call whose handler has begun and has not ended.
#[derive(Clone, Copy)]
pub(crate) enum Unfinished {
    Tell,
    Ask,
    /// The run was left in between, so either kind is possible.
    Either,
}

/// A run over a source; dropping it early refuses the calls that are left.
pub(crate) struct ChunkRun<'a, A: Actor, S: CallSource<A>> {
    pub(crate) source: S,
    calls: usize,
    /// The asks of a session among `calls`.
    asks: usize,
    /// The call that was taken out last, while its handler has not ended.
    unfinished: Option<Unfinished>,
    provenance: Provenance<'a, A::Message>,
    /// Set once the calls that were taken out have been counted.
    finished: bool,
    actor: std::marker::PhantomData<fn(A)>,
}

impl<'a, A: Actor, S: CallSource<A>> ChunkRun<'a, A, S> {
    /// Starts a run over `source`, which holds `calls` calls, `asks` of them asks of a session.
    pub(crate) fn new(
        source: S,
        (calls, asks): (usize, usize),
        provenance: Provenance<'a, A::Message>,
    ) -> ChunkRun<'a, A, S> {
        let (actor, unfinished) = (std::marker::PhantomData, Some(Unfinished::Either));
        ChunkRun { source, calls, asks, unfinished, provenance, finished: false, actor }
    }

    /// The calls of the run.
    pub(crate) fn calls(&self) -> usize {
        self.calls
    }

    /// Counts the calls that were taken out as ended, except an `unfinished` one. Returns the calls
    /// that have not begun.
    pub(crate) fn finish(mut self, unfinished: Option<Unfinished>) -> Remaining<A::Message> {
        self.unfinished = unfinished;
        self.count();
        self.finished = true;
        self.source.keep()
    }

    fn count(&self) {
        if self.finished {
            return;
        }
        let Some(owner) = self.provenance.owner else { return };
        let begun = self.calls - self.source.left().min(self.calls);
        let mut asks = self.asks - self.source.asks_left().min(self.asks);
        let mut tells = begun.saturating_sub(asks);
        if let Some(Unfinished::Ask | Unfinished::Either) = self.unfinished {
            asks = asks.saturating_sub(1);
        }
        if let Some(Unfinished::Tell | Unfinished::Either) = self.unfinished {
            tells = tells.saturating_sub(1);
        }
        owner.handled(tells as u64, asks as u64);
    }
}

impl<A: Actor, S: CallSource<A>> Drop for ChunkRun<'_, A, S> {
    fn drop(&mut self) {
        self.count();
        self.source.refuse(self.provenance);
    }
}
