//! A run: every participant in every cell, round by round in shuffled order, in fresh processes.
//!
//! A first trial finds out how many messages fill a window, and whether the participant keeps the
//! contract at all; one that does not is VOID and costs no more time. A window that was not quiet
//! is tried again.

pub mod series;
pub mod quiet;
pub mod ratios;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::figures::statistics::SplitMix64;
use crate::participants::Participant;
use crate::process::tree::own_seconds;
use crate::results::reasons::is_against;
use crate::results::{Environment, Results, Row, SCHEMA};
use crate::run::quiet::QuietestTrial;
use crate::run::series::Series;
use crate::trial::{CONTRACT, Deadlines, Outcome, QUICK, TrialError, run_trial};
use crate::workload::http::cell::HttpCell;
use crate::workload::{Cell, Entry, Judgement, Order, SpreadOver, Workload, relayed};

/// The number of rounds of a run, by default.
pub const ROUNDS: usize = 5;
/// Rounds of a quick run.
pub const ROUNDS_QUICK: usize = 3;
/// A window's length: long against the 10 ms in which processor time is counted.
const WINDOW: Duration = Duration::from_millis(1_500);
/// The window of a quick run, whose figures only say that everything works.
const WINDOW_QUICK: Duration = Duration::from_millis(250);
/// The window of the demo: five rounds of ten rows end within a quarter of a minute.
const WINDOW_DEMO: Duration = Duration::from_millis(150);
/// A plain loop of twenty million messages may take so long, if it only works.
const NAIVE_MAX: Duration = Duration::from_secs(300);
/// Fixed payloads begin with the million round trips of 2016, one after the other as a rule; and
/// what is not cut to the window's length may take longer than it.
const FIXED_MAX: Duration = Duration::from_secs(120);
/// A server of http is asked for so long before its clock runs: its runtime compiles meanwhile.
const WARM_UP: Duration = Duration::from_secs(2);
/// How often a window that was not quiet is tried again.
const RETRIES: usize = 2;
/// The least number of asks of a window at a fixed rate, for a very slow participant.
const PACED_MIN: u64 = 100;
/// Trials until the number of messages is known, at most.
pub const CALIBRATIONS: usize = 4;

/// How long a run takes for each figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Figures to rank by.
    Full,
    /// Does everything work? Short windows, and deadlines for participants that are known.
    Quick,
    /// Figures for a first impression: short windows, the contract's deadlines.
    Demo,
}

impl Effort {
    /// Windows are too short to rank by.
    pub fn is_short(self) -> bool {
        self != Effort::Full
    }
}

/// Options of a run.
pub struct Options {
    /// In the order of the tables.
    pub workloads: Vec<Workload>,
    /// In the order of the tables; the limit must be among them to be compared with.
    pub participants: Vec<Participant>,
    /// The names of the cells that are run, if not all are.
    pub cells: Vec<String>,
    /// The program that has the lab's own counterparts, called with a hidden command.
    pub program: PathBuf,
    /// Rounds.
    pub rounds: usize,
    /// A quick run that names no cells has one cell a workload.
    pub effort: Effort,
    /// Requests a second of http at a fixed rate, if there is to be such a cell.
    pub http_rate: Option<u64>,
    /// The seed of order and payloads.
    pub seed: u64,
}

impl Options {
    fn wants(&self, cell: &str) -> bool {
        self.cells.is_empty() || self.cells.iter().any(|name| name == cell)
    }

    /// The names of all cells that there are for these participants, each once.
    pub fn cell_names(&self) -> Vec<String> {
        let (entries, missing) = entries(self);
        let absent = missing.into_iter().map(|row| row.cell);
        let mut names: Vec<String> = entries.iter().map(Entry::cell_name).chain(absent).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Whether the results of this run will have such a row, measured or not.
    pub fn has_row(&self, workload: &str, cell: &str, participant: &str) -> bool {
        let (entries, missing) = entries(self);
        let is_measured = entries.iter().any(|entry| {
            entry.cell.workload().name() == workload
                && entry.cell_name() == cell
                && entry.participant.name() == participant
        });
        let is_missing = missing.iter().any(|row| {
            row.workload == workload && row.cell == cell && row.participant == participant
        });
        self.wants(cell) && (is_measured || is_missing)
    }
}

/// Progress of a run.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Trials that are through.
    pub done: usize,
    /// Trials that there will be; fewer if some turn out void.
    pub of: usize,
    /// The cell and the participant.
    pub title: String,
}

