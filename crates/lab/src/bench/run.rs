//! A run: every participant in every cell, round by round in shuffled order, in fresh processes.
//!
//! A first trial finds out how many messages fill a window, and whether the participant keeps the
//! contract at all; one that does not is VOID and costs no more time. A window in which others took
//! more than a little of the machine is thrown away and tried again.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::bench::participant::Participant;
use crate::bench::ratios;
use crate::bench::results::{Environment, Results, Row, SCHEMA};
use crate::bench::series::{Series, is_against};
use crate::bench::trial::{CONTRACT, Deadlines, NoOutcome, Outcome, QUICK, conduct};
use crate::bench::workload::{Cell, Entry, Judged, Order, Workload};
use crate::statistics::SplitMix64;

/// Rounds of a run, if nobody says otherwise.
pub const ROUNDS: usize = 5;
/// Rounds of a quick run.
pub const ROUNDS_QUICK: usize = 3;
/// A window's length: long against the 10 ms in which processor time is counted.
const WINDOW: Duration = Duration::from_millis(1_500);
/// That of a quick run, whose figures only say that everything works.
const WINDOW_QUICK: Duration = Duration::from_millis(250);
/// A plain loop of twenty million messages may take so long, if it only works.
const NAIVE_MAX: Duration = Duration::from_secs(300);
/// Fixed payloads begin with the million round trips of 2016, one after the other as a rule.
const FIXED_MAX: Duration = Duration::from_secs(120);
/// Others may take this share of the processors while we measure.
pub const FOREIGN_MAX: f64 = 0.05;
/// How often a window that was not quiet is tried again.
const RETRIES: usize = 2;
/// Trials until the number of messages is known.
const CALIBRATIONS: usize = 4;

/// What is to be run.
pub struct Options {
    /// In the order of the tables.
    pub workloads: Vec<Workload>,
    /// In the order of the tables; the limit must be among them to be compared with.
    pub participants: Vec<Participant>,
    /// The program that has the lab's own counterparts, called with a hidden command.
    pub program: PathBuf,
    /// Rounds.
    pub rounds: usize,
    /// Short windows, one cell a workload.
    pub quick: bool,
    /// What decides order and payloads.
    pub seed: u64,
}

/// What happens now.
#[derive(Clone, Debug)]
pub struct Step {
    /// Trials that are through.
    pub done: usize,
    /// Trials that there will be; fewer if some turn out void.
    pub of: usize,
    /// The cell and the participant.
    pub title: String,
}

/// Measures until everything is through or `stop` is raised; what was measured by then is there.
pub fn run(options: &Options, stop: &AtomicBool, tell: &mut dyn FnMut(&Step)) -> Results {
    let environment = Environment::capture();
    let (entries, mut missing) = entries(options);
    let mut lab = Lab {
        options,
        stop,
        random: SplitMix64::new(options.seed),
        of: entries.len() * (options.rounds + 1),
        done: 0,
        tell,
    };
    let mut series: Vec<Series<'_>> = entries.into_iter().map(Series::new).collect();
    for one in &mut series {
        lab.calibrate(one);
    }
    for round in 0..options.rounds {
        let mut order: Vec<usize> = (0..series.len()).collect();
        lab.random.shuffle(&mut order);
        for index in order {
            lab.window(&mut series[index], round);
        }
    }
    let interrupted = stop.load(Ordering::Relaxed);
    series.retain(Series::has_begun);
    let mut rows: Vec<Row> = series.into_iter().map(Series::into_row).collect();
    rows.append(&mut missing);
    ratios::distrust(&mut rows);
    ratios::fill(&mut rows);
    let quick = options.quick;
    Results { schema: SCHEMA.to_owned(), environment, quick, interrupted, rows }
}

/// The rows to be, and those of participants that are not there.
fn entries(options: &Options) -> (Vec<Entry<'_>>, Vec<Row>) {
    let (mut entries, mut missing) = (Vec::new(), Vec::new());
    let reasons: Vec<Option<String>> =
        options.participants.iter().map(Participant::missing).collect();
    for cell in options.workloads.iter().flat_map(|workload| workload.cells(options.quick)) {
        for (participant, reason) in options.participants.iter().zip(&reasons) {
            let fills =
                |it: &Participant, cell: Cell| cell.roles().iter().all(|role| it.fills(*role));
            // A bad one of ours is found out once; a peer that is bad stands in every cell, since
            // what it does to the others is what there is to see. The second cell of a quick run
            // is for those that have no part in the first.
            let ours = matches!(participant, Participant::Embedded { .. });
            let once = options.quick || (ours && participant.is_known_bad());
            let cells = cell.workload().cells(options.quick);
            let earlier = cells.into_iter().take_while(|other| *other != cell);
            if !fills(participant, cell)
                || (once && earlier.into_iter().any(|it| fills(participant, it)))
            {
                continue;
            }
            let program = options.program.as_path();
            let entry = Entry { cell, participant, partner: None, program };
            match reason {
                Some(reason) if cell != Cell::Mixed => {
                    missing.push(Series::new(entry).into_missing(reason));
                }
                None if cell == Cell::Mixed => {
                    let others = options.participants.iter().zip(&reasons);
                    entries.extend(others.filter_map(|(other, reason)| {
                        let apart = other.name() != participant.name();
                        let ours = matches!(other, Participant::Embedded { .. });
                        let bad = ours && other.is_known_bad();
                        let works = reason.is_none() && !bad && fills(other, cell);
                        let agree = participant.payload().agrees(other.payload());
                        (apart && works && agree).then_some(Entry { partner: Some(other), ..entry })
                    }));
                }
                None => entries.push(entry),
                Some(_) => {}
            }
        }
    }
    (entries, missing)
}

