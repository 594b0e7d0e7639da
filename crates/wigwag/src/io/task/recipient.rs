//! The recipient of events: the actor's reference, and the method that takes them.

use std::future::Future;
use std::marker::PhantomData;

use wigwag_actor::{Alive, Call, CallError, Handle, Interface, Ref};

/// The actor has ended or refuses events.
#[derive(Debug)]
pub(in crate::io) struct ActorGone;

/// A recipient of events of type `E`.
pub(in crate::io) trait Recipient<E>: Send + Sync + 'static {
    /// Delivers an event, and waits for room.
    fn deliver(&self, event: E) -> impl Future<Output = Result<(), ActorGone>> + Send;
}

/// An actor and one of its methods. It counts as a reference, so the actor does not end for lack of
/// references.
pub(in crate::io) struct ActorRecipient<I: Interface, E, R, F> {
    to: I::Ref,
    call: F,
    types: PhantomData<fn(E) -> R>,
}

impl<I: Interface, E, R, F> ActorRecipient<I, E, R, F>
where
    F: for<'a> Fn(&'a I::Ref, E) -> Call<'a, I, R>,
{
    /// A recipient, and a handle to wait for the actor's end.
    pub(in crate::io) fn new(
        to: &impl AsRef<Ref<I>>,
        call: F,
    ) -> Result<(Self, Handle), CallError> {
        let handle = to.handle()?;
        let to = to.as_ref().clone().into();
        Ok((ActorRecipient { to, call, types: PhantomData }, handle))
    }
}

impl<I: Interface, E, R, F> Recipient<E> for ActorRecipient<I, E, R, F>
where
    E: Send + 'static,
    R: 'static,
    F: for<'a> Fn(&'a I::Ref, E) -> Call<'a, I, R> + Send + Sync + 'static,
{
    async fn deliver(&self, event: E) -> Result<(), ActorGone> {
        let tell = (self.call)(&self.to, event).tell();
        tell.await.map_err(|_| ActorGone)
    }
}
