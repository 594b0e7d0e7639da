//! Calls through a reference in an answer that has not come yet.

mod reply;

use std::sync::Arc;
use std::task::{Poll, Waker};

pub use reply::PipedReply;

use crate::call::answer::{Answer, AnswerPlace};
use crate::call::ask_target::AskTarget;
use crate::call::{Answerable, Call};
use crate::error::{CallError, CallErrorKind};
use crate::lifecycle::handle::AnyActor;
use crate::mailbox::backlog::parked::Ticket;
use crate::message::Message;
use crate::reference::interface::Interface;
use crate::reference::local_ref::AskMode;
use crate::reference::pipe::{Pipe, PipedAsk};
use crate::reference::route::{Attempt, PipedChannel};
use crate::reference::{Place, Priority, Ref};

/// Why a call through an answer fails that holds no reference.
#[doc(hidden)]
pub const NO_REFERENCE: &str = "the answer holds no reference";

impl<I: Interface, R: Answerable<I>> Call<'_, I, R> {
    /// Sends the ask, and returns the reference in its answer before the answer has come. Calls
    /// through the reference go to the actor that the answer leads to.
    ///
    /// To an actor of another process a chain of such calls takes one round trip: the calls are sent
    /// behind the ask, and wait at that process until it is answered. At a node of an earlier
    /// release, for an actor of this process, and where there is no room now, each call waits for the
    /// answer first.
    ///
    /// ```
    /// # use wigwag_actor::{Answerable, Call, Interface, Ref};
    /// # fn find<I: Interface, J: Interface>(call: Call<'_, I, Option<Ref<J>>>) -> J::Ref
    /// # where Option<Ref<J>>: Answerable<I> {
    /// // `call` comes from a method of a reference whose reply is one, as in
    /// // `bank.account("ann").pipe().pay_in(3).ask().await`.
    /// call.pipe()
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the ask fails, each call through the reference fails with its error. If the answer holds no
    /// reference, it is `None` or an error of the program, they fail with `NoSuchActor`. So does a
    /// call by which another reference is [piped](Self::pipe), and each call through that one; and calls
    /// through an answer that leads to itself, or to one that waits for it.
    ///
    /// An actor of a third process is called through the process that was asked, if that one
    /// [relays](https://docs.rs/wigwag); otherwise the calls fail with `NoSuchActor`. If the actor
    /// runs another version of its interface, they fail with `BadArguments`. Await the answer, and
    /// call the reference in it, where that may be.
    ///
    /// # Order
    /// Calls through the reference, and through its clones, are handled in their order. There is no
    /// order between them and calls through other references to the same actor.
    ///
    /// # Limits
    /// At most [`PIPED_ASKS_MAX`](crate::limits::PIPED_ASKS_MAX), 128, asks wait in a chain, each for
    /// the answer before it; those that were sent to another process do not count. Calls through the
    /// answer to one more fail with `Overloaded`.
    ///
    /// The ask itself has no time limit; that of a call through the reference includes the wait for
    /// the answer. The reference cannot be sent to another process, and a monitor of it is told at
    /// once that the actor is not known while the answer has not come.
    ///
    /// # Cancellation
    /// If all clones of the reference are dropped before the answer has come, calls that were sent
    /// through them are handled nevertheless. If there are none, the ask need not be handled.
    pub fn pipe<J: Interface>(self) -> J::Ref
    where
        R: PipedReply<J>,
    {
        piped::<I, J, R>(self.target.resolved(), self.message).into()
    }
}

fn piped<I, J, R>(target: &Ref<I>, message: I::Message) -> Ref<J>
where
    I: Interface,
    J: Interface,
    R: Answerable<I> + PipedReply<J>,
{
    let method = I::SCHEMA.method_name(message.method());
    let name: Arc<str> = format!("{}.{method}()", target.target()).into();
    let (target, mut message) = (AskTarget::Owned(Box::new(target.clone())), Some(message));
    if J::IS_REFERABLE
        && let Place::Remote(route, _) = &target.place
        && let Some(sent) = route.ask_piped(&mut message, &name, J::SCHEMA.hash)
    {
        let PipedChannel { slot, channel } = sent;
        let answer = Answer::<I, R>::new(&target, AnswerPlace::Remote(slot));
        let answer = Box::new(UnreadAnswer(Some(answer)));
        if let Some(reference) = J::piped_reference(channel, answer) {
            return reference;
        }
    }
    let ticket = Ticket::default();
    let mut ask = SingleAsk::<I, R> { target, message, ticket, answer: None };
    ask.begin();
    let behind = ask.target.awaited_answer();
    Ref::piped(Pipe::new(name, behind, Box::new(ask)))
}

/// An answer that is taken by nobody: its reference is let go when it is dropped.
struct UnreadAnswer<I: Interface, R: Answerable<I>>(Option<Answer<'static, I, R>>);

impl<I: Interface, R: Answerable<I>> Drop for UnreadAnswer<I, R> {
    fn drop(&mut self) {
        // Calls may have been sent through it, so the ask is not cancelled.
        self.0.take().into_iter().for_each(Answer::disown);
    }
}

/// An ask whose answer is awaited before anything is sent through it.
struct SingleAsk<I: Interface, R: Answerable<I>> {
    target: AskTarget<'static, I>,
    message: Option<I::Message>,
    ticket: Ticket,
    answer: Option<Answer<'static, I, R>>,
}

impl<I: Interface, R: Answerable<I>> SingleAsk<I, R> {
    /// Sends the ask if there is room.
    fn begin(&mut self) {
        // An error is found again by the first caller.
        let _ = self.send(None);
    }

    fn send(&mut self, waker: Option<&Waker>) -> Attempt<()> {
        let (message, ticket) = (&mut self.message, &mut self.ticket);
        let sent = Answer::send(&self.target, AskMode::Later, None, message, ticket, waker);
        sent.map(|place| self.answer = Some(Answer::new(&self.target, place)))
    }
}

impl<I, J, R> PipedAsk<J> for SingleAsk<I, R>
where
    I: Interface,
    J: Interface,
    R: Answerable<I> + PipedReply<J>,
{
    fn poll(&mut self, waker: &Waker) -> Poll<Result<Ref<J>, CallError>> {
        loop {
            if let Some(answer) = &mut self.answer {
                return answer.poll_reply(waker).map(|reply| {
                    let target = self.target.target();
                    let nobody = || CallError::new(CallErrorKind::NoSuchActor, target);
                    reply?.into_reference().ok_or_else(|| nobody().with_detail(NO_REFERENCE))
                });
            }
            match self.send(Some(waker)) {
                Attempt::Sent(()) => {}
                Attempt::Full => return Poll::Pending,
                Attempt::Failed(error) => return Poll::Ready(Err(*error)),
            }
        }
    }

    fn asked_actor(&self) -> Option<Arc<dyn AnyActor>> {
        self.target.shared_actor()
    }
}

impl<I: Interface, R: Answerable<I>> Drop for SingleAsk<I, R> {
    fn drop(&mut self) {
        self.target.leave(Priority::Ordinary, &mut self.ticket);
    }
}
