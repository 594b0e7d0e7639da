//! `wigwag lab`: participants side by side, each with a verdict before it has a number.

mod gate;
mod list;
mod measure;
mod roster;
mod setup;
mod show;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::exit::{Code, Failed};

pub(crate) use measure::{progress, raise_on_interrupt};

#[derive(Args)]
pub(crate) struct Lab {
    /// Where the peers' folders lie [default: lab/peers here or further up]
    #[arg(long, global = true, value_name = "FOLDER")]
    peers_folder: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print the workloads, the participants, and what is installed
    List,
    /// Install peers, as their peer.toml says
    Setup(setup::Setup),
    /// Measure
    Run(measure::Measure),
    /// Make a page of a document
    Report(show::Report),
    /// Hold two documents against each other
    Compare(show::Compare),
}

impl Lab {
    pub(crate) fn run(self) -> Result<Code, Failed> {
        let roster = || roster::Roster::read(self.peers_folder.as_deref());
        match self.command {
            Command::List => list::list(&roster()?),
            Command::Setup(setup) => setup.run(&roster()?),
            Command::Run(measure) => measure.run(&roster()?),
            Command::Report(report) => report.run(),
            Command::Compare(compare) => compare.run(),
        }
    }
}

/// A program of an embedded participant; the lab starts it.
#[derive(Args)]
pub(crate) struct Participant {
    name: String,
    role: String,
}

impl Participant {
    pub(crate) fn run(self) -> Result<Code, Failed> {
        let played = wigwag_lab::participants::play::play(&self.name, &self.role);
        played.map_err(|error| Failed::new(Code::Internal, error))?;
        Ok(Code::Ok)
    }
}
