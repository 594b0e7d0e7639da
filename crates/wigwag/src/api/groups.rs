//! Groups of actors by name, and routers that choose one of several actors.
//!
//! [`Groups`] is for membership that changes at run time, in the manner of Erlang's `pg`: actors join
//! and leave, subscribers learn of it, and all members can be told. Members may live in other
//! processes. [`Router`] is for a fixed set of
//! workers with one interface: in turn, by the least mail, by a key, or sticky.

pub use wigwag_actor::{
    Change, ChangeKind, Changes, GroupError, Groups, Router, RouterError, Snapshot, TellAllReport,
};
