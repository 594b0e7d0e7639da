//! Handling a chunk of mail: call by call, as far as possible without waiting.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::CallErrorKind;
use crate::letters::Origin;
use crate::lifecycle::control::Control;
use crate::lifecycle::handle::AnyActor;
use crate::mailbox::backlog::chunk::Chunk;
use crate::mailbox::ready_queues::{Provenance, Source};
use crate::mailbox::{Mailbox, refuse};
use crate::message::Message;
use crate::reason::Reason;
use crate::reply::{Asker, Reply, ReplyBatch, ReplySlot};
use crate::runtime::actor::{Actor, Handled};
#[cfg(feature = "testing")]
use crate::runtime::run::one_by_one::OneByOne;
use crate::runtime::run::spans::{Spanned, Spans};
use crate::runtime::run::{self, ChunkRun, EncodedCalls, Remaining, RunPause, is_gone};
use crate::runtime::side_by_side::PendingCall;
#[cfg(feature = "testing")]
use crate::scheduler::is_queued_only;

/// The reason for which the handling of a chunk ended, with the calls that have not begun.
pub(crate) enum ChunkEnd<M> {
    Done,
    /// Control mail is waiting.
    Orders(Unhandled<M>),
    /// This call has an `async` handler.
    Later(M, Reply<'static>, Unhandled<M>),
    /// The handler of this call runs side by side with others.
    SideBySide(PendingCall<M>, Unhandled<M>),
    /// A handler panicked, which ends the actor.
    Failed(Reason, Unhandled<M>),
}

/// Calls that were taken out of their queue and not handled. If they are dropped, their askers are
/// told.
pub(crate) struct Unhandled<M> {
    chunk: Option<Chunk<M>>,
    source: Source<M>,
    /// Describes the calls if they are reported as lost.
    origin: Option<Origin<M>>,
}

impl<M> Unhandled<M> {
    pub(crate) fn new(chunk: Chunk<M>, source: Source<M>, mailbox: &Mailbox<M>) -> Unhandled<M> {
        let origin = mailbox.origin_of(&source);
        Unhandled { chunk: Some(chunk), source, origin }
    }

    /// An empty rest, after a call that came without a chunk.
    pub(crate) fn none(origin: Option<Origin<M>>) -> Unhandled<M> {
        Unhandled { chunk: None, source: Source::Local, origin }
    }

    fn provenance(&self) -> Provenance<'_, M> {
        Provenance { owner: self.source.owner(), origin: self.origin }
    }

    /// Puts the calls back at the front of their queue.
    pub(crate) fn put_back(mut self, mailbox: &Mailbox<M>) {
        if let Some(chunk) = self.chunk.take() {
            mailbox.put_back(chunk, &self.source);
        }
    }

    /// Counts a call before these whose handler has ended.
    pub(crate) fn handled_one(&self) {
        if let Some(owner) = self.source.owner() {
            owner.handled(1);
        }
    }

    /// Keeps the calls of `chunk` that have not begun, which are `left`.
    fn keep(&mut self, mut chunk: Chunk<M>, left: Remaining<M>, mailbox: &Mailbox<M>) {
        self.chunk = match left {
            Remaining::Mails(mails) => {
                mailbox.give_back(chunk, &self.source);
                Some(Chunk::Mails(mails))
            }
            Remaining::Frames(left) => {
                if let Chunk::Frames(frames) = &mut chunk {
                    frames.skip = frames.calls - left.min(frames.calls);
                }
                Some(chunk)
            }
        };
    }
}

impl<M> Drop for Unhandled<M> {
    fn drop(&mut self) {
        if let Some(chunk) = self.chunk.take() {
            refuse(chunk, self.provenance());
        }
    }
}

