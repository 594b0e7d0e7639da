//! Handling a chunk of mail: call by call, as far as it goes without waiting.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::CallErrorKind;
use crate::letters::Origin;
use crate::lifecycle::control::Control;
use crate::lifecycle::handle::Living;
use crate::mailbox::backlog::chunk::Chunk;
use crate::mailbox::lists::{Source, Whose};
use crate::mailbox::{Mailbox, refuse};
use crate::message::Message;
use crate::reason::Reason;
use crate::reply::{Asker, Gathered, Reply, ReplySlot};
use crate::runtime::actor::{Actor, Handled};
#[cfg(feature = "testing")]
use crate::runtime::run::one_by_one::OneByOne;
use crate::runtime::run::spans::{Spanned, Spans};
use crate::runtime::run::{self, Arrived, Left, Pause, Run, is_gone};
use crate::runtime::side_by_side::Call;
#[cfg(feature = "testing")]
use crate::scheduler::is_all_in_line;

/// Why the handling of a chunk ended, with the calls that were not begun.
pub(crate) enum End<M> {
    Done,
    /// There is control mail.
    Orders(Unhandled<M>),
    /// This call has an `async` handler.
    Later(M, Reply<'static>, Unhandled<M>),
    /// The handler of this call runs side by side with others.
    SideBySide(Call<M>, Unhandled<M>),
    /// A handler has ended the actor.
    Failed(Reason, Unhandled<M>),
}

/// Calls that were taken out of their queue and not handled. However they are let go, those who wait
/// for an answer hear of it.
pub(crate) struct Unhandled<M> {
    chunk: Option<Chunk<M>>,
    source: Source<M>,
    /// For those who hear of lost calls.
    origin: Option<Origin<M>>,
}

impl<M> Unhandled<M> {
    pub(crate) fn new(chunk: Chunk<M>, source: Source<M>, mailbox: &Mailbox<M>) -> Unhandled<M> {
        let origin = mailbox.origin_of(&source);
        Unhandled { chunk: Some(chunk), source, origin }
    }

    /// Behind a call that no other followed.
    pub(crate) fn none(origin: Option<Origin<M>>) -> Unhandled<M> {
        Unhandled { chunk: None, source: Source::Local, origin }
    }

    fn whose(&self) -> Whose<'_, M> {
        Whose { owner: self.source.owner(), origin: self.origin }
    }

    /// Puts them back before all others of their queue.
    pub(crate) fn put_back(mut self, mailbox: &Mailbox<M>) {
        if let Some(chunk) = self.chunk.take() {
            mailbox.put_back(chunk, &self.source);
        }
    }

    /// The handler of a call before them has ended.
    pub(crate) fn handled_one(&self) {
        if let Some(owner) = self.source.owner() {
            owner.handled(1);
        }
    }

