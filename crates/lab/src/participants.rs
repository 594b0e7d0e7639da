//! Participants: programs embedded in the lab's own, and those of the peers' folders.

pub mod peer;
pub mod embedded;
pub mod play;
mod raw;
mod wigwag;
mod broken;
mod http;
mod relay;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::contract::role::{Payload, Role};
use crate::participants::peer::Peer;

/// A participant.
#[derive(Clone, Debug)]
pub enum Participant {
    /// A participant whose programs are this program, called with a hidden command.
    Embedded {
        /// The embedded participant.
        it: embedded::Embedded,
        /// The program that has the hidden command.
        program: PathBuf,
    },
    /// A participant whose programs are in a folder.
    Peer(Box<Peer>),
}

impl Participant {
    /// All embedded participants, known-bad ones last.
    pub fn embedded(program: &Path) -> Vec<Participant> {
        let all = embedded::all();
        all.map(|it| Participant::Embedded { it, program: program.to_owned() }).collect()
    }

    /// The name of the participant.
    pub fn name(&self) -> &str {
        match self {
            Participant::Embedded { it, .. } => it.name,
            Participant::Peer(peer) => &peer.name,
        }
    }

    /// True if the participant is known to be bad and must be void or flagged.
    pub fn is_known_bad(&self) -> bool {
        match self {
            Participant::Embedded { it, .. } => it.known_bad,
            Participant::Peer(peer) => peer.known_bad,
        }
    }

    /// True if the participant promises order.
    pub fn is_ordered(&self) -> bool {
        match self {
            Participant::Embedded { .. } => true,
            Participant::Peer(peer) => peer.ordered,
        }
    }

    /// True if its sessions in remote outlive their connections.
    pub fn resumes(&self) -> bool {
        match self {
            Participant::Embedded { it, .. } => it.resumes,
            Participant::Peer(peer) => peer.resumes,
        }
    }

    /// True if a relay can stand between its two sides in remote: one of them dials, and it goes by
    /// the port that it is given.
    pub fn is_relayed(&self) -> bool {
        match self {
            Participant::Embedded { .. } => true,
            Participant::Peer(peer) => peer.relayed,
        }
    }

    /// The payloads that it sends and answers in pingpong.
    pub fn payload(&self) -> Payload {
        match self {
            Participant::Embedded { it, .. } => it.payload,
            Participant::Peer(peer) => peer.payload,
        }
    }

    /// True if it has a program for the role, installed or not.
    pub fn has_role(&self, role: Role) -> bool {
        match self {
            Participant::Embedded { it, .. } => it.roles.contains(&role),
            Participant::Peer(peer) => peer.roles.contains_key(&role),
        }
    }

    /// True if it can be ordered to run `cell` of remote.
    pub fn knows_remote_cell(&self, cell: &str) -> bool {
        match self {
            Participant::Embedded { it, .. } => it.cells.contains(&cell),
            Participant::Peer(peer) => peer.cells.iter().any(|it| it == cell),
        }
    }

    /// True if it can be ordered to run `cell` of counter.
    pub fn knows_counter_cell(&self, cell: &str) -> bool {
        match self {
            Participant::Embedded { it, .. } => it.inside.contains(&cell),
            Participant::Peer(peer) => peer.inside.iter().any(|it| it == cell),
        }
    }

    /// True if it can be ordered to run `cell` of sp.
    pub fn knows_sp_cell(&self, cell: &str) -> bool {
        match self {
            Participant::Embedded { it, .. } => it.sp.contains(&cell),
            Participant::Peer(peer) => peer.sp.iter().any(|it| it == cell),
        }
    }

    /// True if its sockets of sp have this transport.
    pub fn has_transport(&self, name: &str) -> bool {
        match self {
            Participant::Embedded { it, .. } => it.transports.contains(&name),
            Participant::Peer(peer) => peer.transports.iter().any(|it| it == name),
        }
    }

    /// The reason why it lacks `cell` of counter or sp, if it runs others.
    pub fn why_no_cell(&self, cell: &str) -> String {
        let said = match self {
            Participant::Embedded { it, .. } => {
                it.lacks.iter().find(|(name, _)| *name == cell).map(|(_, why)| *why)
            }
            Participant::Peer(peer) => peer.lacks.get(cell).map(String::as_str),
        };
        said.map_or_else(|| format!("its programs know no CELL={cell}"), str::to_owned)
    }

    /// The command that starts its program for the role.
    pub fn command(&self, role: Role) -> Option<Command> {
        match self {
            Participant::Embedded { it, program } => {
                let mut command = Command::new(program);
                command.args(["lab-participant", it.name, role.name()]);
                it.roles.contains(&role).then_some(command)
            }
            Participant::Peer(peer) => peer.command(role),
        }
    }

    /// The reason why it cannot run, with a remedy.
    pub fn why_missing(&self) -> Option<String> {
        match self {
            Participant::Embedded { .. } => None,
            Participant::Peer(peer) => peer.missing(),
        }
    }

    /// The version that the participant reports.
    pub fn version(&self) -> Option<String> {
        match self {
            Participant::Embedded { .. } => Some(env!("CARGO_PKG_VERSION").to_owned()),
            Participant::Peer(peer) => peer.version(),
        }
    }

    /// The number of lines of its programs.
    pub fn source_lines(&self) -> Option<u64> {
        match self {
            Participant::Embedded { it, .. } => it.source_lines,
            Participant::Peer(peer) => peer.source_lines(),
        }
    }
}
