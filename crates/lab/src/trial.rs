//! One measurement: fresh processes, one GO, the accounts, and the costs.

pub mod relay_program;
pub mod bystander;
pub mod transport;

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::process::certificates::Certificates;
use crate::process::namespace::NetworkNamespace;
use crate::process::program::{Program, ProgramFault};
use crate::process::socket_file::SocketFile;
use crate::process::timeline::WireTimeline;
use crate::process::tree::{Cost, MachineCpu, ProcessTree, own_seconds};
use crate::relay::RelayAccount;
use crate::results::Side;
use crate::results::cpu_by_side::SideName;
use crate::trial::bystander::{Bystander, BystanderSpec, Lives};
use crate::trial::relay_program::RelayProgram;

/// Processes are looked at so often.
const SAMPLE_EVERY: Duration = Duration::from_millis(50);

/// The time limits of a program: those of the contract, or shorter ones for a quick run.
#[derive(Clone, Copy, Debug)]
pub struct Deadlines {
    /// Until READY.
    pub ready: Duration,
    /// From GO to the last account.
    pub work: Duration,
    /// Without anything on the wire, where that is counted.
    pub silence: Duration,
    /// From the account, or from SIGTERM, to the end.
    pub end: Duration,
    /// Time that the lab's own clients grant a server for each answer.
    pub answer: Duration,
}

/// Resident memory that each side may hold: what a small container has.
pub const MEMORY_MAX: u64 = 1 << 30;

/// Memory that it may hold where a million actors live at once: 8 KiB each.
pub const MEMORY_MAX_MANY: u64 = 8 << 30;

/// The deadlines of the contract.
pub const CONTRACT: Deadlines = deadlines(20, 30, 5, 3_000);

/// The deadlines of a quick run, which knows its participants and must end soon: its windows are a
/// quarter of a second. The lab's own programs wait for others and have the contract's time.
pub const QUICK: Deadlines = deadlines(2, 4, 2, 1_500);

const fn deadlines(ready: u64, work: u64, end: u64, answer_ms: u64) -> Deadlines {
    Deadlines {
        ready: Duration::from_secs(ready),
        work: Duration::from_secs(work),
        silence: Duration::from_secs(30),
        end: Duration::from_secs(end),
        answer: Duration::from_millis(answer_ms),
    }
}

/// A program to start.
pub struct ProgramSpec {
    /// The participant and the role, for reasons: `go, its server`.
    pub title: String,
    /// Its side, if it is one.
    pub side: Option<SideName>,
    /// How.
    pub command: Command,
    /// Its environment.
    pub orders: Vec<(&'static str, String)>,
    /// Whether it belongs to the participant that is measured, and not to the lab.
    pub measured: bool,
    /// The clock stops when its account has been read.
    pub stops_clock: bool,
    /// Accounts that it gives: a server may have none to give, the lab's own client a second one
    /// when the clock has stopped.
    pub accounts: usize,
    /// Resident memory that it may hold, in bytes.
    pub memory_max: u64,
}

/// The programs that are started together. The worker gets the server's port.
pub struct TrialPrograms {
    /// The program that listens.
    pub server: Option<ProgramSpec>,
    /// The program that ends by itself, and gets GO unless the server does.
    pub worker: ProgramSpec,
    /// Whether the server gets GO: it listens, but it is the one that sends.
    pub server_begins: bool,
    /// Whether the programs have a network of their own, whose bytes are counted.
    pub staged: bool,
    /// The relay between them, if there is one; the worker gets its port instead of the server's.
    pub relay: Option<relay_program::RelaySpec>,
    /// A peer of the server beside the worker.
    pub bystander: Option<BystanderSpec>,
    /// The files that the programs need.
    pub files: TrialFiles,
}

/// Files that are removed when all programs have ended.
#[derive(Default)]
pub struct TrialFiles {
    /// The one that the server listens at, if it listens at one.
    pub socket: Option<SocketFile>,
    /// The certificates of TLS, which are made before the programs are started.
    pub certificates: Option<Certificates>,
}

impl TrialFiles {
    fn create(&self) -> Result<(), TrialError> {
        let Some(certificates) = &self.certificates else { return Ok(()) };
        certificates.create().map_err(|error| TrialError::Broke {
            title: "the lab's certificates".to_owned(),
            fault: ProgramFault::CannotStart(error.to_string()),
            ours: true,
        })
    }
}

impl TrialPrograms {
    /// One program alone.
    pub fn of(worker: ProgramSpec) -> TrialPrograms {
        TrialPrograms {
            server: None,
            worker,
            server_begins: false,
            staged: false,
            relay: None,
            bystander: None,
            files: TrialFiles::default(),
        }
    }
}

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

/// A program of a trial, and what is read of it.
struct RunningProgram {
    title: String,
    side: Option<SideName>,
    program: Program,
    tree: ProcessTree,
    measured: bool,
    stops_clock: bool,
    accounts: usize,
    memory_max: u64,
    account: Option<(String, Instant)>,
    afterword: Option<String>,
}

impl RunningProgram {
    fn start(
        launch: ProgramSpec,
        stage: Option<&NetworkNamespace>,
        deadlines: Deadlines,
        listens: bool,
    ) -> Result<(Self, u16), TrialError> {
        let ProgramSpec {
            title,
            side,
            command,
            orders,
            measured,
            stops_clock,
            accounts,
            memory_max,
        } = launch;
        let broke = |fault| TrialError::Broke { title: title.clone(), fault, ours: !measured };
        let command = match stage {
            Some(stage) => stage.enter(&command),
            None => command,
        };
        let mut program = Program::start(command, &orders).map_err(broke)?;
        // Ours may be waiting for a participant that does not answer.
        let within = if measured { deadlines.ready } else { CONTRACT.ready };
        let port = program.ready(within, listens).map_err(broke)?;
        let tree = ProcessTree::marked(program.pid(), program.mark());
        let (account, afterword) = (None, None);
        let player = RunningProgram {
            title,
            side,
            program,
            tree,
            measured,
            stops_clock,
            accounts,
            memory_max,
            account,
            afterword,
        };
        Ok((player, port.unwrap_or(0)))
    }

