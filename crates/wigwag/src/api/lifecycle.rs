//! The life of actors as others see it: stopping, monitoring, replacing and inspecting them.
//!
//! A [`Handle`](crate::Handle) has the methods of [`Alive`], which is imported to call them. A
//! [`Monitor`] reports the end of one actor as [`Down`], a link as [`Exit`]; an [`Inspection`] is a
//! look at a live actor.

pub use wigwag_actor::{
    Activity, Alive, Down, Exit, Failure, Inspection, Monitor, ReplaceError, TooManyWatchers,
};
