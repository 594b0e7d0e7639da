//! `wigwag lab setup`: the lines of a peer's folder, one after the other.

use std::process::Stdio;

use clap::Args;
use wigwag_lab::participants::Participant;

use crate::exit::{Code, Failed};
use crate::lab::roster::{Roster, usage};
use crate::print;

#[derive(Args)]
pub(super) struct Setup {
    /// Names as `wigwag lab list` prints them, or languages
    #[arg(required = true, value_name = "PEER")]
    peers: Vec<String>,
}

impl Setup {
    pub(super) fn run(self, roster: &Roster) -> Result<Code, Failed> {
        let participants = roster.named_or_in(&self.peers)?;
        for participant in &participants {
            match participant {
                Participant::Embedded { .. } => {
                    let name = participant.name();
                    return Err(usage(format!("{name} is embedded: there is nothing to set up")));
                }
                Participant::Peer(_) => set_up(participant)?,
            }
        }
        Ok(Code::Ok)
    }
}

fn set_up(participant: &Participant) -> Result<(), Failed> {
    let Participant::Peer(peer) = participant else {
        return Ok(());
    };
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
            Ok(status) => return Err(failed(format!("{name}: {line} ended with {status}"))),
            Err(error) => return Err(failed(format!("{name}: {line} cannot be started: {error}"))),
        }
    }
    match peer.missing() {
        Some(missing) => Err(failed(format!("{name}: is set up, and still {missing}"))),
        None => {
            print::line(&format!("{name} is installed"));
            Ok(())
        }
    }
}

fn failed(text: String) -> Failed {
    Failed::new(Code::Internal, text)
}
