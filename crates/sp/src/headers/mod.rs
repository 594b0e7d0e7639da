//! The words that protocols put in front of a body: the way back of a reply, and the hop count.

pub(crate) mod backtrace;
pub(crate) mod hops;
