//! The script of a session: bytes that are read as numbers.
//!
//! Reads beyond the end give zeros, so every input is a script, and so is every prefix of one.

use wigwag_link::{Limits, features};
use wigwag_wire::Framing;

/// A script, of which a part may have been read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Script<'a> {
    rest: &'a [u8],
}

impl<'a> Script<'a> {
    /// A script of these bytes.
    pub(crate) fn new(bytes: &'a [u8]) -> Script<'a> {
        Script { rest: bytes }
    }

    /// True when all bytes were read, so that only zeros follow.
    pub(crate) fn is_over(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte.
    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.rest.split_first() else {
            return 0;
        };
        self.rest = rest;
        *first
    }

    /// The next byte as a number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    /// Takes `most` bytes; fewer where the script ends.
    pub(crate) fn take(&mut self, most: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(most.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    /// A length: 0 means all bytes, small numbers stand for themselves, and large ones for long
    /// lengths.
    pub(crate) fn length(&mut self) -> usize {
        match usize::from(self.byte()) {
            0 => usize::MAX,
            short @ 1..=200 => short,
            long => (long - 200) * 97,
        }
    }
}

/// The parameters that both ends of a session share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionProfile {
    pub(crate) framing: Framing,
    pub(crate) limits: Limits,
    /// Whether runs are written and read.
    pub(crate) runs: bool,
    /// Whether long messages are written and read in parts.
    pub(crate) parts: bool,
    /// The most calls that a session passes on at once.
    pub(crate) calls_max: usize,
    /// The factor for sizes in the script, so that they cross `frame_max`.
    pub(crate) scale: usize,
}

impl SessionProfile {
    /// The features *parts* and *streams*, if the first is on, and what the second needs.
    pub(crate) fn parts_feature(&self) -> u64 {
        if self.parts { features::PARTS | features::STREAMS | features::CANCELLING } else { 0 }
    }

    /// The first byte of a script.
    pub(crate) fn read(script: &mut Script<'_>) -> SessionProfile {
        let byte = script.byte();
        let common = Limits::default();
        let (limits, scale) = match byte >> 3 & 3 {
            0 => {
                let tables = Limits { channels_max: 2, slots_max: 2, ..common };
                (Limits { batch_max: 2048, frame_max: 256, initial_units: 1, ..tables }, 2)
            }
            1 => {
                let tables = Limits { channels_max: 4, slots_max: 8, ..common };
                (Limits { batch_max: 2500, frame_max: 1000, initial_units: 16, ..tables }, 5)
            }
            2 => (common, 17),
            // A window so large that the outbox, which keeps frames until their ack, is the tighter
            // limit.
            _ => (Limits { initial_units: 65_536, ..common }, 257),
        };
        SessionProfile {
            framing: if byte & 1 == 0 { Framing::Tcp } else { Framing::Ipc },
            limits: Limits { frame_max: limits.body_max(), ..limits },
            runs: byte & 2 != 0,
            parts: false,
            calls_max: if byte & 6 == 0 { 1 } else { 5 },
            scale,
        }
    }
}
