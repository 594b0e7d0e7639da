//! Operations on an actor of this process through a reference to it.

use std::future::Future;

use tokio::sync::oneshot;

use crate::error::{CallError, CallErrorKind};
use crate::lifecycle::control::ControlMessage;
use crate::lifecycle::handle::Handle;
use crate::reason::Reason;
use crate::reference::interface::Interface;
use crate::reference::replace::{ReplaceError, replace};
use crate::reference::{Place, Ref};

/// The operations of every reference beside calls.
pub trait Alive<I: Interface> {
    /// The actor without its type.
    ///
    /// # Errors
    /// `Remote` when it lives in another process.
    fn handle(&self) -> Result<Handle, CallError>;

    /// Runs `work` on the actor's state between two of its calls, before those that wait: to look
    /// into a live actor, or to replace its state. Address, mailbox and waiting calls stay. A
    /// change that fails leaves the state as it was, and is reported by the result of `visit`.
    ///
    /// # Errors
    /// `Remote` when it lives in another process, `ActorStopped` when it has ended, `Panicked` when
    /// the visit panicked, which ends the actor.
    ///
    /// # Cancellation
    /// Dropped while it waits, the visit takes place all the same.
    fn visit<T: Send + 'static>(
        &self,
        visit: impl FnOnce(&mut I) -> T + Send + 'static,
    ) -> impl Future<Output = Result<T, CallError>> + Send;

    /// Puts another state in the place of the actor's, between two calls, and gives the old one back.
    /// Address, mailbox and the mail that waits stay; no hook runs.
    ///
    /// `convert` makes the new state from a reference to the old one. It takes nothing out of the
    /// old state, so that the actor can continue with it if `convert` returns an error or panics. A
    /// state that can only be moved is taken with [`visit`](Self::visit), whose panic ends the
    /// actor. Behaviour of another type is a field of `Box<dyn Trait>` that differs in the new
    /// state.
    ///
    /// # Errors
    /// [`ReplaceError`].
    ///
    /// # Cancellation
    /// Dropped while it waits, the state is replaced all the same and the old one is dropped.
    fn replace<E: Send + 'static>(
        &self,
        convert: impl FnOnce(&I) -> Result<I, E> + Send + 'static,
    ) -> impl Future<Output = Result<I, ReplaceError<E>>> + Send;
}

impl<I: Interface, R: AsRef<Ref<I>>> Alive<I> for R {
    fn handle(&self) -> Result<Handle, CallError> {
        match &self.as_ref().place {
            Place::Local(local) => Ok(Handle::new(local.mailbox.clone())),
            Place::Remote(route, _) => Err(CallError::new(CallErrorKind::Remote, route.target())),
        }
    }

    fn visit<T: Send + 'static>(
        &self,
        visit: impl FnOnce(&mut I) -> T + Send + 'static,
    ) -> impl Future<Output = Result<T, CallError>> + Send {
        let handle = self.handle();
        async move { visit_state(handle?, visit).await }
    }

    fn replace<E: Send + 'static>(
        &self,
        convert: impl FnOnce(&I) -> Result<I, E> + Send + 'static,
    ) -> impl Future<Output = Result<I, ReplaceError<E>>> + Send {
        let visited = self.visit(|state| replace(state, convert));
        async move { visited.await.map_err(ReplaceError::Unreached)? }
    }
}

/// Runs an operation on the state of an actor that is an `I`.
pub(crate) async fn visit_state<I: Interface, T: Send + 'static>(
    handle: Handle,
    visit: impl FnOnce(&mut I) -> T + Send + 'static,
) -> Result<T, CallError> {
    let (tells, told) = oneshot::channel();
    let order = ControlMessage::Visit(Box::new(|actor| {
        if let Some(actor) = actor.downcast_mut() {
            // The inspecting caller may be gone.
            let _ = tells.send(visit(actor));
        }
    }));
    let given = handle.actor_cell().order(order);
    told.await.map_err(|_| {
        let kind = match handle.reason() {
            // A supervised actor has another life before it by now.
            None | Some(Reason::Panicked(_)) if given => CallErrorKind::Panicked,
            _ => CallErrorKind::ActorStopped,
        };
        CallError::new(kind, handle.target())
    })
}
