//! The events of a run, in order.
//!
//! Every event goes into a hash, by which two runs are compared cheaply. Lines of text are recorded
//! on request only, and of a very long run only the last ones.

use core::fmt;
use std::collections::VecDeque;

use wigwag_wire::Time;

use crate::random::mix;
use crate::setup::Side;

/// The number of lines that are kept; the cause of a broken promise is seldom farther back.
const ENTRIES_MAX: usize = 50_000;

/// The trace of one run.
#[derive(Debug, Default)]
pub struct Trace {
    hash: u64,
    events: u64,
    entries: Option<VecDeque<Entry>>,
}

#[derive(Clone, Debug)]
struct Entry {
    at: Time,
    side: Side,
    name: &'static str,
    first: u64,
    second: u64,
}

impl Trace {
    /// A trace; `record` keeps the lines.
    pub fn new(record: bool) -> Trace {
        Trace { entries: record.then(VecDeque::new), ..Trace::default() }
    }

    /// Adds an event with two numbers, whose meaning its name gives.
    pub fn note(&mut self, at: Time, side: Side, name: &'static str, first: u64, second: u64) {
        self.events += 1;
        for part in [at.as_nanos(), side as u64, first, second] {
            self.hash = mix(self.hash ^ part);
        }
        let name_hash = name.bytes().fold(0_u64, |sum, byte| sum * 31 + u64::from(byte) % 31);
        self.hash = mix(self.hash ^ name_hash);
        if let Some(entries) = &mut self.entries {
            if entries.len() == ENTRIES_MAX {
                entries.pop_front();
            }
            entries.push_back(Entry { at, side, name, first, second });
        }
    }

    /// The hash of all events so far.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The number of events so far.
    pub fn events(&self) -> u64 {
        self.events
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = self.entries.as_ref().map_or(0, |entries| entries.len() as u64);
        if kept > 0 && kept < self.events {
            writeln!(f, "{} events came before", self.events - kept)?;
        }
        for entry in self.entries.iter().flatten() {
            let micros = entry.at.as_nanos() / 1000;
            writeln!(
                f,
                "{micros:>10} µs  {:<8}  {:<18} {} {}",
                format!("{:?}", entry.side),
                entry.name,
                entry.first,
                entry.second
            )?;
        }
        write!(f, "{} events, hash {:016x}", self.events, self.hash)
    }
}
