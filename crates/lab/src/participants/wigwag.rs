//! wigwag, written as its documentation recommends.

pub(super) mod pingpong;
pub(super) mod counter;
pub(super) mod slow;
pub(super) mod inside;
pub(super) mod remote;
pub(super) mod clerk;
pub(super) mod spread;
pub(super) mod callers;
pub(super) mod shapes;
pub(super) mod paced;
pub(super) mod overload;
pub(super) mod sp;
