//! The modules of the public API: what most programs do not need at the root.

pub mod call;
pub mod codec;
pub mod dead_letters;
pub mod dynamic;
pub mod groups;
pub mod lifecycle;
pub mod sp;
pub mod state_machine;
pub mod supervise;
pub mod timer;
pub mod transport;
