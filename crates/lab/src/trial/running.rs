//! A program of a trial while it runs.

use std::time::{Duration, Instant};

use crate::process::namespace::NetworkNamespace;
use crate::process::program::{Program, ProgramFault};
use crate::process::tree::ProcessTree;
use crate::results::cpu_by_side::SideName;
use crate::trial::TrialError;
use crate::trial::deadlines::{CONTRACT, Deadlines};
use crate::trial::programs::ProgramSpec;

/// A program of a trial, and what is read of it.
pub(super) struct RunningProgram {
    pub(super) title: String,
    pub(super) side: Option<SideName>,
    pub(super) process: Program,
    pub(super) tree: ProcessTree,
    pub(super) measured: bool,
    pub(super) stops_clock: bool,
    accounts: usize,
    memory_max: u64,
    pub(super) account: Option<(String, Instant)>,
    pub(super) afterword: Option<String>,
}

impl RunningProgram {
    pub(super) fn start(
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
        let mut process = Program::start(command, &orders).map_err(broke)?;
        // Ours may be waiting for a participant that does not answer.
        let within = if measured { deadlines.ready } else { CONTRACT.ready };
        let port = process.ready(within, listens).map_err(broke)?;
        let tree = ProcessTree::marked(process.pid(), process.mark());
        let (account, afterword) = (None, None);
        let running = RunningProgram {
            title,
            side,
            process,
            tree,
            measured,
            stops_clock,
            accounts,
            memory_max,
            account,
            afterword,
        };
        Ok((running, port.unwrap_or(0)))
    }

    /// Only processes that were reaped count, so a process that was not waited for is not included.
    pub(super) fn cpu_after_the_clock(&self) -> f64 {
        let whole = self.process.cpu_seconds().unwrap_or(0.0);
        (whole - self.tree.spent_before() - self.tree.spent()).max(0.0)
    }

    pub(super) fn broke(&self, fault: ProgramFault) -> TrialError {
        TrialError::Broke { title: self.title.clone(), fault, ours: !self.measured }
    }

    pub(super) fn check_memory(&self) -> Result<(), TrialError> {
        let held = self.tree.peak_rss_bytes();
        if held <= self.memory_max || !self.measured {
            return Ok(());
        }
        Err(self.broke(ProgramFault::TooMuchMemory(held >> 20, self.memory_max >> 20)))
    }

    pub(super) fn poll_output(&mut self, wait: Duration) -> Result<(), TrialError> {
        if self.account.is_some() && !self.owes_account() {
            return Ok(());
        }
        let said = self.process.account(wait).map_err(|fault| self.broke(fault))?;
        let Some((line, at)) = said else { return Ok(()) };
        match self.account {
            _ if self.accounts == 0 => return Err(self.broke(ProgramFault::Rubbish(line))),
            None => self.account = Some((line, at)),
            Some(_) => self.afterword = Some(line),
        }
        Ok(())
    }

    /// True when the program has not given all its accounts.
    pub(super) fn owes_account(&self) -> bool {
        let given = usize::from(self.account.is_some()) + usize::from(self.afterword.is_some());
        given < self.accounts
    }
}
