//! The processor time of a message, side by side: what the server took of it, and what the client.
//!
//! The sides of one round add up to its whole. Medians of each side alone would not: they may come
//! from different rounds. So the sides are those of the round that is the median of the whole.

use serde::{Deserialize, Serialize};

use crate::figures::statistics::Spread;
use crate::results::{Run, Side};

/// The parts of a row's processor time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuBySide {
    /// Both sides are within one program, where they cannot be told apart; `sides` is empty.
    pub one_program: bool,
    /// The side that listens, then the one that dials.
    pub sides: Vec<SideCpu>,
}

/// The part of one side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SideCpu {
    /// Which one.
    pub side: SideName,
    /// Processor seconds for a million messages.
    pub cpu_s_per_million: f64,
}

/// A side of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SideName {
    /// Listens, and receives or answers.
    Server,
    /// Dials, and sends or asks.
    Client,
    /// Listens, and sends.
    Sender,
    /// Dials, and receives.
    Receiver,
}

impl SideName {
    /// As in the document.
    pub fn word(self) -> &'static str {
        match self {
            SideName::Server => "server",
            SideName::Client => "client",
            SideName::Sender => "sender",
            SideName::Receiver => "receiver",
        }
    }
}

impl Run {
    /// Processor seconds for a million messages.
    pub fn cpu_s_per_million(&self) -> f64 {
        self.per_million(self.cpu_seconds)
    }

    /// Seconds of this run for a million messages.
    pub(crate) fn per_million(&self, seconds: f64) -> f64 {
        seconds * 1e6 / self.messages as f64
    }
}

impl CpuBySide {
    /// The parts of the median of `runs`, in which so many programs ran. `None` if there is no
    /// figure, or if the other side is the lab's own or
    /// has no name.
    pub fn of(runs: &[Run], programs: usize) -> Option<CpuBySide> {
        let whole: Vec<f64> = runs.iter().map(Run::cpu_s_per_million).collect();
        Spread::of(&whole)?;
        if programs == 1 {
            return Some(CpuBySide { one_program: true, sides: Vec::new() });
        }
        let mut sorted: Vec<&Run> = runs.iter().collect();
        sorted.sort_by(|a, b| a.cpu_s_per_million().total_cmp(&b.cpu_s_per_million()));
        // With an even number of rounds, the median lies between two of them.
        let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        let pairs = low.sides.iter().zip(&high.sides);
        let both = |(a, b): (&Side, &Side)| {
            let ends = (low.per_million(a.cpu_seconds), high.per_million(b.cpu_seconds));
            Some(SideCpu { side: a.side?, cpu_s_per_million: ends.0.midpoint(ends.1) })
        };
        let sides: Vec<SideCpu> = pairs.map(both).collect::<Option<_>>()?;
        (sides.len() > 1).then_some(CpuBySide { one_program: false, sides })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RICH: &str = include_str!("../../tests/fixtures/lab-1.json");

    /// A round of a million messages, by the seconds of server and client.
    fn run(server: f64, client: f64) -> Run {
        let results: crate::results::Results = serde_json::from_str(RICH).unwrap();
        let mut runs = results.rows.into_iter().flat_map(|row| row.runs);
        let mut run = runs.find(|run| run.sides.len() == 2).unwrap();
        run.messages = 1_000_000;
        run.cpu_seconds = server + client;
        (run.sides[0].cpu_seconds, run.sides[1].cpu_seconds) = (server, client);
        run
    }

    /// The medians of server and client alone would be 3 and 2.
    #[test]
    fn the_sides_are_those_of_the_round_in_the_middle_and_add_up_to_it() {
        let runs = [run(1.0, 5.0), run(3.0, 2.0), run(4.0, 0.5), run(9.0, 1.0), run(2.0, 6.0)];
        for count in 1..=runs.len() {
            let runs = &runs[..count];
            let whole: Vec<f64> = runs.iter().map(Run::cpu_s_per_million).collect();
            let sides = CpuBySide::of(runs, 2).unwrap().sides;
            let sum: f64 = sides.iter().map(|side| side.cpu_s_per_million).sum();
            assert!((sum - Spread::of(&whole).unwrap().median).abs() < 1e-9, "{count}: {sides:?}");
        }
        let sides = CpuBySide::of(&runs, 2).unwrap().sides;
        let told: Vec<_> =
            sides.iter().map(|side| (side.side.word(), side.cpu_s_per_million)).collect();
        assert_eq!(told, [("server", 1.0), ("client", 5.0)]);
    }

    #[test]
    fn one_program_has_no_sides_and_a_side_beside_the_labs_own_is_the_whole() {
        let alone = Run { sides: Vec::new(), ..run(1.0, 2.0) };
        let one = CpuBySide::of(std::slice::from_ref(&alone), 1).unwrap();
        assert_eq!(one, CpuBySide { one_program: true, sides: Vec::new() });
        assert_eq!(CpuBySide::of(&[alone], 2), None);
        assert_eq!(CpuBySide::of(&[], 1), None);
    }
}
