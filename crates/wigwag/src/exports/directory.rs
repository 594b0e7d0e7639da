//! The actor without a name, which lists the exported ones.
//!
//! A node spawns it when a peer first asks, unless its options forbid that. No actor can be exported
//! under the empty name, and a node of an earlier release answers that there is no such actor.

use std::sync::Arc;

use wigwag_macros::{Message, actor};

use wigwag_actor::{Schema, This};

use super::Actors;
use crate::access::{NodeAccess, Permitted};
use crate::limits::LISTED_PER_ANSWER_MAX;

/// Lists the actors that the node exports.
pub(crate) struct Directory {
    pub(super) actors: Arc<Actors>,
    pub(super) access: Arc<NodeAccess>,
}

/// An actor that a node exports, as [`Node::list_actors`](crate::Node::list_actors) finds it.
#[derive(Clone, Debug, PartialEq, Eq, Message)]
#[non_exhaustive]
pub struct ListedActor {
    /// The name under which it is exported.
    pub name: String,
    /// The name of its type.
    pub kind: String,
    /// The first line of its doc comment; empty if it has none.
    pub comment: String,
}

impl ListedActor {
    /// The row of the actor that is exported as `name`.
    pub(crate) fn new(name: &str, schema: &Schema) -> ListedActor {
        ListedActor {
            name: name.to_owned(),
            kind: schema.name.to_owned(),
            comment: schema.comment.lines().next().unwrap_or_default().to_owned(),
        }
    }

    /// Bytes of its texts.
    pub(crate) fn bytes(&self) -> usize {
        self.name.len() + self.kind.len() + self.comment.len()
    }
}

/// Lists the actors that this node exports.
#[actor]
impl Directory {
    /// The exported actors that the caller may call, in the order of their names, 256 at most, from the one behind `after` on.
    pub fn list(&self, this: &This<Self>, after: Option<String>) -> Vec<ListedActor> {
        let caller = this.caller().map(|caller| caller.principal);
        let is_permitted = |name: &str, schema| {
            let permitted = caller.as_ref().map(|it| self.access.permitted(it, name, schema));
            permitted != Some(Permitted::Nothing)
        };
        let actors = self.actors.lock();
        let mut listed: Vec<_> = actors
            .iter()
            .filter(|(name, export)| after.as_ref() < Some(name) && !export.actor.is_stopped())
            .map(|(name, export)| (name, export.actor.schema()))
            .filter(|(name, schema)| is_permitted(name, schema))
            .collect();
        listed.sort_unstable_by_key(|(name, _)| *name);
        listed.truncate(LISTED_PER_ANSWER_MAX);
        listed.into_iter().map(|(name, schema)| ListedActor::new(name, schema)).collect()
    }
}
