//! `--fail-if` of the lab: a condition on one figure of one row.

use std::slice;
use std::str::FromStr;

use wigwag_lab::results::{Results, Row};
use wigwag_lab::run::Options;

use crate::exit::Failed;
use crate::measure::lab::roster::{are_cells, usage};
use crate::options::condition::{self, Comparison};

/// Such as `remote/tell/wigwag.ratio_to_raw<0.5`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Gate {
    text: String,
    workload: String,
    cell: String,
    participant: String,
    figure: Figure,
    comparison: Comparison,
    limit: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Figure {
    Rate,
    CpuPerMillion,
    PeakRss,
    RatioToRaw,
    RatioToBestPeer,
    RoundTrip,
}

const FIGURES: [(&str, Figure); 6] = [
    ("rate", Figure::Rate),
    ("cpu_s_per_million", Figure::CpuPerMillion),
    ("peak_rss_bytes", Figure::PeakRss),
    ("ratio_to_raw", Figure::RatioToRaw),
    ("ratio_to_best_peer", Figure::RatioToBestPeer),
    ("rtt_us", Figure::RoundTrip),
];

impl FromStr for Gate {
    type Err = String;

    fn from_str(text: &str) -> Result<Gate, String> {
        let form = || {
            let names = FIGURES.map(|(name, _)| name).join(", ");
            format!(
                "write it as remote/tell/wigwag.ratio_to_raw<0.5; figures are {names}; < and > \
                 compare"
            )
        };
        let (place, comparison, limit) = condition::split(text).ok_or_else(form)?;
        let (place, figure) = place.rsplit_once('.').ok_or_else(form)?;
        let (workload, rest) = place.split_once('/').ok_or_else(form)?;
        let (cell, participant) = rest.rsplit_once('/').ok_or_else(form)?;
        let figure = FIGURES.into_iter().find(|(name, _)| *name == figure).ok_or_else(form)?.1;
        let limit = condition::number(limit).ok_or_else(form)?;
        Ok(Gate {
            text: text.to_owned(),
            workload: workload.to_owned(),
            cell: cell.to_owned(),
            participant: participant.to_owned(),
            figure,
            comparison,
            limit,
        })
    }
}

impl Gate {
    /// Refuses a condition on a row that the run will not have, before it measures for hours.
    pub(super) fn check(&self, options: &Options) -> Result<(), Failed> {
        let Gate { text, workload, cell, participant, .. } = self;
        if options.has_row(workload, cell, participant) {
            return Ok(());
        }
        are_cells(slice::from_ref(cell), &options.cell_names())?;
        let row = format!("{workload}/{cell}/{participant}");
        Err(usage(format!("--fail-if {text}: this run has no row {row}; see wigwag lab list")))
    }

    /// Why it fails: the figure is so, or it is not there, which proves nothing.
    pub(super) fn fails(&self, results: &Results) -> Option<String> {
        let row = results.rows.iter().find(|row| {
            row.workload == self.workload
                && row.cell == self.cell
                && row.participant == self.participant
        });
        match row.and_then(|row| self.read(row)) {
            None => Some(format!("{}: there is no such figure in this run", self.text)),
            Some(figure) => {
                let holds = self.comparison.holds(figure, self.limit);
                holds.then(|| format!("{}: it is {figure}", self.text))
            }
        }
    }

    fn read(&self, row: &Row) -> Option<f64> {
        match self.figure {
            Figure::Rate => row.rate.map(|rate| rate.median),
            Figure::CpuPerMillion => row.cpu_s_per_million.map(|cpu| cpu.median),
            Figure::PeakRss => row.peak_rss_bytes.map(|bytes| bytes as f64),
            Figure::RatioToRaw => row.ratio_to_raw.map(|ratio| ratio.median),
            Figure::RatioToBestPeer => row.ratio_to_best_peer.map(|ratio| ratio.median),
            Figure::RoundTrip => row.rtt_us.as_ref().map(|times| times.p50),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_read_as_it_is_written() {
        let gate: Gate = "counter/1 sender/a.b.rate > 1e6".parse().unwrap();
        assert_eq!((gate.cell.as_str(), gate.participant.as_str()), ("1 sender", "a.b"));
        assert_eq!(
            (gate.figure, gate.comparison, gate.limit),
            (Figure::Rate, Comparison::Above, 1e6)
        );
        for bad in ["", "rate<1", "a/b/c.rate", "a/b/c.speed<1", "a/b/c.rate<x", "a/b/c.rate<nan"] {
            assert!(bad.parse::<Gate>().is_err(), "{bad}");
        }
    }
}
