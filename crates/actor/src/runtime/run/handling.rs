//! Handling a chunk of mail: call by call, as far as possible without waiting.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::CallErrorKind;
use crate::letters::Origin;
use crate::lifecycle::control::Control;
use crate::lifecycle::current::{CallOwner, enter_call};
use crate::lifecycle::handle::AnyActor;
use crate::mailbox::backlog::chunk::Chunk;
use crate::mailbox::ready_queues::{Provenance, Source};
use crate::mailbox::{Mailbox, refuse};
use crate::reason::Reason;
use crate::reply::{Reply, ReplyBatch};
use crate::runtime::actor::Actor;
use crate::runtime::run::encoded_calls::EncodedCalls;
use crate::runtime::run::pace::{ChunkStart, Pace};
use crate::runtime::run::spans::{OneByOne, Quick, Spans};
use crate::runtime::run::{CallSource, ChunkRun, Remaining, RunPause, Unfinished, run_calls};
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
    /// The session of a call that was stashed, which is not among the calls of a source.
    stashed_from: Option<CallOwner>,
}

impl<M> Unhandled<M> {
    pub(crate) fn new(chunk: Chunk<M>, source: Source<M>, mailbox: &Mailbox<M>) -> Unhandled<M> {
        let origin = mailbox.origin_of(&source);
        Unhandled { chunk: Some(chunk), source, origin, stashed_from: None }
    }

    /// An empty rest, after a call that came without a chunk.
    pub(crate) fn none(origin: Option<Origin<M>>) -> Unhandled<M> {
        Unhandled::none_of(Source::Local, origin)
    }

    /// An empty rest, after a call of `source` that came without a chunk.
    pub(super) fn none_of(source: Source<M>, origin: Option<Origin<M>>) -> Unhandled<M> {
        Unhandled { chunk: None, source, origin, stashed_from: None }
    }

    /// An empty rest, after a call of `owner` that was stashed.
    pub(crate) fn after_stashed(owner: Option<CallOwner>) -> Unhandled<M> {
        let mut left = Unhandled::none(None);
        left.stashed_from = owner;
        left
    }

