//! Calls to actors whose interface is not known when the program is compiled.
//!
//! [`Node::dynamic`](crate::Node::dynamic) returns a [`Dynamic`]: tools, gateways and the command
//! `wigwag ask` use it. [`Node::list_actors`](crate::Node::list_actors) says which actors a node has. Programs that know the interface use [`Node::actor`](crate::Node::actor).

/// Arguments from JSON, and replies as JSON.
pub mod json {
    pub use crate::json::{arguments, text};
}

pub use wigwag_actor::{Argument, HttpRoute, Method, Schema};

pub use crate::exports::directory::ListedActor;
pub use crate::send::described::{Described, DescribedMethod, DescribedPart, DescribedType};
pub use crate::send::dynamic::Dynamic;
pub use wigwag_wire::fields::{Field, Fields, Form};
