//! The state that all parts of a world share.

use crate::check::Oracle;
use crate::clock::Clock;
use crate::random::Random;
use crate::setup::Side;
use crate::trace::Trace;

/// The state that all parts of the world share.
#[derive(Debug)]
pub struct Shared {
    /// The random numbers.
    pub random: Random,
    /// The model that checks the promises.
    pub oracle: Oracle,
    /// The events so far.
    pub(crate) trace: Trace,
    /// The only clock.
    pub(crate) clock: Clock,
}

impl Shared {
    /// Adds an event to the trace.
    pub fn note(&mut self, side: Side, what: &'static str, first: u64, second: u64) {
        self.trace.note(self.clock.now(), side, what, first, second);
    }
}
