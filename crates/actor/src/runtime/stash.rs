//! Calls that an actor puts aside to handle them again later.
//!
//! A handler that cannot serve a call yet builds the call anew, with the responder of its asker,
//! and stashes it. On `unstash_all`, all stashed calls are handled again, in order, and before mail
//! that waits. Stashed calls are kept in the mailbox, which makes room for them with the first one;
//! calls to be handled again are kept by the worker.

use std::error::Error;
use std::fmt;

use wigwag_wire::hint::{write_debug, write_hint};

use crate::call::Call;
use crate::error::CallErrorKind;
use crate::lifecycle::control::ControlMessage;
use crate::lifecycle::current::call_owner;
use crate::lifecycle::handle::AnyActor;
use crate::limits::STASH_CALLS_MAX;
use crate::mailbox::taking::stash::Stashed;
use crate::reference::interface::Interface;
use crate::reply::responder::Responder;
use crate::runtime::this::This;

/// A call that could not be put aside, with the responder of its asker.
///
/// [`This::stash`](super::this::This::stash) returns it; its example puts a call aside.
pub struct NotStashed<M, R> {
    /// The call.
    pub message: M,
    /// The call's responder: if it is dropped, the asker learns that there is no answer.
    pub answer: Responder<R>,
    /// `Full`: [`STASH_CALLS_MAX`] are put aside already. `ActorStopped`: the actor has ended.
    pub kind: CallErrorKind,
}

impl<M, R> NotStashed<M, R> {
    /// A hint how to fix it; names in backticks are those of the API.
    pub fn hint(&self) -> &'static str {
        match self.kind {
            CallErrorKind::Full => {
                "answer this call, or have the others handled with `This::unstash_all`"
            }
            _ => "nothing to fix: the actor has ended, and each of its callers learns of it",
        }
    }
}

impl<M, R> fmt::Display for NotStashed<M, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            CallErrorKind::Full => {
                write!(f, "the actor has put {STASH_CALLS_MAX} calls aside, which is the limit")
            }
            _ => f.write_str("the actor has ended: what it put aside is refused"),
        }?;
        write_hint(f, self.hint())
    }
}

impl<M, R> fmt::Debug for NotStashed<M, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_debug(f, "NotStashed", Some(&self.kind), self, self.hint())
    }
}

impl<M, R> Error for NotStashed<M, R> {}

impl<I: Interface> This<I> {
    /// Puts a call aside until [`unstash_all`](This::unstash_all): the current call, made anew,
    /// with the responder for its answer.
    ///
    /// The stash ends with the actor, and at each restart of a supervised one: askers get
    /// `ActorStopped`, tells count as lost. An actor that drains, or that has no references left,
    /// does not wait for its stash. The call of a local asker that has gone away is skipped.
    ///
    /// ```
    /// # use wigwag_actor as wigwag;
    /// use wigwag::{Call, Interface, Responder, This};
    ///
    /// fn not_now<I: Interface>(
    ///     this: &This<I>,
    ///     answer: Responder<u64>,
    ///     again: impl FnOnce(&I::Ref) -> Call<'_, I, u64>,
    /// ) {
    ///     if let Err(full) = this.stash(answer, again) {
    ///         full.answer.fail(0x8001, "too many wait already");
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// [`NotStashed`], with the message and the answer, when [`STASH_CALLS_MAX`] are put aside.
    pub fn stash<R>(
        &self,
        answer: Responder<R>,
        call: impl FnOnce(&I::Ref) -> Call<'_, I, R>,
    ) -> Result<(), Box<NotStashed<I::Message, R>>> {
        let reference = self.reference();
        let message = call(&reference).into_message();
        let origin = self.mailbox.origin();
        let (reply, send) = answer.into_parts();
        let (call, owner) = (Some((message, reply)), call_owner());
        let mut stashed = Some(Stashed { call, origin, owner });
        let Err(kind) = self.mailbox.stash(&mut stashed) else { return Ok(()) };
        match stashed.and_then(|mut stashed| stashed.call.take()) {
            Some((message, reply)) => {
                let answer = Responder::from_parts(reply, send);
                Err(Box::new(NotStashed { message, answer, kind }))
            }
            None => Ok(()),
        }
    }

    /// Handles all stashed calls again, in the order in which they were put aside, after the
    /// current call and before waiting mail, even urgent calls; control mail goes before them. A
    /// call that is put aside once more waits for the next `unstash_all`. Returns the number of
    /// calls.
    pub fn unstash_all(&self) -> usize {
        let calls = self.mailbox.stashed();
        if calls > 0 {
            self.mailbox.order(ControlMessage::Unstash);
        }
        calls
    }
}
