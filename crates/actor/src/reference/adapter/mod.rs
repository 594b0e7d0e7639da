//! Adapters: an actor called through an interface that it implements.
//!
//! An interface is a type of its own, with messages of its own. An adapter turns each message of
//! the interface into one of the actor, and back if the actor refuses it. The answers are the same:
//! [`ImplementedBy`] holds only if each call of the interface has a call of the actor with the same
//! name, the same arguments and the same reply.

mod local;
mod remote;

use std::marker::PhantomData;
use std::sync::Arc;
use std::task::{Poll, Waker};

pub(crate) use local::Adapter;

use crate::error::CallError;
use crate::lifecycle::handle::AnyActor;
use crate::mailbox::backlog::parked::Ticket;
use crate::reference::interface::Interface;
use crate::reference::pipe::{Pipe, PipedAsk};
use crate::reference::route::Attempt;
use crate::reference::{Place, Priority, Ref};
use local::LocalAdapter;
use remote::RemoteAdapter;

/// A call that an actor or an interface has: `CALL` is a hash of its name and of the names of its
/// arguments, `Arguments` a tuple of their types, and `Reply` the type of the reply, [`Items`] for a
/// stream. The macros implement it for each call.
#[diagnostic::on_unimplemented(
    message = "`{Self}` lacks a call of the interface: one with arguments `{Arguments}` and reply \
               `{Reply}`",
    label = "not every method of the interface has one with the same name, arguments and reply here",
    note = "the arguments must have the same names and types, in the same order"
)]
pub trait HasCall<const CALL: u64, Arguments, Reply>: Interface {
    /// The message of the call.
    fn message(arguments: Arguments) -> Self::Message;

    /// The arguments of the call.
    ///
    /// # Errors
    /// The message, if it is that of another call.
    fn arguments(message: Self::Message) -> Result<Arguments, Self::Message>;
}

/// Stands for the reply of a call that answers with a stream of `T`.
pub struct Items<T>(PhantomData<T>);

/// An interface whose calls the actor (or the interface) `A` has too. The macros implement it for
/// each interface.
pub trait ImplementedBy<A: Interface>: Interface {
    /// The message of the actor for the same call.
    fn adapt(message: Self::Message) -> A::Message;

    /// The message that was adapted; `None` for one that no call of the interface becomes.
    fn restore(message: A::Message) -> Option<Self::Message>;
}

/// A reference whose actor has the calls of the interface `I`. The macros implement it.
pub trait HasInterface<I: Interface> {
    /// Returns a reference that calls the actor through the interface.
    fn through(&self) -> Ref<I>;
}

/// Returns a reference that calls the actor of `reference` through the interface `I`.
pub fn through<I: ImplementedBy<A>, A: Interface>(reference: &Ref<A>) -> Ref<I> {
    let reference = reference.resolved();
    let place = match &reference.place {
        Place::Local(local) => Place::Adapted(Arc::new(LocalAdapter(Arc::new(local.clone())))),
        Place::Adapted(adapter) => Place::Adapted(Arc::new(LocalAdapter(adapter.clone()))),
        Place::Remote(route, run_owner) => {
            let adapter = RemoteAdapter(route.clone());
            Place::Remote(Arc::new(adapter), run_owner.without_runs())
        }
        Place::Piped(pipe) => {
            let ask = AdaptedPipe(reference.clone(), Ticket::default());
            let behind = reference.awaited_answer();
            Place::Piped(Pipe::new(pipe.target().clone(), behind, Box::new(ask)))
        }
    };
    Ref { place }
}

/// A reference in an answer that has not come yet, and the place of one that waits for it.
struct AdaptedPipe<A: Interface>(Ref<A>, Ticket);

impl<I: ImplementedBy<A>, A: Interface> PipedAsk<I> for AdaptedPipe<A> {
    fn poll(&mut self, waker: &Waker) -> Poll<Result<Ref<I>, CallError>> {
        let Place::Piped(pipe) = &self.0.place else { return Poll::Ready(Ok(through(&self.0))) };
        let known = |reference: &Ref<A>, _: &mut Ticket| Attempt::Sent(through(reference));
        match pipe.with(&mut self.1, Some(waker), known) {
            Attempt::Sent(reference) => Poll::Ready(Ok(reference)),
            Attempt::Full => Poll::Pending,
            Attempt::Failed(error) => Poll::Ready(Err(*error)),
        }
    }

    fn asked_actor(&self) -> Option<Arc<dyn AnyActor>> {
        self.0.shared_actor()
    }
}

impl<A: Interface> Drop for AdaptedPipe<A> {
    fn drop(&mut self) {
        self.0.leave(Priority::Ordinary, &mut self.1);
    }
}

/// Sends a message of the interface `I` by `send` as one of `A`; one that was not sent comes back.
fn adapted<I: ImplementedBy<A>, A: Interface, T>(
    message: &mut Option<I::Message>,
    send: impl FnOnce(&mut Option<A::Message>) -> T,
) -> T {
    let mut its = message.take().map(I::adapt);
    let sent = send(&mut its);
    *message = its.and_then(I::restore);
    sent
}