    /// Only processes that were reaped count, so a process that was not waited for is not included.
    fn cpu_after_the_clock(&self) -> f64 {
        let whole = self.program.cpu_seconds().unwrap_or(0.0);
        (whole - self.tree.spent_before() - self.tree.spent()).max(0.0)
    }

    fn broke(&self, fault: ProgramFault) -> TrialError {
        TrialError::Broke { title: self.title.clone(), fault, ours: !self.measured }
    }

    fn check_memory(&self) -> Result<(), TrialError> {
        let held = self.tree.peak_rss_bytes();
        if held <= self.memory_max || !self.measured {
            return Ok(());
        }
        Err(self.broke(ProgramFault::TooMuchMemory(held >> 20, self.memory_max >> 20)))
    }

    fn poll_output(&mut self, wait: Duration) -> Result<(), TrialError> {
        if self.account.is_some() && !self.owes_account() {
            return Ok(());
        }
        let said = self.program.account(wait).map_err(|fault| self.broke(fault))?;
        let Some((line, at)) = said else { return Ok(()) };
        match self.account {
            _ if self.accounts == 0 => return Err(self.broke(ProgramFault::Rubbish(line))),
            None => self.account = Some((line, at)),
            Some(_) => self.afterword = Some(line),
        }
        Ok(())
    }

