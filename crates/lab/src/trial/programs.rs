//! The programs of a trial before they are started.

use std::process::Command;

use crate::process::certificates::Certificates;
use crate::process::program::ProgramFault;
use crate::process::socket_file::SocketFile;
use crate::results::cpu_by_side::SideName;
use crate::trial::TrialError;
use crate::trial::bystander::BystanderSpec;
use crate::trial::relay_program::RelaySpec;

/// Resident memory that each side may hold: what a small container has.
pub const MEMORY_MAX: u64 = 1 << 30;

/// Memory that it may hold where a million actors live at once: 8 KiB each.
pub const MEMORY_MAX_MANY: u64 = 8 << 30;

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
    pub relay: Option<RelaySpec>,
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
    pub(super) fn create(&self) -> Result<(), TrialError> {
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
