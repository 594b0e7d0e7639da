//! The life of an actor: what happens at its start and its end, and when others end.

use std::future::{Future, ready};
use std::sync::Arc;

use crate::lifecycle::monitor::{Down, Exit};
use crate::reason::Reason;
use crate::reference::interface::Interface;
use crate::runtime::this::This;

/// The hooks of an actor at its start and its end, and at the end of an actor that it watches.
/// Every hook has a default; `#[wigwag::actor]` implements this trait with defaults only, and
/// `#[wigwag::actor(life)]` leaves the implementation to you.
///
/// A hook runs as a handler does: its calls leave together, and no call of the actor's own mailbox
/// is handled meanwhile. A hook that panics ends the actor.
pub trait Life: Interface {
    /// False where there are nothing but defaults: then nothing is made ready to run them.
    #[doc(hidden)]
    const HAS_HOOKS: bool = true;

    /// Runs before the first call is handled; calls wait meanwhile. After an error the actor has
    /// ended with it: nothing was handled, `stopped` is not called.
    fn started(&mut self, this: &This<Self>) -> impl Future<Output = Result<(), Reason>> + Send {
        let _ = this;
        ready(Ok(()))
    }

    /// Runs after the last call, unless the actor was killed or has panicked: then its state is only
    /// dropped, because nobody knows what it is like. When it panics itself, that is the reason for
    /// which the actor has ended.
    fn stopped(&mut self, this: &This<Self>, reason: &Reason) -> impl Future<Output = ()> + Send {
        let _ = (this, reason);
        ready(())
    }

    /// Describes the state for an [inspection](crate::Handle::inspect), in a line or two; the
    /// type's name unless the actor has more to say. It runs between two calls, so it should be quick;
    /// a panic in it changes nothing.
    fn summary(&self) -> String {
        Self::SCHEMA.name.into()
    }

    /// An actor that this one [monitors](This::monitor) has ended. Comes once for each monitor, and
    /// not at all when it was taken back before.
    fn down(&mut self, this: &This<Self>, down: Down) {
        let _ = (this, down);
    }

    /// An actor that this one is [linked](This::link) to has ended. With an error this one ends too,
    /// for that reason; so it does by default, unless the other's end was wanted.
    fn exited(&mut self, this: &This<Self>, exit: Exit) -> Result<(), Reason> {
        let _ = this;
        if exit.reason.is_wanted() { Ok(()) } else { Err(Reason::Linked(Arc::new(exit.reason))) }
    }
}
