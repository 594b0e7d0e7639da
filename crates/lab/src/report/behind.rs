//! Cells in which another system is ahead of wigwag. They stand before all tables: a reader must not
//! have to look for them.

use crate::figures::statistics::median_interval;
use crate::report::columns::{earned, rate, significant};
use crate::report::layout::{Kind, Layout, Table, is_raw};
use crate::results::{Interval, Row, Run};

/// The participant that the project is about.
const WIGWAG: &str = "wigwag";
/// The lab's own server of http, which is no system that anybody could use.
const REFERENCE: &str = "reference";

/// The figure by which rows are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Messages a second.
    Rate,
    /// Messages for each second of processor time.
    ProcessorTime,
}

/// A cell in which another participant has a better figure than wigwag.
pub(crate) struct Behind<'a> {
    /// The table of the cell.
    pub(crate) table: &'a Table<'a>,
    /// The figure.
    pub(crate) measure: Measure,
    /// The row of wigwag.
    pub(crate) ours: &'a Row,
    /// The row that is furthest ahead.
    pub(crate) best: &'a Row,
    /// Ours divided by the best, in the same rounds. The median is below 1; if the interval is not, too
    /// few rounds were measured to say who is ahead.
    pub(crate) ratio: Interval,
}

impl Measure {
    /// The name of the column.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Measure::Rate => "rate",
            Measure::ProcessorTime => "CPU s / M",
        }
    }

    /// The figure of `row` as the tables have it.
    pub(crate) fn figure(self, row: &Row) -> String {
        let spread = match self {
            Measure::Rate => row.rate,
            Measure::ProcessorTime => row.cpu_s_per_million,
        };
        let word = if self == Measure::Rate { rate } else { significant };
        spread.map(|spread| word(spread.median)).unwrap_or_default()
    }

    /// More is better.
    fn of(self, run: &Run) -> f64 {
        match self {
            Measure::Rate => run.rate(),
            Measure::ProcessorTime => run.messages as f64 / run.cpu_seconds,
        }
    }
}

/// Every such cell, in the order of the tables. Mixed pairs and cells at an ordered rate are left out,
/// the limit is no rival, and neither is a participant that promises no order. `None` if wigwag took
/// no part.
pub(crate) fn behind<'a>(layout: &'a Layout<'a>) -> Option<Vec<Behind<'a>>> {
    let is_ours = |row: &&&Row| row.participant == WIGWAG && earned(row).is_some();
    let mut found = Vec::new();
    let mut took_part = false;
    for table in layout.tables.iter().filter(|table| table.kind == Kind::Cell) {
        let Some(ours) = table.others.iter().find(is_ours).copied() else { continue };
        took_part = true;
        let measures = match ours.rate_ordered {
            None => &[Measure::Rate, Measure::ProcessorTime][..],
            Some(_) => &[],
        };
        for measure in measures {
            found.extend(best_ahead(table, ours, *measure));
        }
    }
    took_part.then_some(found)
}

/// The row that is furthest ahead of `ours` in the median, if one is.
fn best_ahead<'a>(table: &'a Table<'a>, ours: &'a Row, measure: Measure) -> Option<Behind<'a>> {
    let rivals = table.others.iter().copied().filter(|row| {
        let stands_apart = is_raw(row) || [WIGWAG, REFERENCE].contains(&row.participant.as_str());
        earned(row).is_some() && !stands_apart
    });
    let ahead = rivals.filter_map(|best| {
        let [low, median, high] = median_interval(&ours.ratios(best, |run| measure.of(run)))?;
        let ratio = Interval { median, low, high };
        (median < 1.0).then_some(Behind { table, measure, ours, best, ratio })
    });
    ahead.min_by(|one, other| one.ratio.median.total_cmp(&other.ratio.median))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Results, Verdict};

    fn rich() -> Results {
        serde_json::from_str(include_str!("../../tests/fixtures/lab-1.json")).unwrap()
    }

    fn row<'a>(results: &'a mut Results, cell: &str, participant: &str) -> &'a mut Row {
        let is_it = |row: &&mut Row| row.cell == cell && row.participant == participant;
        results.rows.iter_mut().find(is_it).unwrap()
    }

    /// Cell, figure and participant.
    fn found(results: &Results) -> Vec<(String, Measure, String)> {
        let layout = Layout::of(results);
        let all = behind(&layout).unwrap();
        let words = |it: &Behind<'_>| {
            assert!(it.ratio.low <= it.ratio.median && it.ratio.median < 1.0);
            (it.table.title(), it.measure, it.best.participant.clone())
        };
        all.iter().map(words).collect()
    }

    #[test]
    fn the_participant_that_is_furthest_ahead_is_named_for_each_figure() {
        let mut results = rich();
        let cheaper = ("server".to_owned(), Measure::ProcessorTime, "c-epoll".to_owned());
        assert_eq!(found(&results), std::slice::from_ref(&cheaper));

        let faster = |participant: &str| ("tell".to_owned(), Measure::Rate, participant.to_owned());
        for (participant, times) in [("tarpc", 50), ("tonic", 4)] {
            for run in &mut row(&mut results, "tell", participant).runs {
                run.messages *= times;
                run.cpu_seconds *= times as f64;
            }
        }
        assert_eq!(found(&results), [cheaper, faster("tarpc")]);
    }

    #[test]
    fn a_row_that_was_better_in_most_rounds_is_ahead_although_they_do_not_settle_it() {
        let mut results = rich();
        // One of three rounds after the other becomes one in which wigwag was better.
        for (round, is_settled) in [(0, Some(true)), (1, Some(false)), (2, None)] {
            let layout = Layout::of(&results);
            let all = behind(&layout).unwrap();
            assert_eq!(all.first().map(|it| it.ratio.high < 1.0), is_settled);
            row(&mut results, "server", "c-epoll").runs[round].cpu_seconds *= 2.0;
        }
    }

    #[test]
    fn a_row_without_a_number_is_not_ahead() {
        let mut results = rich();
        row(&mut results, "server", "c-epoll").verdict = Verdict::Void;
        assert_eq!(found(&results), []);
        let tonic = row(&mut results, "tell", "tonic");
        tonic.runs.iter_mut().for_each(|run| run.seconds /= 100.0);
        assert_eq!(found(&results).len(), 1);
        row(&mut results, "tell", "tonic").verdict = Verdict::Void;
        assert_eq!(found(&results), []);
    }

    #[test]
    fn without_wigwag_there_is_nothing_to_tell() {
        let mut results = rich();
        results.rows.retain(|row| row.participant != WIGWAG);
        assert!(behind(&Layout::of(&results)).is_none());
    }
}
