//! The life of an actor, whatever its type: control mail, watchers, handles and inspection.

pub(crate) mod control;
pub mod counters;
pub mod end_watchers;
pub mod handle;
pub mod inspect;
pub mod lives;
pub mod monitor;
pub(crate) mod watchers;
pub(crate) mod current;
