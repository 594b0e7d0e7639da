//! A peer beside those that are measured: it is well, or it is slow, or the lab kills it again and
//! again and starts another in its place.
//!
//! It is a program of the participant, for it speaks the participant's wire, but what it costs
//! stands in no figure. The lab ends it by SIGKILL, as a crash would: nothing is closed in order.

use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::process::namespace::NetworkNamespace;
use crate::process::program::{Program, ProgramFault};
use crate::process::tree::spent_by;
use crate::trial::{Deadlines, TrialError};

/// The end is looked for so often while one is not READY.
const LOOK: Duration = Duration::from_millis(20);

/// A bystander to start, when the port is known.
pub struct BystanderSpec {
    /// The participant and the role, for reasons.
    pub title: String,
    /// How.
    pub command: Command,
    /// Its environment.
    pub orders: Vec<(&'static str, String)>,
    /// The time from READY until it is killed and followed by another; `None`: it lives until the
    /// end.
    pub life: Option<Duration>,
}

/// How often a bystander was killed, and its cost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lives {
    /// Times that it was killed while the clock ran.
    pub(super) deaths: usize,
    /// Processor time from GO on.
    pub(super) cpu_seconds: f64,
}

/// A bystander that runs, and the thread that looks after it. Dropping it ends both.
pub(super) struct Bystander {
    /// First GO, then the end.
    orders: Option<Sender<()>>,
    keeper: Option<JoinHandle<Result<Lives, TrialError>>>,
}

impl Bystander {
    /// Starts the first one; returns when it is READY.
    pub(super) fn start(
        mut spec: BystanderSpec,
        stage: Option<&NetworkNamespace>,
        port: u16,
        deadlines: Deadlines,
    ) -> Result<Bystander, TrialError> {
        spec.orders.push(("PORT", port.to_string()));
        if let Some(stage) = stage {
            spec.command = stage.enter(&spec.command);
        }
        let (orders, ordered) = channel();
        let mut keeper = Keeper { spec, within: deadlines.ready, ordered, is_over: false };
        let first = keeper.next()?;
        let keeper = thread::spawn(move || keeper.keep(first));
        Ok(Bystander { orders: Some(orders), keeper: Some(keeper) })
    }

    /// The clock starts.
    pub(super) fn go(&self) {
        // A thread that has ended says why at the end.
        let _ = self.orders.as_ref().map(|orders| orders.send(()));
    }

    /// Kills the last one, when it was READY.
    pub(super) fn end(mut self) -> Result<Lives, TrialError> {
        self.go();
        let ended = self.keeper.take().map(JoinHandle::join);
        ended.and_then(Result::ok).unwrap_or(Err(TrialError::Stopped))
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(keeper) = self.keeper.take() {
            // The first error is known already.
            let _ = keeper.join();
        }
    }
}

/// Starts bystanders and kills them.
struct Keeper {
    spec: BystanderSpec,
    within: Duration,
    ordered: Receiver<()>,
    /// The end was ordered.
    is_over: bool,
}

impl Keeper {
    /// The next one. It says READY when it has received something, so a peer that returned is
    /// served again.
    fn next(&mut self) -> Result<Program, TrialError> {
        let template = &self.spec.command;
        let mut command = Command::new(template.get_program());
        command.args(template.get_args());
        if let Some(folder) = template.get_current_dir() {
            command.current_dir(folder);
        }
        let started = Program::start(command, &self.spec.orders);
        let mut program = started.map_err(|fault| self.broke(fault))?;
        let begun = Instant::now();
        loop {
            match program.ready(LOOK, false) {
                Ok(_) => return Ok(program),
                Err(ProgramFault::NotReady(_)) if begun.elapsed() < self.within => {}
                Err(ProgramFault::NotReady(_)) => {
                    return Err(self.broke(ProgramFault::NotReady(self.within)));
                }
                Err(fault) => return Err(self.broke(fault)),
            }
            match self.ordered.try_recv() {
                Ok(()) => self.is_over = true,
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return Err(TrialError::Stopped),
            }
        }
    }

