//! Handling a call that came without a chunk: from the mailbox by itself, past it, or out of a stash.

use wigwag_wire::call::EncodedCall;

use crate::error::CallErrorKind;
use crate::lifecycle::current::enter_call;
use crate::lifecycle::handle::AnyActor;
use crate::mailbox::Mailbox;
use crate::mailbox::ready_queues::Source;
use crate::reply::{Asker, Reply, ReplySlot};
use crate::runtime::actor::{Actor, Handled};
use crate::runtime::run::RunPause;
use crate::runtime::run::encoded_calls::EncodedCalls;
use crate::runtime::run::handling::{ChunkEnd, PauseResult, Unhandled, caught};
use crate::runtime::run::sources::{enter, is_gone};
use crate::runtime::run::spans::{OneByOne, Spans};
use crate::runtime::side_by_side::PendingCall;

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
    let handled = handle_call(actor.as_mut()?, message, &mut reply, spans);
    let origin = mailbox.origin_of(&Source::Local);
    let left = || Unhandled::none(origin);
    match handled {
        Ok(RunPause::End | RunPause::Orders) => None,
        Ok(RunPause::Later(message)) => Some(ChunkEnd::Later(message, reply.take_owned(), left())),
        Ok(RunPause::SideBySide(message)) => {
            let (reply, owner) = (reply.take_owned(), None);
            let call = PendingCall { message, reply, owner, caller: None, origin };
            Some(ChunkEnd::SideBySide(call, left()))
        }
        Err(reason) => {
            mailbox.failed();
            reply.fail(CallErrorKind::Panicked, "");
            Some(ChunkEnd::Failed(reason, left()))
        }
    }
}

/// Handles an ask of a session, or of a client without one, that came without a chunk; `None` when
/// there is nothing left to do.
pub(crate) fn handle_encoded<A: Actor>(
    actor: &mut Option<A>,
    ask: &EncodedCall<'_>,
    source: Source<A::Message>,
    mailbox: &Mailbox<A::Message>,
    spans: Option<Spans>,
) -> Option<ChunkEnd<A::Message>> {
    let (actor, owner) = (actor.as_mut()?, source.owner()?);
    let origin = mailbox.origin_of(&source);
    let mut reply = Reply::of_one(owner.clone());
    let handled = {
        let _call = enter_call(owner);
        let calls = EncodedCalls::alone(owner, origin, mailbox.control());
        caught(|| calls.enter_one(actor, ask, &mut reply, OneByOne(spans)))
    };
    match handled {
        Ok(Handled::Done) => {
            reply.end();
            owner.handled(0, 1);
            None
        }
        Ok(Handled::Later(message)) => {
            Some(ChunkEnd::Later(message, reply, Unhandled::none_of(source, origin)))
        }
        Ok(Handled::SideBySide(message)) => {
            let owner = Some(owner.clone());
            let caller = owner.clone();
            let call = PendingCall { message, reply, owner, caller, origin };
            Some(ChunkEnd::SideBySide(call, Unhandled::none_of(source, origin)))
        }
        Err(reason) => {
            mailbox.failed();
            reply.fail(CallErrorKind::Panicked, "");
            Some(ChunkEnd::Failed(reason, Unhandled::none_of(source, origin)))
        }
    }
}

/// Handles one call whose reply is set.
#[inline(always)]
pub(crate) fn handle_call<A: Actor>(
    actor: &mut A,
    message: A::Message,
    reply: &mut Reply<'_>,
    spans: Option<Spans>,
) -> PauseResult<A::Message> {
    Ok(match caught(|| enter(actor, message, reply, OneByOne(spans)))? {
        Handled::Done => {
            reply.end();
            RunPause::End
        }
        Handled::Later(message) => RunPause::Later(message),
        Handled::SideBySide(message) => RunPause::SideBySide(message),
    })
}
