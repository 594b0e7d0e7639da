//! The relay of a trial from the lab's side: a program of its own between client and server.
//!
//! It belongs to no participant. Its processor time stands beside the row, and counts neither for
//! the participant nor as a disturbance.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::process::namespace::NetworkNamespace;
use crate::process::program::{Program, ProgramFault};
use crate::process::tree::ProcessTree;
use crate::relay::{RelayAccount, RelayPlan};
use crate::trial::{CONTRACT, TrialError};

/// The name under which the lab's own program plays it.
pub const NAME: &str = "relay";
/// The role that it plays.
pub const ROLE: &str = "remote.relay";
/// The order with the delay; the server's port is `PORT`, as for a client.
pub const DELAY_US: &str = "DELAY_US";
/// Bytes between two cuts.
pub const CUT_BYTES: &str = "CUT_BYTES";
/// Cuts at most.
pub const CUTS: &str = "CUTS";
/// The line after which it gives its account and ends.
pub const END: &str = "END";

/// A relay to start, when the server's port is known.
pub struct RelaySpec {
    /// How.
    pub command: Command,
    /// Its orders; the server is not known yet.
    pub plan: RelayPlan,
}

impl RelaySpec {
    /// By the program that has the lab's own counterparts.
    pub fn new(program: &Path, plan: RelayPlan) -> RelaySpec {
        let mut command = Command::new(program);
        command.args(["lab-participant", NAME, ROLE]);
        RelaySpec { command, plan }
    }
}

/// A relay that runs.
pub(super) struct RelayProgram {
    program: Program,
    tree: ProcessTree,
}

impl RelayProgram {
    /// Starts the relay; returns the port for clients.
    pub(super) fn start(
        launch: &RelaySpec,
        stage: Option<&NetworkNamespace>,
        server: u16,
    ) -> Result<(RelayProgram, u16), TrialError> {
        let RelaySpec { command, plan } = launch;
        let command = match stage {
            Some(stage) => stage.enter(command),
            None => {
                let mut plain = Command::new(command.get_program());
                plain.args(command.get_args());
                plain
            }
        };
        let orders = [
            ("PORT", server.to_string()),
            (DELAY_US, plan.delay.as_micros().to_string()),
            (CUT_BYTES, plan.cut_bytes.to_string()),
            (CUTS, plan.cuts.to_string()),
        ];
        let mut program = Program::start(command, &orders).map_err(broke)?;
        let port = program.ready(CONTRACT.ready, true).map_err(broke)?;
        let tree = ProcessTree::marked(program.pid(), program.mark());
        Ok((RelayProgram { program, tree }, port.unwrap_or(0)))
    }

    /// Bytes and cuts count from now on.
    pub(super) fn go(&mut self) -> Result<(), TrialError> {
        self.tree.begin();
        self.program.go().map(drop).map_err(broke)
    }

    /// Processor time since then.
    pub(super) fn spent(&mut self) -> f64 {
        self.tree.end().cpu_seconds
    }

    /// Ends the relay and returns its account.
    pub(super) fn end(mut self, within: Duration) -> Result<RelayAccount, TrialError> {
        self.program.write_line(END).map_err(broke)?;
        let begun = Instant::now();
        let line = loop {
            let left = within.saturating_sub(begun.elapsed());
            match self.program.account(left).map_err(broke)? {
                Some((line, _)) => break line,
                None if left.is_zero() => return Err(broke(ProgramFault::NoAccount(within))),
                None => {}
            }
        };
        let relayed = serde_json::from_str(&line);
        let relayed =
            relayed.map_err(|error| broke(ProgramFault::BadAccount(error.to_string())))?;
        self.program.expect_exit(within).map_err(broke)?;
        Ok(relayed)
    }
}

fn broke(fault: ProgramFault) -> TrialError {
    TrialError::Broke { title: "the lab's relay".to_owned(), fault, ours: true }
}