struct Lab<'a> {
    options: &'a Options,
    stop: &'a AtomicBool,
    random: SplitMix64,
    of: usize,
    done: usize,
    tell: &'a mut dyn FnMut(&Step),
}

impl Lab<'_> {
    /// Finds out how many messages fill a window.
    fn calibrate(&mut self, series: &mut Series<'_>) {
        let size = series.entry.size(self.options.quick);
        self.step(series);
        if size.fixed {
            series.messages = size.most;
            return;
        }
        let round_up = |messages: u64| messages.clamp(1, size.most).next_multiple_of(size.step);
        let window = self.window_length().as_secs_f64();
        let mut messages = round_up(size.first);
        for _ in 0..CALIBRATIONS {
            let Some((judged, outcome)) = self.trial(series, messages) else {
                return;
            };
            if self.asks_no_rate(series) && is_against(&judged.flags) {
                series.messages = messages;
                series.take_window(0, judged, outcome, false);
                return;
            }
            let seconds = outcome.seconds;
            let fill = (window / seconds.max(1e-4)).clamp(0.05, 50.0);
            let more = round_up((messages as f64 * fill) as u64);
            let enough = seconds >= window / 3.0 || messages == round_up(size.most);
            messages = more;
            if enough {
                break;
            }
        }
        series.messages = messages;
    }

    /// One trial outside the rounds, and what it came to; `None` when it is void.
    fn trial(&mut self, series: &mut Series<'_>, messages: u64) -> Option<(Judged, Outcome)> {
        let (order, outcome) = self.conduct(series, messages)?;
        let judged = series.entry.judge(order, &outcome);
        series.take_cost(messages, &outcome);
        series.take_trial(judged.clone()).then_some((judged, outcome))
    }

    /// A quick run asks whether a bad one is found out; how fast it is nobody wants to know.
    fn asks_no_rate(&self, series: &Series<'_>) -> bool {
        self.options.quick && series.entry.is_known_bad()
    }

    /// One window of a round, the quietest of a few.
    fn window(&mut self, series: &mut Series<'_>, round: usize) {
        let enough = self.asks_no_rate(series) && series.is_found_out();
        if enough || series.is_void() || self.stop.load(Ordering::Relaxed) {
            self.done += 1;
            return;
        }
        self.step(series);
        let retries = if self.options.quick { 0 } else { RETRIES };
        let mut quietest = None;
        for _ in 0..=retries {
            let Some((order, outcome)) = self.conduct(series, series.messages) else {
                break;
            };
            let judged = series.entry.judge(order, &outcome);
            let foreign = outcome.foreign_cpu_share;
            series.take_cost(order.messages, &outcome);
            if !series.take_trial(judged.clone()) {
                return;
            }
            let quieter =
                quietest.as_ref().is_none_or(|(_, _, best): &(_, _, f64)| foreign < *best);
            let quiet = foreign <= foreign_max(outcome.seconds);
            if quieter {
                quietest = Some((judged, outcome, foreign));
            }
            if quiet {
                break;
            }
        }
        if let Some((judged, outcome, _)) = quietest {
            let loud = outcome.foreign_cpu_share > foreign_max(outcome.seconds);
            series.take_window(round, judged, outcome, loud);
        }
    }

    fn conduct(&mut self, series: &mut Series<'_>, messages: u64) -> Option<(Order, Outcome)> {
        let seed = self.random.draw() as u32;
        let order = Order { messages, seed, is_first: series.begin_trial() };
        let Some(cast) = series.entry.cast(order) else {
            series.make_void("it has no command for the role".to_owned());
            return None;
        };
        match conduct(cast, self.deadlines(&series.entry), self.stop) {
            Ok(outcome) => Some((order, outcome)),
            Err(NoOutcome::Stopped) => None,
            Err(NoOutcome::Broke { title, fault, .. }) => {
                series.make_void(format!("{title} {fault}"));
                None
            }
        }
    }

    fn step(&mut self, series: &Series<'_>) {
        let (cell, name) = (series.entry.cell_name(), series.entry.participant.name());
        let title = format!("{} {cell}, {name}", series.entry.cell.workload().name());
        (self.tell)(&Step { done: self.done, of: self.of, title });
        self.done += 1;
    }

    fn window_length(&self) -> Duration {
        if self.options.quick { WINDOW_QUICK } else { WINDOW }
    }

    fn deadlines(&self, entry: &Entry<'_>) -> Deadlines {
        match (self.options.quick, entry.cell) {
            (true, _) => QUICK,
            (false, _) if entry.is_fixed() => Deadlines { work: FIXED_MAX, ..CONTRACT },
            (false, Cell::Naive) => Deadlines { work: NAIVE_MAX, ..CONTRACT },
            (false, _) => CONTRACT,
        }
    }
}

/// What others may take of a window, with the two ticks by which the kernel's count may be wrong.
fn foreign_max(seconds: f64) -> f64 {
    let cores = std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
    FOREIGN_MAX + 0.02 / (seconds * cores).max(0.01)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the gate lets pass: a twentieth, and what the kernel's ticks may be wrong by.
    #[test]
    fn a_window_is_loud_when_others_took_more_than_a_twentieth() {
        let window = WINDOW.as_secs_f64();
        assert!((FOREIGN_MAX..FOREIGN_MAX + 0.02).contains(&foreign_max(window)));
        // Ticks weigh more in a short window, and never so much that a busy neighbour passes.
        assert!(foreign_max(WINDOW_QUICK.as_secs_f64()) < 0.14);
    }
}
