//! One measurement: fresh processes, one GO, the accounts, and the costs.

mod deadlines;
mod programs;
mod running;
pub mod relay_program;
pub mod bystander;
pub mod transport;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::process::machine_cpu::MachineCpu;
use crate::process::namespace::NetworkNamespace;
use crate::process::program::ProgramFault;
use crate::process::timeline::WireTimeline;
use crate::process::tree::{Cost, own_seconds};
use crate::relay::RelayAccount;
use crate::results::Side;
use crate::trial::bystander::{Bystander, Lives};
use crate::trial::relay_program::RelayProgram;
use crate::trial::running::RunningProgram;

pub use deadlines::{CONTRACT, Deadlines, QUICK};
pub use programs::{MEMORY_MAX, MEMORY_MAX_MANY, ProgramSpec, TrialFiles, TrialPrograms};

/// The time from one sample of the processes to the next.
const SAMPLE_EVERY: Duration = Duration::from_millis(50);

/// The outcome of a trial.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The time from GO to the account of the receiver.
    pub seconds: f64,
    /// The server's account.
    pub server: String,
    /// The worker's account.
    pub worker: String,
    /// The second account of the worker, if it gives two.
    pub afterword: String,
    /// The cost of the measured programs.
    pub cost: Cost,
    /// Processor time of the measured programs before GO.
    pub before_cpu_seconds: f64,
    /// And after the clock stopped, until they had ended.
    pub after_cpu_seconds: f64,
    /// Measured processes that had left their group and whose parents had gone.
    pub hidden: usize,
    /// Processor time of the lab's own counterpart.
    pub witness_cpu_seconds: f64,
    /// Processor time of everything else, as a share of what there was.
    pub foreign_cpu_share: f64,
    /// The cost of each measured program.
    pub sides: Vec<Side>,
    /// Programs that ran, with the lab's own counterpart and without those beside the two.
    pub programs: usize,
    /// Bytes on the wire, or why they were not counted; `None` where they are not asked for.
    pub wire: Option<Result<WireTimeline, String>>,
    /// The account of a relay between them.
    pub relay: Option<RelayAccount>,
    /// Times that a bystander was killed, if that is its part.
    pub deaths: Option<usize>,
}

/// The reason why a trial has no outcome.
#[derive(Clone, Debug)]
pub enum TrialError {
    /// The run was asked to stop.
    Stopped,
    /// A program broke the contract.
    Broke {
        /// The program.
        title: String,
        /// How.
        fault: ProgramFault,
        /// Whether it is the lab's own, so that the participant may be innocent.
        ours: bool,
    },
}

/// Runs the programs of a trial to their ends. No process of them is left afterwards, unless it has hidden.
pub fn run_trial(
    trial: TrialPrograms,
    deadlines: Deadlines,
    stop: &AtomicBool,
) -> Result<Outcome, TrialError> {
    let TrialPrograms { server, mut worker, staged, relay: between, files, .. } = trial;
    files.create()?;
    let (stage, unstaged) = match staged.then(NetworkNamespace::open).transpose() {
        Ok(stage) => (stage, None),
        Err(why) => (None, Some(why)),
    };
    let (mut programs, mut relay, mut listens_at) = (Vec::new(), None, 0);
    if let Some(server) = server {
        let (program, mut port) = RunningProgram::start(server, stage.as_ref(), deadlines, true)?;
        if let Some(between) = between {
            let (relaying, instead) = RelayProgram::start(&between, stage.as_ref(), port)?;
            (relay, port) = (Some(relaying), instead);
        }
        worker.orders.push(("PORT", port.to_string()));
        listens_at = port;
        programs.push(program);
    }
    let (program, _) = RunningProgram::start(worker, stage.as_ref(), deadlines, false)?;
    programs.push(program);
    let dies = trial.bystander.as_ref().is_some_and(|spec| spec.life.is_some());
    let start = |spec| Bystander::start(spec, stage.as_ref(), listens_at, deadlines);
    let bystander = trial.bystander.map(start).transpose()?;
    let machine = MachineCpu::now();
    let own = own_seconds();
    for program in &mut programs {
        program.tree.begin();
    }
    relay.as_mut().map_or(Ok(()), RelayProgram::go)?;
    let mut wire = stage.as_ref().map(Wire::new);
    let first = if trial.server_begins { 0 } else { programs.len() - 1 };
    let began = match programs.get_mut(first) {
        Some(program) => program.process.go().map_err(|fault| program.broke(fault))?,
        None => return Err(TrialError::Stopped),
    };
    bystander.iter().for_each(Bystander::go);
    work(&mut programs, began, deadlines, wire.as_mut(), stop)?;
    let mut outcome = read(&mut programs, began);
    outcome.wire = match (wire, unstaged) {
        (Some(wire), _) => Some(Ok(wire.timeline)),
        (None, why) => why.map(Err),
    };
    let lives = bystander.map_or(Ok(Lives::default()), Bystander::end)?;
    outcome.deaths = dies.then_some(lives.deaths);
    let beside = relay.as_mut().map_or(0.0, RelayProgram::spent) + lives.cpu_seconds;
    let spent = programs.iter().map(|program| program.tree.spent()).sum::<f64>() + beside;
    let own = own_seconds() - own;
    outcome.foreign_cpu_share = machine.foreign_share(&MachineCpu::now(), spent + own);
    outcome.relay = end(&mut programs, relay, (began, deadlines), stop)?;
    let measured = programs.iter().filter(|it| it.measured);
    outcome.after_cpu_seconds = measured.map(RunningProgram::cpu_after_the_clock).sum();
    let afterword = programs.last_mut().and_then(|worker| worker.afterword.take());
    outcome.afterword = afterword.unwrap_or_default();
    let mut accounts = programs.iter_mut().filter_map(|program| program.account.take());
    // The worker stands last, behind the server if there is one.
    outcome.worker = accounts.next_back().map(|(account, _)| account).unwrap_or_default();
    outcome.server = accounts.next_back().map(|(account, _)| account).unwrap_or_default();
    Ok(outcome)
}

