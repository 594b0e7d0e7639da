//! Access to the state and the handle of an actor of this process through a reference.

mod replace;

use std::future::Future;

use tokio::sync::oneshot;

pub use replace::ReplaceError;

use crate::error::{CallError, CallErrorKind};
use crate::lifecycle::control::ControlMessage;
use crate::lifecycle::handle::Handle;
use crate::reason::Reason;
use crate::reference::Ref;
use crate::reference::interface::Interface;
use crate::runtime::actor::Actor;
use replace::replace;

/// Operations on a reference to a live actor besides calling: its handle, and access to its state.
///
/// ```
/// # use std::fmt::Debug;
/// # use wigwag_actor::{Actor, Alive, CallError, Interface};
/// # async fn show<I: Actor + Debug>(reference: &I::Ref) -> Result<String, CallError> {
/// reference.visit(|state: &mut I| format!("{state:?}")).await
/// # }
/// ```
pub trait Alive<I: Interface> {
    /// The actor's [`Handle`], which does not depend on its type.
    ///
    /// # Errors
    /// `Remote` when it lives in another process.
    fn handle(&self) -> Result<Handle, CallError>;

    /// Runs `visit` on the actor's state between two of its calls, before those that wait: to look
    /// into a live actor, or to change its state.
    ///
    /// Address, mailbox and waiting mail stay. A change that fails and leaves the state as it was
    /// is reported by the value that `visit` returns.
    ///
    /// # Errors
    /// `Remote` when it lives in another process, `ActorStopped` when it has ended, `Panicked` when
    /// the visit panicked, which ends the actor.
    ///
    /// # Cancellation
    /// If the future is dropped while it waits, the visit still takes place.
    fn visit<T: Send + 'static>(
        &self,
        visit: impl FnOnce(&mut I) -> T + Send + 'static,
    ) -> impl Future<Output = Result<T, CallError>> + Send
    where
        I: Actor;

    /// Replaces the actor's state between two calls and returns the old one. Address, mailbox and
    /// waiting mail stay; no hook runs.
    ///
    /// `convert` builds the new state from a reference to the old one. It owns no part of the old
    /// state, so there is always a state to go on with: if `convert` returns an error or panics,
    /// the actor keeps the old state. Values that can only be moved are taken with
    /// [`visit`](Self::visit), where a panic ends the actor. To replace behaviour of another type,
    /// keep it in a field of type `Box<dyn Trait>`.
    ///
    /// # Errors
    /// [`ReplaceError`].
    ///
    /// # Cancellation
    /// If the future is dropped while it waits, the state is still replaced and the old one is
    /// dropped.
    fn replace<E: Send + 'static>(
        &self,
        convert: impl FnOnce(&I) -> Result<I, E> + Send + 'static,
    ) -> impl Future<Output = Result<I, ReplaceError<E>>> + Send
    where
        I: Actor;
}

impl<I: Interface, R: AsRef<Ref<I>>> Alive<I> for R {
    fn handle(&self) -> Result<Handle, CallError> {
        let handle = self.as_ref().handle_or_route();
        handle.map_err(|_| CallError::new(CallErrorKind::Remote, self.as_ref().target()))
    }

    fn visit<T: Send + 'static>(
        &self,
        visit: impl FnOnce(&mut I) -> T + Send + 'static,
    ) -> impl Future<Output = Result<T, CallError>> + Send
    where
        I: Actor,
    {
        let handle = self.handle();
        async move { visit_state(handle?, visit).await }
    }

    fn replace<E: Send + 'static>(
        &self,
        convert: impl FnOnce(&I) -> Result<I, E> + Send + 'static,
    ) -> impl Future<Output = Result<I, ReplaceError<E>>> + Send
    where
        I: Actor,
    {
        let visited = self.visit(|state| replace(state, convert));
        async move { visited.await.map_err(ReplaceError::Unreached)? }
    }
}

/// Runs `visit` on the state of an actor that is an `I`.
pub(crate) async fn visit_state<I: Interface, T: Send + 'static>(
    handle: Handle,
    visit: impl FnOnce(&mut I) -> T + Send + 'static,
) -> Result<T, CallError> {
    let (tells, told) = oneshot::channel();
    let order = ControlMessage::Visit(Box::new(|actor| {
        if let Some(actor) = actor.downcast_mut() {
            // The caller may have gone.
            let _ = tells.send(visit(actor));
        }
    }));
    let given = handle.actor_cell().order(order);
    told.await.map_err(|_| {
        let kind = match handle.reason() {
            // A supervised actor may have begun another life by now.
            None | Some(Reason::Panicked(_)) if given => CallErrorKind::Panicked,
            _ => CallErrorKind::ActorStopped,
        };
        CallError::new(kind, handle.target())
    })
}
