//! Names and groups that nodes with sessions between them share.
//!
//! A node asks each of its sessions for a name ([`Node::find`](crate::Node::find)), and follows the
//! groups that its peers export ([`Node::follow_group`](crate::Node::follow_group)). There is no
//! leader and no agreement: a name may be that of several actors, and a node learns of a change when
//! it has come.

pub(crate) mod find;
pub(crate) mod follow;