/// The wire of a trial, which is looked at from its beginning.
struct Wire<'a> {
    stage: &'a NetworkNamespace,
    before: u64,
    timeline: WireTimeline,
}

impl<'a> Wire<'a> {
    fn new(stage: &'a NetworkNamespace) -> Wire<'a> {
        let before = stage.bytes().unwrap_or(0);
        Wire { stage, before, timeline: WireTimeline::new(Instant::now()) }
    }

    fn look(&mut self) {
        let bytes = self.stage.bytes().unwrap_or(self.before);
        self.timeline.take(Instant::now(), bytes.saturating_sub(self.before));
    }
}

/// Waits until every program that stops the clock has given its account.
fn work(
    programs: &mut [RunningProgram],
    began: Instant,
    deadlines: Deadlines,
    mut wire: Option<&mut Wire<'_>>,
    stop: &AtomicBool,
) -> Result<(), TrialError> {
    let mut sampled = began;
    loop {
        let waiting = programs.iter_mut().filter(|it| it.stops_clock && it.account.is_none());
        let Some(program) = waiting.last() else {
            wire.into_iter().for_each(Wire::look);
            return Ok(());
        };
        if stop.load(Ordering::Relaxed) {
            return Err(TrialError::Stopped);
        }
        if began.elapsed() > deadlines.work {
            return Err(program.broke(ProgramFault::NoAccount(deadlines.work)));
        }
        let silent = wire.as_ref().map(|wire| wire.timeline.silent_for(Instant::now()));
        if silent.is_some_and(|silent| silent > deadlines.silence) {
            return Err(program.broke(ProgramFault::NoProgress(deadlines.silence)));
        }
        program.poll_output(SAMPLE_EVERY.saturating_sub(sampled.elapsed()))?;
        if sampled.elapsed() >= SAMPLE_EVERY {
            sampled = Instant::now();
            wire.iter_mut().for_each(|wire| wire.look());
            // A program that is not waited for may have ended in the middle.
            for program in programs.iter_mut() {
                program.poll_output(Duration::ZERO)?;
                program.tree.sample();
                program.check_memory()?;
            }
        }
    }
}

/// Reads the costs of the programs up to now, and when the clock stopped.
fn read(programs: &mut [RunningProgram], began: Instant) -> Outcome {
    let mut outcome = Outcome { programs: programs.len(), ..Outcome::default() };
    for program in programs {
        let mut cost = program.tree.end();
        if program.measured {
            let side = outcome.sides.len();
            cost.threads.iter_mut().for_each(|thread| thread.side = Some(side));
            outcome.sides.push(Side {
                program: program.title.clone(),
                side: program.side,
                cpu_seconds: cost.cpu_seconds,
                peak_rss_bytes: cost.peak_rss_bytes,
            });
            outcome.before_cpu_seconds += program.tree.spent_before();
            outcome.hidden += program.tree.hidden();
            outcome.cost = std::mem::take(&mut outcome.cost).with(cost);
        } else {
            outcome.witness_cpu_seconds += cost.cpu_seconds;
        }
        if let (true, Some((_, at))) = (program.stops_clock, &program.account) {
            outcome.seconds = outcome.seconds.max(at.duration_since(began).as_secs_f64());
        }
    }
    outcome
}

/// Waits for the other accounts and ends the programs: first the worker, then the relay, whose
/// account is returned, then the server.
fn end(
    programs: &mut [RunningProgram],
    mut relay: Option<RelayProgram>,
    (began, deadlines): (Instant, Deadlines),
    stop: &AtomicBool,
) -> Result<Option<RelayAccount>, TrialError> {
    let listens = programs.len() > 1;
    let mut relayed = None;
    for (index, program) in programs.iter_mut().enumerate().rev() {
        while program.owes_account() {
            if stop.load(Ordering::Relaxed) {
                return Err(TrialError::Stopped);
            }
            let within =
                if program.measured { deadlines.work } else { deadlines.work.max(CONTRACT.work) };
            if began.elapsed() > within {
                return Err(program.broke(ProgramFault::NoAccount(within)));
            }
            program.poll_output(SAMPLE_EVERY)?;
        }
        let ended = match listens && index == 0 {
            true => program.process.stop(deadlines.end),
            false => program.process.expect_exit(deadlines.end),
        };
        ended.map_err(|fault| program.broke(fault))?;
        if let Some(relay) = relay.take() {
            relayed = Some(relay.end(CONTRACT.end)?);
        }
    }
    Ok(relayed)
}

impl Cost {
    /// Both together.
    pub fn with(mut self, other: Cost) -> Cost {
        self.cpu_seconds += other.cpu_seconds;
        self.peak_rss_bytes += other.peak_rss_bytes;
        // Of two programs, the growth of the one that listens counts.
        self.grown_bytes = self.grown_bytes.or(other.grown_bytes);
        self.threads_max += other.threads_max;
        self.switches += other.switches;
        self.threads.extend(other.threads);
        // Both were looked at as often, but may have ended on either side of a crumb.
        if self.moments.is_empty() || other.moments.len() < self.moments.len() {
            self.moments = other.moments;
        }
        let stretches = self.moments.len();
        self.threads.iter_mut().for_each(|thread| thread.over_time.truncate(stretches));
        self.threads.sort_by(|a, b| b.cpu_seconds.total_cmp(&a.cpu_seconds));
        self
    }
}

#[cfg(test)]
mod tests;
