//! Calls that an actor puts aside, to handle them again later.
//!
//! A handler that cannot serve a call yet makes the call anew, with the responder of its caller,
//! and has it kept. When the actor says so, all kept calls are handled again, in order, and before
//! waiting calls. Kept calls are stored in the mailbox, which has a place for them from the first
//! one on; calls that are to be handled again are stored with the worker.

use std::error::Error;
use std::fmt;

use crate::call::Call;
use crate::error::CallErrorKind;
use crate::lifecycle::control::ControlMessage;
use crate::lifecycle::handle::AnyActor;
use crate::limits::STASH_CALLS_MAX;
use crate::mailbox::stash::Stashed;
use crate::reference::interface::Interface;
use crate::reply::responder::Responder;
use crate::runtime::this::This;

/// A call that was not put aside, and who waits for its answer.
pub struct NotStashed<M, R> {
    /// The call.
    pub message: M,
    /// Its answer: dropped, the asker hears that there is none.
    pub answer: Responder<R>,
    /// `Full`: [`STASH_CALLS_MAX`] are put aside already. `ActorStopped`: the actor has ended.
    pub kind: CallErrorKind,
}

impl<M, R> fmt::Display for NotStashed<M, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            CallErrorKind::Full => write!(
                f,
                "the actor has put {STASH_CALLS_MAX} calls aside already: answer this one, or have \
                 the others handled with unstash_all"
            ),
            _ => f.write_str("the actor has ended: what it put aside is refused"),
        }
    }
}

impl<M, R> fmt::Debug for NotStashed<M, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NotStashed({:?})", self.kind)
    }
}

impl<M, R> Error for NotStashed<M, R> {}

impl<I: Interface> This<I> {
    /// Puts a call aside until [`unstash_all`](This::unstash_all): the call at hand, made anew, with
    /// the answer that is owed for it.
    ///
    /// The stash ends with the actor, also with one life of a supervised one: askers hear
    /// `ActorStopped`, tells count as lost. An actor that drains, or that nobody refers to any more,
    /// does not wait for what it put aside. An asker of this process that goes away is passed over.
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
        let mut stashed = Some(Stashed { call: Some((message, answer.into_reply())), origin });
        let Err(kind) = self.mailbox.stash(&mut stashed) else { return Ok(()) };
        match stashed.and_then(|mut stashed| stashed.call.take()) {
            Some((message, reply)) => {
                Err(Box::new(NotStashed { message, answer: Responder::of(reply), kind }))
            }
            None => Ok(()),
        }
    }

    /// Handles all stashed calls again, in their order, after the current call and before those
    /// that wait, urgent ones too; control messages go first. A call that is stashed once more
    /// waits for the next time. Returns the number of calls.
    pub fn unstash_all(&self) -> usize {
        let calls = self.mailbox.stashed();
        if calls > 0 {
            self.mailbox.order(ControlMessage::Unstash);
        }
        calls
    }
}
