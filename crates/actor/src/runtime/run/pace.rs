//! How long a turn may hold the answers to another process.
//!
//! Such answers leave when the turn of the actor ends. With short handlers that is soon; with
//! handlers that take milliseconds, the calls of one turn could take minutes. So the calls of an
//! actor with slow handlers are entered one by one, and the turn ends when it has held answers for
//! [`TURN_TIME_MAX`].
//!
//! An actor with quick handlers pays two readings of a coarse clock, a few nanoseconds each, for a
//! chunk that contains asks. If a step of that clock passes, the next chunk is measured precisely.

use tokio::time::Instant;

use crate::limits::{QUICK_CALL, TURN_TIME_MAX};
use crate::mailbox::backlog::since::Since;

/// The pace of one actor, for its calls from other processes.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// The handlers were quick when they were measured last.
    is_quick: bool,
    /// The actor is to end its turn.
    ends_turn: bool,
}

/// The beginning of a chunk with asks.
pub(super) enum ChunkStart {
    /// The handlers are known to be quick.
    Coarse(Since),
    Precise(Instant),
}

impl Pace {
    /// Begins a chunk that contains asks.
    #[inline]
    pub(super) fn begin(&self) -> ChunkStart {
        match self.is_quick {
            true => ChunkStart::Coarse(Since::now()),
            false => ChunkStart::Precise(Instant::now()),
        }
    }

    /// Ends a chunk, `calls` calls of which were handled.
    #[inline]
    pub(super) fn end(&mut self, start: &ChunkStart, calls: usize) {
        match start {
            ChunkStart::Coarse(since) if since.elapsed().is_zero() => {}
            ChunkStart::Coarse(_) => (self.is_quick, self.ends_turn) = (false, true),
            ChunkStart::Precise(begun) => self.measured(*begun, calls),
        }
    }

    #[cold]
    fn measured(&mut self, begun: Instant, calls: usize) {
        let took = begun.elapsed();
        self.is_quick = took <= QUICK_CALL * u32::try_from(calls).unwrap_or(u32::MAX);
        self.ends_turn |= took >= TURN_TIME_MAX;
    }

    /// True once when the actor is to end its turn.
    #[inline]
    pub(crate) fn ends_turn(&mut self) -> bool {
        std::mem::take(&mut self.ends_turn)
    }
}

impl ChunkStart {
    /// True when the rest of the chunk is to wait for the next turn.
    pub(super) fn breaks_off(&self) -> bool {
        match self {
            ChunkStart::Coarse(_) => false,
            ChunkStart::Precise(begun) => begun.elapsed() >= TURN_TIME_MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn begun(ago: Duration) -> ChunkStart {
        ChunkStart::Precise(Instant::now() - ago)
    }

    #[test]
    fn an_actor_is_measured_until_its_handlers_were_quick_and_again_after_a_step_of_the_clock() {
        let mut pace = Pace::default();
        assert!(matches!(pace.begin(), ChunkStart::Precise(_)));
        pace.end(&begun(Duration::ZERO), 1000);
        assert!(matches!(pace.begin(), ChunkStart::Coarse(_)));
        pace.end(&ChunkStart::Coarse(Since::now()), 1);
        assert!(!pace.ends_turn());
        pace.end(&ChunkStart::Coarse(Since::NEVER), 1);
        assert!(pace.ends_turn() && !pace.ends_turn());
        assert!(matches!(pace.begin(), ChunkStart::Precise(_)));
    }

    #[test]
    fn a_turn_ends_when_slow_calls_have_taken_its_time() {
        let mut pace = Pace::default();
        pace.end(&begun(TURN_TIME_MAX / 2), 1);
        assert!(!pace.ends_turn() && !pace.is_quick);
        let start = begun(TURN_TIME_MAX);
        assert!(start.breaks_off() && !begun(Duration::ZERO).breaks_off());
        pace.end(&start, 1);
        assert!(pace.ends_turn());
    }
}