/// Measures until everything is through or `stop` is raised; what was measured by then is there.
pub fn run(
    options: &Options,
    stop: &AtomicBool,
    on_progress: &mut dyn FnMut(&Progress),
) -> Results {
    let (began, spent) = (Instant::now(), own_seconds());
    let environment = Environment::capture();
    let (mut entries, mut missing) = entries(options);
    entries.retain(|entry| options.wants(&entry.cell_name()));
    missing.retain(|row| options.wants(&row.cell));
    let mut lab = Coordinator {
        capacities: BTreeMap::new(),
        options,
        stop,
        random: SplitMix64::new(options.seed),
        of: entries.len() * (options.rounds + 1),
        done: 0,
        on_progress,
    };
    let mut series: Vec<Series<'_>> = entries.into_iter().map(Series::new).collect();
    // A share of a rate is ordered when the rate is known.
    let (paced, others): (Vec<usize>, Vec<usize>) =
        (0..series.len()).partition(|index| series[*index].entry.cell.share().is_some());
    for mut order in [others, paced] {
        for index in order.iter().copied() {
            lab.prepare(&mut series, index);
        }
        for round in 0..options.rounds {
            lab.random.shuffle(&mut order);
            for index in order.iter().copied() {
                lab.window(&mut series[index], round);
            }
        }
    }
    let interrupted = stop.load(Ordering::Relaxed);
    series.retain(Series::has_begun);
    let mut rows: Vec<Row> = series.into_iter().map(Series::into_row).collect();
    rows.append(&mut missing);
    ratios::distrust(&mut rows);
    ratios::fill(&mut rows);
    ratios::doubt_neighbours(&mut rows);
    let quick = options.effort.is_short();
    let share = (own_seconds() - spent) / began.elapsed().as_secs_f64();
    Results {
        schema: SCHEMA.to_owned(),
        environment,
        quick,
        interrupted,
        coordinator_cpu_share: Some(share.max(0.0)),
        rows,
    }
}

