//! The way of a call from its caller into a session: channels, and the references that hold them.

pub(crate) mod cancel;
pub(crate) mod streams;
pub(crate) mod channel;
pub(crate) mod description;
pub(crate) mod dynamic;
pub(crate) mod described;
pub(crate) mod matching;
pub(crate) mod remote;
