//! Running actors: from `spawn` to the end of the actor.

pub mod actor;
pub mod life;
pub mod alive;
pub mod publish;
pub mod this;
pub mod run;
pub mod side_by_side;
pub mod cancellable;
pub mod stash;
mod timers;
mod actor_scope;
pub mod state_machine;
pub(crate) mod worker;
pub(crate) mod spawn;