/// The rows to be, and those of participants that are not there.
fn entries(options: &Options) -> (Vec<Entry<'_>>, Vec<Row>) {
    let (mut entries, mut missing) = (Vec::new(), Vec::new());
    let reasons: Vec<Option<String>> =
        options.participants.iter().map(Participant::why_missing).collect();
    // A run that names cells has all to choose from.
    let quick = options.effort.is_short() && options.cells.is_empty();
    let brief = |workload: Workload| workload.is_brief(quick, options.workloads.len());
    let cells = options.workloads.iter().flat_map(|workload| workload.cells(brief(*workload)));
    let has_http = options.workloads.contains(&Workload::Http);
    let at_rate = options.http_rate.filter(|_| has_http).map(HttpCell::at_rate);
    for cell in
        cells.chain(at_rate.map(Cell::HttpServer)).filter(|cell| !quick || !cell.begins_slowly())
    {
        for (participant, reason) in options.participants.iter().zip(&reasons) {
            // A bad one of ours is found out once; a peer that is bad stands in every cell, since
            // what it does to the others is what there is to see. The second cell of a quick run
            // is for those that have no part in the first.
            let ours = matches!(participant, Participant::Embedded { .. });
            let brief = brief(cell.workload());
            let once = brief || (ours && participant.is_known_bad());
            let cells = cell.workload().cells(brief);
            let earlier = cells.into_iter().take_while(|other| *other != cell);
            if let Some(reason) = cell.why_absent(participant).filter(|_| !brief) {
                let entry = Entry { cell, participant, partner: None, program: &options.program };
                missing.push(Series::new(entry).into_absent(reason));
            }
            if !cell.is_for(participant)
                || (once && earlier.into_iter().any(|it| it.is_for(participant)))
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
                        let works = reason.is_none() && !bad && cell.is_for(other);
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

struct Coordinator<'a> {
    /// Of participants that have no row in the cell whose rate is asked for.
    capacities: BTreeMap<(String, Cell), Result<f64, String>>,
    options: &'a Options,
    stop: &'a AtomicBool,
    random: SplitMix64,
    of: usize,
    done: usize,
    on_progress: &'a mut dyn FnMut(&Progress),
}

impl Coordinator<'_> {
    /// Finds out how many messages fill a window, and at which rate they are sent.
    fn prepare(&mut self, series: &mut [Series<'_>], index: usize) {
        self.step(&series[index]);
        if let Some(rate) = series[index].entry.cell.rate() {
            return self.order_rate(&mut series[index], rate as f64, 100);
        }
        let Some((percent, of)) = series[index].entry.cell.share() else {
            return self.calibrate(&mut series[index]);
        };
        let capacity = self.capacity(series, Entry { cell: of, ..series[index].entry });
        let paced = &mut series[index];
        match capacity {
            Ok(capacity) => self.order_rate(paced, capacity, percent),
            // Stopped before there was one, which is not the participant's fault.
            Err(_) if self.stop.load(Ordering::Relaxed) => {}
            Err(why) => paced.make_void(format!("there is no rate to go by: {why}")),
        }
    }

    /// Orders a share of so many messages a second, for as long as a window is.
    fn order_rate(&self, series: &mut Series<'_>, capacity: f64, percent: u32) {
        let size = series.entry.size(self.is_short());
        series.rate = ((capacity * f64::from(percent) / 100.0) as u64).max(1);
        let messages = series.rate as f64 * self.window_length(&series.entry).as_secs_f64();
        series.messages = (messages as u64).clamp(PACED_MIN, size.most);
    }

    /// Messages a second that a participant comes to in a cell: as its row has it, or as its trials
    /// come to if there is none.
    fn capacity(&mut self, series: &[Series<'_>], entry: Entry<'_>) -> Result<f64, String> {
        let (name, cell) = (entry.participant.name(), entry.cell_name());
        let is_row =
            |it: &&Series<'_>| it.entry.cell == entry.cell && it.entry.participant.name() == name;
        if let Some(row) = series.iter().find(is_row) {
            return row
                .median_rate()
                .ok_or_else(|| format!("{cell}: {}", row.reasons().join("; ")));
        }
        let place = (name.to_owned(), entry.cell);
        if let Some(known) = self.capacities.get(&place) {
            return known.clone();
        }
        let mut asks = Series::new(entry);
        self.calibrate(&mut asks);
        let window = self.window_length(&asks.entry).as_secs_f64();
        let found = match asks.is_void() || asks.messages == 0 {
            true => Err(format!("{cell}: {}", asks.reasons().join("; "))),
            false => Ok(asks.messages as f64 / window),
        };
        self.capacities.insert(place, found.clone());
        found
    }

    /// Finds out how many messages fill a window.
    fn calibrate(&mut self, series: &mut Series<'_>) {
        let size = series.entry.size(self.is_short());
        if size.fixed {
            series.messages = size.most;
            return;
        }
        let round_up = |messages: u64| messages.clamp(1, size.most).next_multiple_of(size.step);
        let window = self.window_length(&series.entry).as_secs_f64();
        let mut messages = round_up(size.first);
        // Until it is known where to cut, nothing is cut.
        let mut cut_bytes = 0;
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
            cut_bytes = relayed::cut_bytes(more, &outcome, messages);
            messages = more;
            if enough {
                break;
            }
        }
        series.messages = messages;
        series.cut_bytes = if series.entry.cell == Cell::Cuts { cut_bytes } else { 0 };
    }

    /// One trial outside the rounds, and what it came to; `None` when it is void.
    fn trial(&mut self, series: &mut Series<'_>, messages: u64) -> Option<(Judgement, Outcome)> {
        let (order, outcome) = self.run_trial(series, messages)?;
        let judged = series.entry.judge(order, &outcome);
        series.take_cost(messages, &outcome);
        series.take_trial(judged.clone()).then_some((judged, outcome))
    }

    /// A quick run shows whether a bad participant is found out; its speed does not matter.
    fn asks_no_rate(&self, series: &Series<'_>) -> bool {
        self.is_short() && series.entry.is_known_bad()
    }

    /// One window of a round, the quietest of a few.
    fn window(&mut self, series: &mut Series<'_>, round: usize) {
        let found_out = self.asks_no_rate(series) && series.is_found_out();
        // A plain loop of so many messages takes minutes, and what it asks is whether it ends.
        let once = series.entry.size(self.is_short()).once && round > 0;
        if found_out || once || series.is_void() || self.stop.load(Ordering::Relaxed) {
            self.done += 1;
            return;
        }
        self.step(series);
        let retries = if self.is_short() { 0 } else { RETRIES };
        let mut quietest = QuietestTrial::default();
        for _ in 0..=retries {
            let Some((order, outcome)) = self.run_trial(series, series.messages) else {
                break;
            };
            let judged = series.entry.judge(order, &outcome);
            series.take_cost(order.messages, &outcome);
            if !series.take_trial(judged.clone()) {
                return;
            }
            if quietest.take(judged, outcome) {
                break;
            }
        }
        if let Some((judged, outcome, loud)) = quietest.into_window() {
            series.take_window(round, judged, outcome, loud);
        }
    }

    fn run_trial(&mut self, series: &mut Series<'_>, messages: u64) -> Option<(Order, Outcome)> {
        let seed = self.random.draw() as u32;
        let (rate, cut_bytes) = (series.rate, series.cut_bytes);
        let is_first = series.begin_trial();
        let deadlines = self.deadlines(&series.entry);
        let answer_max = deadlines.answer;
        let warm_up = if self.is_short() { Duration::ZERO } else { WARM_UP };
        let order = Order { messages, seed, rate, cut_bytes, is_first, answer_max, warm_up };
        let Some(trial) = series.entry.programs(order) else {
            series.make_void("it has no command for the role".to_owned());
            return None;
        };
        match run_trial(trial, deadlines, self.stop) {
            Ok(outcome) => Some((order, outcome)),
            Err(TrialError::Stopped) => None,
            Err(TrialError::Broke { title, fault, .. }) => {
                series.make_void(format!("{title} {fault}"));
                None
            }
        }
    }

    fn is_short(&self) -> bool {
        self.options.effort.is_short()
    }

    fn step(&mut self, series: &Series<'_>) {
        let (cell, name) = (series.entry.cell_name(), series.entry.participant.name());
        let title = format!("{} {cell}, {name}", series.entry.cell.workload().name());
        (self.on_progress)(&Progress { done: self.done, of: self.of, title });
        self.done += 1;
    }

    fn window_length(&self, entry: &Entry<'_>) -> Duration {
        let usual = match (self.options.effort, entry.cell) {
            (Effort::Full, _) => WINDOW,
            // A stall of three tenths of a second fits, with some quiet on either side.
            (Effort::Quick, Cell::Paced { .. }) => WINDOW_QUICK * 3,
            (Effort::Quick, _) => WINDOW_QUICK,
            (Effort::Demo, _) => WINDOW_DEMO,
        };
        usual * entry.cell.window_factor(self.is_short())
    }

    fn deadlines(&self, entry: &Entry<'_>) -> Deadlines {
        match (self.options.effort == Effort::Quick, entry.cell) {
            (true, Cell::Naive | Cell::NaiveAsk | Cell::Cuts) => {
                Deadlines { work: CONTRACT.work, ..QUICK }
            }
            // A thousand connections take longer than 2 s on a slow machine.
            (true, Cell::Spread { over: SpreadOver::Links, .. }) => {
                Deadlines { ready: CONTRACT.ready, ..QUICK }
            }
            (true, _) => QUICK,
            (false, _) if entry.is_fixed() => Deadlines { work: FIXED_MAX, ..CONTRACT },
            (false, Cell::Naive | Cell::NaiveAsk) => Deadlines { work: NAIVE_MAX, ..CONTRACT },
            (false, Cell::Slow | Cell::Ring { .. } | Cell::Spawn) => {
                Deadlines { work: FIXED_MAX, ..CONTRACT }
            }
            (false, _) => CONTRACT,
        }
    }
}