    /// The session that the call before these came from.
    pub(crate) fn caller(&self) -> Option<&CallOwner> {
        self.stashed_from.as_ref().or(self.source.owner())
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
    pub(crate) fn handled_one(&self, is_ask: bool) {
        if let Some(owner) = self.source.owner() {
            owner.handled(u64::from(!is_ask), u64::from(is_ask));
        }
    }

    /// Keeps the calls of `chunk` that have not begun, which are `left`.
    fn keep(&mut self, mut chunk: Chunk<M>, left: Remaining<M>, mailbox: &Mailbox<M>) {
        self.chunk = match left {
            Remaining::Mails(mails) => {
                mailbox.give_back(chunk, &self.source);
                Some(Chunk::Mails(mails))
            }
            Remaining::Frames { calls, asks, position } => {
                if let Chunk::Frames(frames) = &mut chunk {
                    frames.keep_last(calls, asks, position);
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
    answers: &mut Option<Box<SessionAnswers>>,
    spans: Option<Spans>,
) -> ChunkEnd<A::Message> {
    if calls.source.is_timer() && mailbox.control().is_marked() {
        // Carrying out the control mail may cancel the timer.
        return ChunkEnd::Orders(calls);
    }
    let Some(mut chunk) = calls.chunk.take() else { return ChunkEnd::Done };
    let (provenance, control) = (calls.provenance(), mailbox.control());
    let owner = provenance.owner;
    let has_asks = matches!(&chunk, Chunk::Frames(frames) if frames.asks() > 0);
    let memory = match answers {
        Some(answers) if has_asks => std::mem::take(&mut answers.memory),
        _ => ReplyBatch::default(),
    };
    let mut reply = Reply::of_run(owner, memory);
    let (pause, left) = match (&mut chunk, owner) {
        (Chunk::Frames(frames), Some(owner)) => {
            owner.freed(frames.take_units());
            let _call = enter_call(owner);
            let count = (frames.calls(), frames.asks());
            let source = EncodedCalls::new(frames, owner, provenance.origin, control);
            let run = ChunkRun::new(source, count, provenance);
            let pace = has_asks.then(|| &mut answers.get_or_insert_default().pace);
            handle_frames(actor, run, pace, spans, &mut reply, control)
        }
        (Chunk::Frames(_), None) => {
            (Ok(RunPause::End), Remaining::Frames { calls: 0, asks: 0, position: None })
        }
        (Chunk::Mails(mails), _) => {
            let count = (mails.len(), 0);
            let run = ChunkRun::new(mails.drain(), count, provenance);
            let (is_timer, pacing) = (calls.source.is_timer(), Pacing::new());
            // The call of a timer begins now or never: no control mail goes before it.
            let breaks_off = || !is_timer && (control.is_marked() || pacing.breaks_off());
            handle_run(actor, run, spans.map(|it| OneByOne(Some(it))), &mut reply, breaks_off)
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
    if has_asks {
        answers.get_or_insert_default().memory = reply.into_batch();
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
            let caller = owner.clone();
            ChunkEnd::SideBySide(PendingCall { message, reply, owner, caller, origin }, calls)
        }
        (Ok(_), _) => ChunkEnd::Orders(calls),
        (Err(reason), _) => ChunkEnd::Failed(reason, calls),
    }
}

/// The memory and the pace of an actor's answers to other processes.
#[derive(Default)]
pub(crate) struct SessionAnswers {
    /// Memory for the answers of a run.
    pub(crate) memory: ReplyBatch,
    pub(crate) pace: Pace,
}

/// Why a run pauses, or why its actor ends.
pub(super) type PauseResult<M> = Result<RunPause<M>, Reason>;

#[inline(always)]
pub(super) fn caught<T>(enter: impl FnOnce() -> T) -> Result<T, Reason> {
    catch_unwind(AssertUnwindSafe(enter)).map_err(Reason::panicked)
}

/// Handles the calls of a chunk, in `scope` if it is a rare one; returns those that have not begun.
fn handle_run<A: Actor>(
    actor: &mut A,
    mut run: ChunkRun<'_, A, impl CallSource<A>>,
    scope: Option<OneByOne>,
    reply: &mut Reply<'_>,
    breaks_off: impl Fn() -> bool,
) -> (PauseResult<A::Message>, Remaining<A::Message>) {
    let source = &mut run.source;
    let pause = caught(|| match scope {
        None => run_calls(source, actor, reply, Quick, breaks_off),
        Some(scope) => run_one_by_one(source, actor, reply, scope, breaks_off),
    });
    end_run(pause, run, reply)
}

/// Hands the answers of a run over, and returns the calls that have not begun.
#[inline(always)]
fn end_run<A: Actor>(
    pause: PauseResult<A::Message>,
    run: ChunkRun<'_, A, impl CallSource<A>>,
    reply: &mut Reply<'_>,
) -> (PauseResult<A::Message>, Remaining<A::Message>) {
    // Done here, because the turn may end next.
    reply.hand_over();
    let broke_off = !matches!(pause, Ok(RunPause::End | RunPause::Orders));
    let kind = if reply.is_wanted() { Unfinished::Ask } else { Unfinished::Tell };
    (pause, run.finish(broke_off.then_some(kind)))
}

#[cold]
#[inline(never)]
fn run_one_by_one<A: Actor>(
    source: &mut impl CallSource<A>,
    actor: &mut A,
    reply: &mut Reply<'_>,
    scope: OneByOne,
    breaks_off: impl Fn() -> bool,
) -> RunPause<A::Message> {
    run_calls(source, actor, reply, scope, breaks_off)
}

/// Handles a chunk of a session, with a `pace` if it contains asks: the calls of an actor with slow
/// handlers one by one, until the time of the turn is over.
#[inline(always)]
fn handle_frames<A: Actor>(
    actor: &mut A,
    run: ChunkRun<'_, A, EncodedCalls<'_, A::Message>>,
    pace: Option<&mut Pace>,
    spans: Option<Spans>,
    reply: &mut Reply<'_>,
    control: &Control,
) -> (PauseResult<A::Message>, Remaining<A::Message>) {
    let (start, calls) = (pace.as_ref().map(|pace| pace.begin()), run.calls());
    let is_slow = matches!(start, Some(ChunkStart::Precise(_)));
    let scope = (is_slow || spans.is_some()).then_some(OneByOne(spans));
    let breaks_off = || control.is_marked() || start.as_ref().is_some_and(ChunkStart::breaks_off);
    let end = handle_run(actor, run, scope, reply, breaks_off);
    if let (Some(pace), Some(start)) = (pace, &start) {
        let left = match &end.1 {
            Remaining::Frames { calls, .. } => *calls,
            Remaining::Mails(_) => 0,
        };
        pace.end(start, calls - left.min(calls));
    }
    end
}

/// How many calls of a chunk are handled before the actor yields.
struct Pacing {
    #[cfg(feature = "testing")]
    begun: std::cell::Cell<bool>,
}

impl Pacing {
    fn new() -> Pacing {
        Pacing {
            #[cfg(feature = "testing")]
            begun: std::cell::Cell::new(false),
        }
    }

    /// True after each call while a test has actors [run from the queue
    /// only](crate::scheduler::QueuedOnly).
    #[inline(always)]
    fn breaks_off(&self) -> bool {
        #[cfg(feature = "testing")]
        return is_queued_only() && self.begun.replace(true);
        #[cfg(not(feature = "testing"))]
        false
    }
}