    /// True when the program has not given all its accounts.
    fn owes_account(&self) -> bool {
        let given = usize::from(self.account.is_some()) + usize::from(self.afterword.is_some());
        given < self.accounts
    }
}

/// Starts the cast, lets it work, and reads what came of it. Nothing runs any more afterwards.
pub fn run_trial(
    cast: TrialPrograms,
    deadlines: Deadlines,
    stop: &AtomicBool,
) -> Result<Outcome, TrialError> {
    let TrialPrograms { server, mut worker, staged, relay: between, files, .. } = cast;
    files.create()?;
    let (stage, unstaged) = match staged.then(NetworkNamespace::open).transpose() {
        Ok(stage) => (stage, None),
        Err(why) => (None, Some(why)),
    };
    let (mut players, mut relay, mut listens_at) = (Vec::new(), None, 0);
    if let Some(server) = server {
        let (player, mut port) = RunningProgram::start(server, stage.as_ref(), deadlines, true)?;
        if let Some(between) = between {
            let (relaying, instead) = RelayProgram::start(&between, stage.as_ref(), port)?;
            (relay, port) = (Some(relaying), instead);
        }
        worker.orders.push(("PORT", port.to_string()));
        listens_at = port;
        players.push(player);
    }
    let (player, _) = RunningProgram::start(worker, stage.as_ref(), deadlines, false)?;
    players.push(player);
    let dies = cast.bystander.as_ref().is_some_and(|spec| spec.life.is_some());
    let start = |spec| Bystander::start(spec, stage.as_ref(), listens_at, deadlines);
    let bystander = cast.bystander.map(start).transpose()?;
    let machine = MachineCpu::now();
    let own = own_seconds();
    for player in &mut players {
        player.tree.begin();
    }
    relay.as_mut().map_or(Ok(()), RelayProgram::go)?;
    let mut wire = stage.as_ref().map(Wire::new);
    let first = if cast.server_begins { 0 } else { players.len() - 1 };
    let began = match players.get_mut(first) {
        Some(player) => player.program.go().map_err(|fault| player.broke(fault))?,
        None => return Err(TrialError::Stopped),
    };
    bystander.iter().for_each(Bystander::go);
    work(&mut players, began, deadlines, wire.as_mut(), stop)?;
    let mut outcome = read(&mut players, began);
    outcome.wire = match (wire, unstaged) {
        (Some(wire), _) => Some(Ok(wire.timeline)),
        (None, why) => why.map(Err),
    };
    let lives = bystander.map_or(Ok(Lives::default()), Bystander::end)?;
    outcome.deaths = dies.then_some(lives.deaths);
    let beside = relay.as_mut().map_or(0.0, RelayProgram::spent) + lives.cpu_seconds;
    let spent = players.iter().map(|player| player.tree.spent()).sum::<f64>() + beside;
    let own = own_seconds() - own;
    outcome.foreign_cpu_share = machine.foreign_share(&MachineCpu::now(), spent + own);
    outcome.relay = end(&mut players, relay, (began, deadlines), stop)?;
    let measured = players.iter().filter(|it| it.measured);
    outcome.after_cpu_seconds = measured.map(RunningProgram::cpu_after_the_clock).sum();
    let afterword = players.last_mut().and_then(|worker| worker.afterword.take());
    outcome.afterword = afterword.unwrap_or_default();
    let mut accounts = players.iter_mut().filter_map(|player| player.account.take());
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

/// Until every program that stops the clock has given its account.
fn work(
    players: &mut [RunningProgram],
    began: Instant,
    deadlines: Deadlines,
    mut wire: Option<&mut Wire<'_>>,
    stop: &AtomicBool,
) -> Result<(), TrialError> {
    let mut sampled = began;
    loop {
        let waiting = players.iter_mut().filter(|it| it.stops_clock && it.account.is_none());
        let Some(player) = waiting.last() else {
            wire.into_iter().for_each(Wire::look);
            return Ok(());
        };
        if stop.load(Ordering::Relaxed) {
            return Err(TrialError::Stopped);
        }
        if began.elapsed() > deadlines.work {
            return Err(player.broke(ProgramFault::NoAccount(deadlines.work)));
        }
        let silent = wire.as_ref().map(|wire| wire.timeline.silent_for(Instant::now()));
        if silent.is_some_and(|silent| silent > deadlines.silence) {
            return Err(player.broke(ProgramFault::NoProgress(deadlines.silence)));
        }
        player.poll_output(SAMPLE_EVERY.saturating_sub(sampled.elapsed()))?;
        if sampled.elapsed() >= SAMPLE_EVERY {
            sampled = Instant::now();
            wire.iter_mut().for_each(|wire| wire.look());
            // A program that is not waited for may have ended in the middle.
            for player in players.iter_mut() {
                player.poll_output(Duration::ZERO)?;
                player.tree.sample();
                player.check_memory()?;
            }
        }
    }
}

fn read(players: &mut [RunningProgram], began: Instant) -> Outcome {
    let mut outcome = Outcome { programs: players.len(), ..Outcome::default() };
    for player in players {
        let mut cost = player.tree.end();
        if player.measured {
            let side = outcome.sides.len();
            cost.threads.iter_mut().for_each(|thread| thread.side = Some(side));
            outcome.sides.push(Side {
                program: player.title.clone(),
                side: player.side,
                cpu_seconds: cost.cpu_seconds,
                peak_rss_bytes: cost.peak_rss_bytes,
            });
            outcome.before_cpu_seconds += player.tree.spent_before();
            outcome.hidden += player.tree.hidden();
            outcome.cost = std::mem::take(&mut outcome.cost).with(cost);
        } else {
            outcome.witness_cpu_seconds += cost.cpu_seconds;
        }
        if let (true, Some((_, at))) = (player.stops_clock, &player.account) {
            outcome.seconds = outcome.seconds.max(at.duration_since(began).as_secs_f64());
        }
    }
    outcome
}

/// The other accounts, and the end of everybody: first the worker, then what lies between, whose
/// account is given back, then the server.
fn end(
    players: &mut [RunningProgram],
    mut relay: Option<RelayProgram>,
    (began, deadlines): (Instant, Deadlines),
    stop: &AtomicBool,
) -> Result<Option<RelayAccount>, TrialError> {
    let listens = players.len() > 1;
    let mut relayed = None;
    for (index, player) in players.iter_mut().enumerate().rev() {
        while player.owes_account() {
            if stop.load(Ordering::Relaxed) {
                return Err(TrialError::Stopped);
            }
            let within =
                if player.measured { deadlines.work } else { deadlines.work.max(CONTRACT.work) };
            if began.elapsed() > within {
                return Err(player.broke(ProgramFault::NoAccount(within)));
            }
            player.poll_output(SAMPLE_EVERY)?;
        }
        let ended = match listens && index == 0 {
            true => player.program.stop(deadlines.end),
            false => player.program.expect_exit(deadlines.end),
        };
        ended.map_err(|fault| player.broke(fault))?;
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