/// Handles calls until none is left, one has an `async` handler, control mail has come, or
/// a handler has panicked.
pub(crate) fn handle_chunk<A: Actor>(
    actor: &mut A,
    mut calls: Unhandled<A::Message>,
    mailbox: &Mailbox<A::Message>,
    replies: &mut Option<Box<ReplyBatch>>,
    spans: Option<Spans>,
) -> ChunkEnd<A::Message> {
    if calls.source.is_timer() && mailbox.control().is_marked() {
        // Carrying out the control mail may cancel the timer.
        return ChunkEnd::Orders(calls);
    }
    let Some(mut chunk) = calls.chunk.take() else { return ChunkEnd::Done };
    let (provenance, control) = (calls.provenance(), mailbox.control());
    let owner = provenance.owner;
    // The call of a timer begins now or never: no control mail goes before it.
    let none = calls.source.is_timer().then(Control::new);
    let control = none.as_ref().unwrap_or(control);
    let memory = replies.as_deref_mut().map(std::mem::take).unwrap_or_default();
    let mut reply = Reply::of_run(owner, memory);
    let (pause, left) = match (&mut chunk, owner) {
        (Chunk::Frames(frames), Some(owner)) => {
            owner.freed(std::mem::take(&mut frames.units));
            let count = frames.calls - frames.skip;
            let calls = EncodedCalls::new(frames, owner);
            handle_spanned(actor, calls, spans, (count, provenance), control, &mut reply)
        }
        (Chunk::Frames(_), None) => (Ok(RunPause::End), Remaining::Frames(0)),
        (Chunk::Mails(mails), _) => {
            let count = mails.len();
            let calls = mails.drain();
            #[cfg(feature = "testing")]
            if spans.is_none() && is_queued_only() {
                let run = ChunkRun::new(OneByOne(calls), count, provenance);
                handle_run(actor, run, control, &mut reply)
            } else {
                handle_spanned(actor, calls, spans, (count, provenance), control, &mut reply)
            }
            #[cfg(not(feature = "testing"))]
            handle_spanned(actor, calls, spans, (count, provenance), control, &mut reply)
        }
    };
    if pause.is_err() {
        mailbox.failed();
        reply.fail(CallErrorKind::Panicked, "");
    }
    let owned = match pause {
        Ok(RunPause::Later(_) | RunPause::SideBySide(_)) => Some(reply.take_owned()),
        _ => None,
    };
    if owner.is_some() {
        **replies.get_or_insert_default() = reply.into_batch();
    } else {
        drop(reply);
    }
    if let Ok(RunPause::End) = pause {
        mailbox.give_back(chunk, &calls.source);
        return ChunkEnd::Done;
    }
    calls.keep(chunk, left, mailbox);
    match (pause, owned) {
        (Ok(RunPause::Later(message)), Some(reply)) => ChunkEnd::Later(message, reply, calls),
        (Ok(RunPause::SideBySide(message)), Some(reply)) => {
            let (owner, origin) = (calls.source.owner().cloned(), calls.origin);
            ChunkEnd::SideBySide(PendingCall { message, reply, owner, origin }, calls)
        }
        (Ok(_), _) => ChunkEnd::Orders(calls),
        (Err(reason), _) => ChunkEnd::Failed(reason, calls),
    }
}

/// Handles a call that came without a chunk; `None` when there is nothing left to do.
#[inline]
pub(crate) fn handle_one<A: Actor>(
    actor: &mut Option<A>,
    message: A::Message,
    asker: Asker,
    mailbox: &Mailbox<A::Message>,
    spans: Option<Spans>,
) -> Option<ChunkEnd<A::Message>> {
    let slot = match asker {
        Some(asker) if is_gone(&asker) => return None,
        Some(asker) => ReplySlot::Local(asker),
        None => ReplySlot::Nobody,
    };
    let mut reply = Reply::new(slot, None);
    let actor = actor.as_mut()?;
    let handled = catch_unwind(AssertUnwindSafe(|| match spans {
        None => actor.handle(message, &mut reply),
        Some(spans) => spans.of(message.method()).in_scope(|| actor.handle(message, &mut reply)),
    }));
    let left = || Unhandled::none(mailbox.origin_of(&Source::Local));
    match handled {
        Ok(Handled::Done) => {
            reply.end();
            None
        }
        Ok(Handled::Later(message)) => Some(ChunkEnd::Later(message, reply.take_owned(), left())),
        Ok(Handled::SideBySide(message)) => {
            let (owner, left) = (None, left());
            let (reply, origin) = (reply.take_owned(), left.origin);
            Some(ChunkEnd::SideBySide(PendingCall { message, reply, owner, origin }, left))
        }
        Err(payload) => {
            mailbox.failed();
            reply.fail(CallErrorKind::Panicked, "");
            Some(ChunkEnd::Failed(Reason::panicked(&*payload), left()))
        }
    }
}

/// Why a run stands still, or why its actor ends.
type PauseResult<M> = Result<RunPause<M>, Reason>;

/// Handles a run of calls, each in a span of its own if the actor was started so.
fn handle_spanned<'a, A: Actor, S: run::CallSource<A>>(
    actor: &mut A,
    calls: S,
    spans: Option<Spans>,
    (count, provenance): (usize, Provenance<'a, A::Message>),
    control: &Control,
    reply: &mut Reply<'_>,
) -> (PauseResult<A::Message>, Remaining<A::Message>)
where
    Spanned<S>: run::CallSource<A>,
{
    match spans {
        None => handle_run(actor, ChunkRun::new(calls, count, provenance), control, reply),
        Some(spans) => {
            let run = ChunkRun::new(Spanned { calls, spans }, count, provenance);
            handle_run(actor, run, control, reply)
        }
    }
}

fn handle_run<A: Actor>(
    actor: &mut A,
    mut run: ChunkRun<'_, A, impl run::CallSource<A>>,
    control: &Control,
    reply: &mut Reply<'_>,
) -> (PauseResult<A::Message>, Remaining<A::Message>) {
    let pause = catch_unwind(AssertUnwindSafe(|| run.source.handle(actor, reply, control)));
    // Done here, because the turn may end next.
    reply.hand_over();
    match pause {
        Ok(pause) => {
            let broke_off = matches!(pause, RunPause::Later(_) | RunPause::SideBySide(_));
            (Ok(pause), run.finish(broke_off))
        }
        Err(payload) => (Err(Reason::panicked(&*payload)), run.finish(true)),
    }
}