    fn broke(&self, fault: ProgramFault) -> TrialError {
        TrialError::Broke { title: self.spec.title.clone(), fault, ours: false }
    }

    fn keep(&mut self, mut program: Program) -> Result<Lives, TrialError> {
        let mut lives = Lives::default();
        self.ordered.recv().map_err(|_| TrialError::Stopped)?;
        let before = spent_by(program.pid()).unwrap_or(0.0);
        loop {
            self.live()?;
            program.kill().map_err(|fault| self.broke(fault))?;
            lives.cpu_seconds += program.cpu_seconds().unwrap_or(0.0);
            if self.is_over {
                lives.cpu_seconds = (lives.cpu_seconds - before).max(0.0);
                return Ok(lives);
            }
            lives.deaths += 1;
            program = self.next()?;
        }
    }

    /// Waits until the present one is to be killed.
    fn live(&mut self) -> Result<(), TrialError> {
        if self.is_over {
            return Ok(());
        }
        let ended = match self.spec.life {
            Some(life) => self.ordered.recv_timeout(life),
            None => self.ordered.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match ended {
            Ok(()) => self.is_over = true,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(TrialError::Stopped),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::QUICK;

    fn bystander(script: &str, life: Option<Duration>) -> Result<Bystander, TrialError> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let (title, orders) = ("it".to_owned(), Vec::new());
        Bystander::start(BystanderSpec { title, command, orders, life }, None, 7, QUICK)
    }

    fn reason<T>(outcome: Result<T, TrialError>) -> String {
        match outcome {
            Err(TrialError::Broke { fault, .. }) => fault.to_string(),
            _ => panic!("it broke nothing"),
        }
    }

    /// Each one writes a line into a file, of which the test waits for the fourth.
    #[test]
    fn one_that_is_killed_is_followed_by_another() {
        let file = std::env::temp_dir().join(format!("wigwag-lives-{}", std::process::id()));
        let script = format!("echo $PORT >> {}; echo READY; read end", file.display());
        let it = bystander(&script, Some(Duration::from_millis(1))).unwrap();
        let lines = || std::fs::read_to_string(&file).unwrap_or_default().lines().count();
        assert_eq!(lines(), 1, "it lives until GO");
        it.go();
        while lines() < 4 {
            thread::yield_now();
        }
        let lives = it.end().unwrap();
        assert!(lives.deaths >= 3 && lives.deaths <= lines(), "{lives:?}");
        assert!(std::fs::read_to_string(&file).unwrap().lines().all(|port| port == "7"));
        std::fs::remove_file(file).unwrap();
    }

    #[test]
    fn one_that_nobody_kills_lives_until_the_end() {
        let it = bystander("echo READY; read end", None).unwrap();
        it.go();
        assert_eq!(it.end().unwrap().deaths, 0);
    }

    #[test]
    fn one_that_is_not_served_or_ends_by_itself_is_a_fault() {
        assert!(reason(bystander("exit 3", None)).contains("ended before its work was done"));
        let file = std::env::temp_dir().join(format!("wigwag-ended-{}", std::process::id()));
        let script = format!("echo $$ > {}; echo READY; exit 4", file.display());
        let it = bystander(&script, None).unwrap();
        let pid = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(file).unwrap();
        while !has_ended(pid.trim()) {
            thread::yield_now();
        }
        it.go();
        let why = reason(it.end());
        assert!(why.contains("ended before its work was done"), "{why}");
    }

    /// True if the process is gone, or waits for its parent to reap it.
    fn has_ended(pid: &str) -> bool {
        match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
            Ok(stat) => stat.rsplit(") ").next().is_some_and(|state| state.starts_with('Z')),
            Err(_) => true,
        }
    }
}
