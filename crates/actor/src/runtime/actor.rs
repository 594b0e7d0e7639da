//! The trait of actors: handling messages, and starting.
//!
//! `#[wigwag::actor]` writes the impls from an ordinary `impl` block; they need not be written by
//! hand.

use std::future::Future;
use std::hash::RandomState;

use wigwag_wire::{DecodeError, Reader};

use crate::message::Message;
use crate::options::ActorOptions;
use crate::reason::Reason;
use crate::reply::Reply;
use crate::runtime::life::Life;
use crate::runtime::run::same_calls::SameCalls;
use crate::runtime::side_by_side::Work;

/// An actor: state behind an interface, with handlers for its messages. The attribute
/// `#[wigwag::actor]` implements it.
pub trait Actor: Life {
    /// True when some handlers run side by side, so that the worker allocates room for them.
    #[doc(hidden)]
    const SIDE_BY_SIDE: bool = false;

    /// Handles one call, or hands it back when its handler is `async`. The hot path: no future, no
    /// box, no allocation beyond what the handler makes.
    #[doc(hidden)]
    fn handle(&mut self, message: Self::Message, reply: &mut Reply<'_>) -> Handled<Self::Message>;

    /// Reads the arguments of method `method` and handles the call. `None`: no such method. The
    /// macros generate this function, because arguments that go straight from the bytes to the
    /// handler are never stored in between.
    #[doc(hidden)]
    #[inline]
    fn handle_encoded(
        &mut self,
        method: u32,
        reader: &mut Reader<'_>,
        reply: &mut Reply<'_>,
    ) -> Result<Option<Handled<Self::Message>>, DecodeError> {
        let message = Self::Message::decode(method, reader)?;
        Ok(message.map(|message| self.handle(message, reply)))
    }

    /// Handles consecutive calls of method `method`, until none is left, or one cannot be decoded
    /// or has an `async` handler; the result is about that one. The macros generate this function,
    /// so that the method is looked up once for all of them.
    #[doc(hidden)]
    #[inline]
    fn handle_run(
        &mut self,
        method: u32,
        calls: &mut SameCalls<'_, '_>,
        reply: &mut Reply<'_>,
    ) -> Result<Option<Handled<Self::Message>>, DecodeError> {
        one_by_one(self, method, calls, reply)
    }

    /// Runs an `async` handler to its end. The next call waits for it.
    #[doc(hidden)]
    fn handle_later(
        &mut self,
        message: Self::Message,
        reply: Reply<'static>,
    ) -> impl Future<Output = ()> + Send;

    /// Runs the first part of a handler that runs side by side with others, and returns the rest as
    /// a future. `None`: there is no such handler.
    #[doc(hidden)]
    fn handle_side_by_side(
        &mut self,
        message: Self::Message,
        reply: Reply<'static>,
    ) -> Option<Work> {
        let _ = (message, reply);
        None
    }

    /// The call's serial key, if it has one: calls with the same key run in order.
    #[doc(hidden)]
    fn serial_key(message: &Self::Message, hashing: &RandomState) -> Option<u64> {
        let _ = (message, hashing);
        None
    }

    /// Starts the actor on the runtime of the caller, with the default options.
    ///
    /// It ends when the last reference to it is dropped and its mailbox is empty, or when it is
    /// stopped. Calls may be sent at once; they wait for its `started` hook.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[track_caller]
    fn spawn(self) -> Self::Ref {
        self.spawn_with(ActorOptions::default())
    }

    /// Starts the actor with `options`, which also say where it runs.
    ///
    /// # Panics
    /// Outside a tokio runtime, unless the options name one or a thread of its own.
    #[track_caller]
    fn spawn_with(self, options: ActorOptions) -> Self::Ref {
        crate::runtime::spawn::spawn(self, &options).into()
    }

    /// Starts the actor on the runtime of the caller and waits for its `started` hook.
    ///
    /// # Errors
    /// The error of the hook, or a panic in it: the actor has ended then.
    ///
    /// # Cancellation
    /// If the future is dropped while it waits, the actor goes on and ends for lack of references.
    fn start(self) -> impl Future<Output = Result<Self::Ref, Reason>> + Send {
        self.start_with(ActorOptions::default())
    }

    /// Starts the actor with `options` and waits for its `started` hook.
    ///
    /// # Errors
    /// As [`start`](Actor::start); `RuntimeGone` when there is no thread or runtime for it.
    fn start_with(
        self,
        options: ActorOptions,
    ) -> impl Future<Output = Result<Self::Ref, Reason>> + Send {
        async move { crate::runtime::spawn::start(self, &options).await.map(Into::into) }
    }
}

/// Reads the arguments of one call and handles it. The one place where
/// [`handle_encoded`](Actor::handle_encoded) is not inlined into a loop, shared by all calls that
/// come alone.
#[inline(never)]
pub(crate) fn handle_alone<A: Actor>(
    actor: &mut A,
    method: u32,
    mut arguments: Reader<'_>,
    reply: &mut Reply<'_>,
) -> Result<Option<Handled<A::Message>>, DecodeError> {
    actor.handle_encoded(method, &mut arguments, reply)
}

/// Handles consecutive calls as if each had come alone.
pub fn one_by_one<A: Actor>(
    actor: &mut A,
    method: u32,
    calls: &mut SameCalls<'_, '_>,
    reply: &mut Reply<'_>,
) -> Result<Option<Handled<A::Message>>, DecodeError> {
    while let Some(arguments) = calls.take(reply) {
        match handle_alone(actor, method, Reader::new(arguments), reply)? {
            Some(Handled::Done) => reply.end(),
            other => return Ok(other),
        }
    }
    Ok(Some(Handled::Done))
}

/// The outcome of [`Actor::handle`].
pub enum Handled<M> {
    /// The call was handled.
    Done,
    /// The call's handler is `async`: run [`Actor::handle_later`].
    Later(M),
    /// The call's handler runs side by side with others: run [`Actor::handle_side_by_side`].
    SideBySide(M),
}