    /// The chunk was gone through and `left` is what was not begun.
    fn keep(&mut self, mut chunk: Chunk<M>, left: Left<M>, mailbox: &Mailbox<M>) {
        self.chunk = match left {
            Left::Mails(mails) => {
                mailbox.give_back(chunk, &self.source);
                Some(Chunk::Mails(mails))
            }
            Left::Frames(left) => {
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
            refuse(chunk, self.whose());
        }
    }
}

/// Handles calls until none is left, one has an `async` handler, control mail has come, or the actor
/// has ended.
pub(crate) fn handle_chunk<A: Actor>(
    actor: &mut A,
    mut calls: Unhandled<A::Message>,
    mailbox: &Mailbox<A::Message>,
    gathered: &mut Option<Box<Gathered>>,
    spans: Option<Spans>,
) -> End<A::Message> {
    if calls.source.is_timer() && mailbox.control().is_marked() {
        // What control mail does may cancel the timer.
        return End::Orders(calls);
    }
    let Some(mut chunk) = calls.chunk.take() else { return End::Done };
    let (whose, control) = (calls.whose(), mailbox.control());
    let owner = whose.owner;
    // The call of a timer begins now or never: no control mail goes before it.
    let none = calls.source.is_timer().then(Control::new);
    let control = none.as_ref().unwrap_or(control);
    let memory = gathered.as_deref_mut().map(std::mem::take).unwrap_or_default();
    let mut reply = Reply::of_run(owner, memory);
    let (pause, left) = match (&mut chunk, owner) {
        (Chunk::Frames(frames), Some(owner)) => {
            owner.freed(std::mem::take(&mut frames.units));
            let count = frames.calls - frames.skip;
            let calls = Arrived::new(frames, owner);
            match spans {
                None => handle_run(actor, Run::new(calls, count, whose), control, &mut reply),
                Some(spans) => {
                    let run = Run::new(Spanned { calls, spans }, count, whose);
                    handle_run(actor, run, control, &mut reply)
                }
            }
        }
        (Chunk::Frames(_), None) => (Ok(Pause::End), Left::Frames(0)),
        (Chunk::Mails(mails), _) => {
            let count = mails.len();
            let calls = mails.drain();
            match spans {
                #[cfg(feature = "testing")]
                None if is_all_in_line() => {
                    let run = Run::new(OneByOne(calls), count, whose);
                    handle_run(actor, run, control, &mut reply)
                }
                None => handle_run(actor, Run::new(calls, count, whose), control, &mut reply),
                Some(spans) => {
                    let run = Run::new(Spanned { calls, spans }, count, whose);
                    handle_run(actor, run, control, &mut reply)
                }
            }
        }
    };
    if pause.is_err() {
        mailbox.failed();
        reply.fail(CallErrorKind::Panicked, "");
    }
    let owned = match pause {
        Ok(Pause::Later(_) | Pause::SideBySide(_)) => Some(reply.take_owned()),
        _ => None,
    };
    if owner.is_some() {
        **gathered.get_or_insert_default() = reply.into_gathered();
    } else {
        drop(reply);
    }
    if let Ok(Pause::End) = pause {
        mailbox.give_back(chunk, &calls.source);
        return End::Done;
    }
    calls.keep(chunk, left, mailbox);
    match (pause, owned) {
        (Ok(Pause::Later(message)), Some(reply)) => End::Later(message, reply, calls),
        (Ok(Pause::SideBySide(message)), Some(reply)) => {
            let (owner, origin) = (calls.source.owner().cloned(), calls.origin);
            End::SideBySide(Call { message, reply, owner, origin }, calls)
        }
        (Ok(_), _) => End::Orders(calls),
        (Err(reason), _) => End::Failed(reason, calls),
    }
}

/// Handles the only call that waited; `None` when that is all.
#[inline]
pub(crate) fn handle_one<A: Actor>(
    actor: &mut Option<A>,
    message: A::Message,
    asker: Asker,
    mailbox: &Mailbox<A::Message>,
    spans: Option<Spans>,
) -> Option<End<A::Message>> {
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
        Ok(Handled::Later(message)) => Some(End::Later(message, reply.take_owned(), left())),
        Ok(Handled::SideBySide(message)) => {
            let (owner, left) = (None, left());
            let (reply, origin) = (reply.take_owned(), left.origin);
            Some(End::SideBySide(Call { message, reply, owner, origin }, left))
        }
        Err(payload) => {
            mailbox.failed();
            reply.fail(CallErrorKind::Panicked, "");
            Some(End::Failed(Reason::panicked(&*payload), left()))
        }
    }
}

/// Why a run stands still, or why its actor ends.
type PauseResult<M> = Result<Pause<M>, Reason>;

fn handle_run<A: Actor>(
    actor: &mut A,
    mut run: Run<'_, A, impl run::Source<A>>,
    control: &Control,
    reply: &mut Reply<'_>,
) -> (PauseResult<A::Message>, Left<A::Message>) {
    let pause = catch_unwind(AssertUnwindSafe(|| run.source.handle(actor, reply, control)));
    // Here, because the turn may end next.
    reply.hand_over();
    match pause {
        Ok(pause) => {
            let broke_off = matches!(pause, Pause::Later(_) | Pause::SideBySide(_));
            (Ok(pause), run.finish(broke_off))
        }
        Err(payload) => (Err(Reason::panicked(&*payload)), run.finish(true)),
    }
}
