//! Lifecycle hooks of an actor: its start, its end, and the end of actors that it watches.

use std::future::{Future, ready};

use crate::lifecycle::monitor::{Down, Exit};
use crate::reason::Reason;
use crate::reference::interface::Interface;
use crate::runtime::this::This;

/// Hooks that run when an actor starts and ends, and when an actor that it watches ends. Every hook
/// has a default; `#[wigwag::actor]` writes an impl that has only the defaults, and
/// `#[wigwag::actor(life)]` leaves the impl to you.
///
/// A hook runs as a handler does: its calls leave together, and no call of the actor's own mailbox
/// is handled meanwhile. A hook that panics ends the actor.
pub trait Life: Interface {
    /// False when all hooks are defaults, so that the worker skips them.
    #[doc(hidden)]
    const HAS_HOOKS: bool = true;

    /// Runs before the first call is handled; calls wait meanwhile. An error ends the actor for
    /// that reason: no call is handled and `stopped` does not run.
    fn started(&mut self, this: &This<Self>) -> impl Future<Output = Result<(), Reason>> + Send {
        let _ = this;
        ready(Ok(()))
    }

    /// Runs after the last call, unless the actor was killed or has panicked: then its state may be
    /// inconsistent and is only dropped. A panic in this hook becomes the reason for which the
    /// actor has ended.
    fn stopped(&mut self, this: &This<Self>, reason: &Reason) -> impl Future<Output = ()> + Send {
        let _ = (this, reason);
        ready(())
    }

    /// Describes the actor's state in a line or two for [inspection](crate::Handle::inspect); by default,
    /// the type's name. It runs between two calls, so it should be quick; a panic in it changes
    /// nothing.
    fn summary(&self) -> String {
        Self::SCHEMA.name.into()
    }

    /// An actor that this one [monitors](This::monitor) has ended. Called once for each monitor,
    /// and not at all for a monitor that was removed before.
    fn down(&mut self, this: &This<Self>, down: Down) {
        let _ = (this, down);
    }

    /// An actor that this one is [linked](This::link) to has ended. An error ends this actor too,
    /// for that reason. The default returns one, unless the other actor's end was wanted.
    fn exited(&mut self, this: &This<Self>, exit: Exit) -> Result<(), Reason> {
        let _ = this;
        if exit.reason.is_wanted() { Ok(()) } else { Err(exit.reason.of_link()) }
    }
}
