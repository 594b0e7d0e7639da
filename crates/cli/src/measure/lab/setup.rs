//! `wigwag lab setup`: the lines of a peer's folder, one after the other.

use std::process::Stdio;

use clap::Args;
use wigwag_lab::participants::Participant;
use wigwag_lab::participants::peer::Peer;

use crate::exit::{Code, Failed};
use crate::measure::lab::roster::{Roster, usage};
use crate::print;

/// The name that stands for every peer that is not installed.
const ALL: &str = "all";

#[derive(Args)]
pub(super) struct Setup {
    /// Names as `wigwag lab list` prints them, or languages; all is every peer that is not installed
    #[arg(required = true, value_name = "PEER")]
    peers: Vec<String>,
}

impl Setup {
    /// Sets up one peer after the other. A peer that fails keeps none of the others from being set up.
    pub(super) fn run(self, roster: &Roster) -> Result<Code, Failed> {
        let all = self.peers == [ALL];
        let participants =
            if all { roster.participants.clone() } else { roster.named_or_in(&self.peers)? };
        let embedded = participants.iter().find(|it| matches!(it, Participant::Embedded { .. }));
        if let Some(embedded) = embedded.filter(|_| !all) {
            let name = embedded.name();
            return Err(usage(format!("{name} is embedded: there is nothing to set up")));
        }
        let peers = participants.iter().filter_map(|participant| match participant {
            Participant::Peer(peer) => Some(peer),
            Participant::Embedded { .. } => None,
        });
        let mut failures = Vec::new();
        for peer in peers {
            // A peer that an earlier call has installed is not installed again, so a call that was
            // interrupted goes on where it was.
            if !all || peer.missing().is_some() {
                failures.extend(set_up(peer).err());
            }
        }
        match failures.is_empty() {
            true => Ok(Code::Ok),
            false => Err(Failed::new(Code::Internal, failures.join("\n"))),
        }
    }
}

/// Sets up one peer; the error says which of its lines failed.
fn set_up(peer: &Peer) -> Result<(), String> {
    let name = &peer.name;
    print::error(&format!(
        "{name}: {}, {}, in {}",
        peer.language,
        peer.license,
        peer.folder.display()
    ));
    if let Some(fetches) = &peer.fetches {
        print::error(&format!("{name}: fetches {fetches}"));
    }
    for (line, mut command) in peer.setup() {
        print::error(&format!("{name}: runs {line}, because its peer.toml says so"));
        // The output of the line is for the user, not part of a result.
        let status = command.stdin(Stdio::null()).stdout(std::io::stderr()).status();
        match status {
            Ok(status) if status.success() => {}
            Ok(status) => return Err(format!("{name}: {line} ended with {status}")),
            Err(error) => return Err(format!("{name}: {line} cannot be started: {error}")),
        }
    }
    match peer.missing() {
        Some(missing) => Err(format!("{name}: is set up, and still {missing}")),
        None => {
            print::line(&format!("{name} is installed"));
            Ok(())
        }
    }
}
