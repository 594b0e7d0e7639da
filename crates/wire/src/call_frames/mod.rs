//! Calls and replies as frames: one at a time, and in runs behind one head.

pub mod call;
pub mod run;
