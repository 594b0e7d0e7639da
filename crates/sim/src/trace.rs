//! What happened, in order.
//!
//! Every event goes into a hash, so that two runs can be compared for nothing. The lines are only
//! kept when somebody wants to read them, and of a very long story only the last.

use core::fmt;
use std::collections::VecDeque;

use wigwag_wire::Time;

use crate::random::mix;
use crate::setup::Side;

/// Lines that are kept; what broke a promise is seldom farther back.
const LINES_MAX: usize = 50_000;

/// The story of one run.
#[derive(Debug, Default)]
pub struct Trace {
    hash: u64,
    events: u64,
    lines: Option<VecDeque<Line>>,
}

#[derive(Clone, Debug)]
struct Line {
    at: Time,
    side: Side,
    what: &'static str,
    first: u64,
    second: u64,
}

impl Trace {
    /// A trace; `record` keeps the lines.
    pub fn new(record: bool) -> Trace {
        Trace { lines: record.then(VecDeque::new), ..Trace::default() }
    }

    /// Adds an event with two numbers that mean what its name says.
    pub fn note(&mut self, at: Time, side: Side, what: &'static str, first: u64, second: u64) {
        self.events += 1;
        for part in [at.as_nanos(), side as u64, first, second] {
            self.hash = mix(self.hash ^ part);
        }
        // The name's length and ends tell the kinds apart well enough.
        let name = what.bytes().fold(0_u64, |sum, byte| sum * 31 + u64::from(byte) % 31);
        self.hash = mix(self.hash ^ name);
        if let Some(lines) = &mut self.lines {
            if lines.len() == LINES_MAX {
                lines.pop_front();
            }
            lines.push_back(Line { at, side, what, first, second });
        }
    }

    /// A number that follows from every event so far.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// How many events there were.
    pub fn events(&self) -> u64 {
        self.events
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = self.lines.as_ref().map_or(0, |lines| lines.len() as u64);
        if told > 0 && told < self.events {
            writeln!(f, "{} events came before", self.events - told)?;
        }
        for line in self.lines.iter().flatten() {
            let micros = line.at.as_nanos() / 1000;
            writeln!(
                f,
                "{micros:>10} µs  {:<8}  {:<18} {} {}",
                format!("{:?}", line.side),
                line.what,
                line.first,
                line.second
            )?;
        }
        write!(f, "{} events, hash {:016x}", self.events, self.hash)
    }
}
