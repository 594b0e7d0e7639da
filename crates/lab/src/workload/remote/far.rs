//! Round trips to an actor that is 10 ms away: one ask, a chain of three calls of which each needs the
//! answer to the one before it, and many asks together. The figure of the last two is how they compare
//! with one ask: what takes more than one round trip takes twice as long.

use std::time::Duration;

use crate::workload::{Cell, Order, Size};

/// Each way.
pub(crate) const DELAY: Duration = Duration::from_millis(10);
/// Asks that are awaited together.
pub(crate) const TOGETHER: u64 = 80;
/// Round trips of a cell's first trial, which takes a third of a second.
const FIRST: u64 = 16;
/// And at most.
const MOST: u64 = 2_000;

/// The work of one round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Far {
    /// One ask.
    Single,
    /// Three calls, each to the actor that the answer to the one before it leads to.
    Chain,
    /// Many asks, awaited together.
    Together,
}

/// All of them; the first one is what the others are held against.
pub(crate) fn cells() -> impl Iterator<Item = Cell> {
    [Far::Single, Far::Chain, Far::Together].into_iter().map(Cell::Far)
}

/// The cell that the one named `cell` is held against, if it is one of these.
pub(crate) fn reference(cell: &str) -> Option<String> {
    let held = [Far::Chain, Far::Together].into_iter().any(|it| it.name() == cell);
    held.then(|| Far::Single.name().to_owned())
}

impl Far {
    /// As the tables name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Far::Single => "rtt, 10 ms",
            Far::Chain => "chain, 10 ms",
            Far::Together => "join 80, 10 ms",
        }
    }

    /// The order for a client.
    pub(crate) fn order(self) -> &'static str {
        match self {
            Far::Single => "rtt",
            Far::Chain => "chain",
            Far::Together => "join",
        }
    }

    /// Messages of one round trip.
    fn messages(self) -> u64 {
        if self == Far::Together { TOGETHER } else { 1 }
    }

    /// How many messages the cell has.
    pub(crate) fn size(self) -> Size {
        let step = self.messages();
        Size { first: FIRST * step, most: MOST * step, step, fixed: false, once: false }
    }

    /// The order as one of round trips.
    pub(crate) fn trips(self, order: Order) -> Order {
        Order { messages: order.messages / self.messages(), ..order }
    }
}
