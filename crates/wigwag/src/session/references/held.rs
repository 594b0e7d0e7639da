//! The channels and references to actors of this node that the peer of a session holds.
//!
//! Operators ask for it when a peer is gone, or holds on to what it should have let go.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use wigwag_actor::Exported;

use crate::events::{HeldActor, HeldActors};
use crate::limits::HELD_ROWS_MAX;
use crate::lock::lock;
use crate::session::Session;

/// The channels of a peer, by the numbers of their actors.
#[derive(Default)]
pub(crate) struct HeldChannels(Mutex<BTreeMap<u64, HeldActor>>);

impl Session {
    /// A channel to `actor` was opened.
    pub(crate) fn channel_held(&self, actor: &dyn Exported, name: Option<Arc<str>>) {
        let mut held = lock(&self.held_channels.0);
        let kind = actor.schema().name;
        let row = HeldActor { name: None, kind, channels: 0, references: 0 };
        let row = held.entry(actor.number()).or_insert(row);
        row.channels += 1;
        row.name = row.name.take().or(name);
    }

    /// A channel to the actor with this number was closed.
    pub(crate) fn channel_let_go(&self, actor: u64) {
        let mut held = lock(&self.held_channels.0);
        if let Some(row) = held.get_mut(&actor) {
            row.channels -= 1;
            if row.channels == 0 {
                held.remove(&actor);
            }
        }
    }

    /// The actors that the peer holds at present.
    pub(crate) fn held_actors(&self) -> HeldActors {
        let mut rows = lock(&self.held_channels.0).clone();
        self.add_lent(&mut rows);
        let mut rows: Vec<_> = rows.into_values().collect();
        let weight = |row: &HeldActor| row.channels.saturating_add(row.references);
        rows.sort_by(|one, other| weight(other).cmp(&weight(one)).then(one.name.cmp(&other.name)));
        let more = rows.len().saturating_sub(HELD_ROWS_MAX);
        rows.truncate(HELD_ROWS_MAX);
        HeldActors { actors: rows.into(), more }
    }
}
