//! `wigwag lab run`: measures, and says what came of it.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::runtime::Builder;
use wigwag_lab::participants::Participant;
use wigwag_lab::report::html;
use wigwag_lab::report::text;
use wigwag_lab::results::reasons::has_escaped;
use wigwag_lab::results::{Results, Verdict};
use wigwag_lab::run::{Effort, Options, ROUNDS, ROUNDS_QUICK, run};
use wigwag_lab::workload::Workload;

use crate::exit::{Code, Failed};
use crate::measure::lab::gate::Gate;
use crate::measure::lab::roster::{Roster, are_cells, usage, workloads};
use crate::print;
use crate::socket::Interrupt;

#[derive(Args)]
pub(super) struct Measure {
    /// Workloads with commas between them, or all
    #[arg(required = true, value_delimiter = ',', value_name = "WORKLOADS")]
    workloads: Vec<String>,
    /// Participants, by name or by language [default: the embedded ones and every peer]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    peers: Vec<String>,
    /// Only this cell, as the tables name it; may be said again
    #[arg(long = "cell", value_name = "CELL")]
    cells: Vec<String>,
    /// Adds a cell to http: every server at so many requests a second, each at its time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    rate: Option<u64>,
    /// Rounds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    runs: Option<u32>,
    /// Embedded and known-bad participants only, short windows: does everything work?
    #[arg(long)]
    quick: bool,
    /// The document; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The page; - is standard output
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Exit with 7 if this holds, such as remote/tell/wigwag.ratio_to_raw<0.5
    #[arg(long, value_name = "CONDITION")]
    fail_if: Vec<Gate>,
    /// Seed of the order and the payloads
    #[arg(long, hide = true, default_value_t = 1)]
    seed: u64,
}

impl Measure {
    pub(super) fn run(self, roster: &Roster) -> Result<Code, Failed> {
        let options = Options {
            workloads: workloads(&self.workloads)?,
            participants: self.participants(roster)?,
            cells: self.cells.clone(),
            program: roster.program.clone(),
            rounds: match (self.runs, self.quick) {
                (Some(runs), _) => runs as usize,
                (None, true) => ROUNDS_QUICK,
                (None, false) => ROUNDS,
            },
            effort: if self.quick { Effort::Quick } else { Effort::Full },
            http_rate: self.rate,
            seed: self.seed,
        };
        if self.rate.is_some() && !options.workloads.contains(&Workload::Http) {
            return Err(usage("--rate is for the workload http".to_owned()));
        }
        are_cells(&self.cells, &options.cell_names())?;
        self.fail_if.iter().try_for_each(|gate| gate.check(&options))?;
        // Before the measurement, which may take hours.
        [&self.json, &self.html].into_iter().flatten().try_for_each(|path| is_writable(path))?;
        let stop = Arc::new(AtomicBool::new(false));
        raise_on_interrupt(stop.clone())?;
        let bar = progress();
        let results = run(&options, &stop, &mut |step| {
            bar.set_length(step.of as u64);
            bar.set_position(step.done as u64);
            bar.set_message(step.title.clone());
        });
        bar.finish_and_clear();
        self.write(&results)?;
        Ok(self.verdict(&results))
    }

    fn participants(&self, roster: &Roster) -> Result<Vec<Participant>, Failed> {
        if !self.peers.is_empty() {
            return roster.named(&self.peers);
        }
        let quick = self.quick;
        let takes_part = |it: &&Participant| match it {
            Participant::Embedded { .. } => quick || !it.is_known_bad(),
            Participant::Peer(_) => !quick && !it.is_known_bad(),
        };
        Ok(roster.participants.iter().filter(takes_part).cloned().collect())
    }

    fn write(&self, results: &Results) -> Result<(), Failed> {
        let document = serde_json::to_string_pretty(results);
        let document = document.map_err(|error| Failed::new(Code::Internal, error))?;
        if let Some(path) = &self.json {
            write(path, &document)?;
        }
        if let Some(path) = &self.html {
            write(path, &html::page(results))?;
        }
        if ![&self.json, &self.html].into_iter().flatten().any(|path| is_output(path)) {
            print::line(text::tables(results).trim_end());
        }
        Ok(())
    }

    /// The exit code, and on standard error why it is not 0.
    fn verdict(&self, results: &Results) -> Code {
        let mut code = Code::Ok;
        for gate in &self.fail_if {
            if let Some(why) = gate.fails(results) {
                print::error(&format!("failed: {why}"));
                code = Code::ConditionFailed;
            }
        }
        for row in &results.rows {
            let place = row.place();
            match (row.verdict, row.known_bad) {
                (Verdict::Void, false) => {
                    print::error(&format!("void: {place}: {}", row.reasons.join("; ")));
                    code = Code::VerificationFailed;
                }
                _ if has_escaped(row) => {
                    print::error(&format!("{place} is known to be bad and was not found out"));
                    code = Code::VerificationFailed;
                }
                _ => {}
            }
        }
        if code == Code::Ok && results.interrupted { Code::Interrupted } else { code }
    }
}

/// Writes a text into a file, or prints it where `-` is the file.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Failed> {
    if is_output(path) {
        print::line(text.trim_end());
        return Ok(());
    }
    fs::write(path, text).map_err(|error| unwritten(path, &error))
}

/// Refuses a path at which no file can be written; what a file holds stays.
fn is_writable(path: &Path) -> Result<(), Failed> {
    if is_output(path) {
        return Ok(());
    }
    let opened = fs::OpenOptions::new().create(true).append(true).open(path);
    opened.map(drop).map_err(|error| unwritten(path, &error))
}

fn unwritten(path: &Path, error: &io::Error) -> Failed {
    let what = format!("the results cannot be written: {error}");
    let hint = "name a file in a folder that exists and may be written, or `-` for standard output";
    Failed::with_hint(Code::Unwritten, &what, &path.display().to_string(), hint)
}

fn is_output(path: &Path) -> bool {
    path == Path::new("-")
}

pub(crate) fn progress() -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    bar
}

/// Ctrl-C, or an end that somebody else wishes, keeps what was measured.
pub(crate) fn raise_on_interrupt(stop: Arc<AtomicBool>) -> Result<(), Failed> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let mut interrupt = {
        let _inside = runtime.enter();
        Interrupt::new()?
    };
    thread::spawn(move || {
        runtime.block_on(interrupt.recv());
        stop.store(true, Ordering::Relaxed);
    });
    Ok(())
}
