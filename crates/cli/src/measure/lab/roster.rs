//! Everybody who can take part.

use std::path::{Path, PathBuf};

use wigwag_lab::participants::Participant;
use wigwag_lab::participants::peer::{Peer, near};
use wigwag_lab::workload::{WORKLOADS, Workload};

use crate::exit::{Code, Failed};
use crate::print;

/// The embedded participants, then the peers, then the known-bad ones.
pub(super) struct Roster {
    pub(super) program: PathBuf,
    pub(super) participants: Vec<Participant>,
}

impl Roster {
    /// Reads the peers' folders; one that cannot be read is told and left out.
    pub(super) fn read(folder: Option<&Path>) -> Result<Roster, Failed> {
        let program = std::env::current_exe()?;
        let folder = match folder {
            Some(folder) if !folder.is_dir() => {
                return Err(usage(format!("there is no folder {}", folder.display())));
            }
            Some(folder) => Some(folder.to_owned()),
            None => further_up(Path::new("lab/peers")),
        };
        let (peers, bad) = folder.map_or_else(Default::default, |folder| Peer::all(&folder));
        for error in bad {
            print::error(&format!("left out: {error}"));
        }
        let mut participants = Participant::embedded(&program);
        participants.extend(peers.into_iter().map(|peer| Participant::Peer(Box::new(peer))));
        // The order is kept otherwise.
        participants.sort_by_key(Participant::is_known_bad);
        Ok(Roster { program, participants })
    }

    /// Selects participants by name, in the given order. A language selects all its peers, unless a
    /// participant has that name.
    pub(super) fn named(&self, names: &[String]) -> Result<Vec<Participant>, Failed> {
        self.chosen(names, |name, it| match self.participants.iter().any(|it| it.name() == name) {
            true => it.name() == name,
            false => speaks(it, name),
        })
    }

    /// Selects participants by name or language.
    pub(super) fn named_or_in(&self, names: &[String]) -> Result<Vec<Participant>, Failed> {
        self.chosen(names, |name, it| it.name() == name || speaks(it, name))
    }

    fn chosen(
        &self,
        names: &[String],
        is_meant: impl Fn(&str, &Participant) -> bool,
    ) -> Result<Vec<Participant>, Failed> {
        let mut chosen: Vec<Participant> = Vec::new();
        for name in names {
            let meant: Vec<_> = self.participants.iter().filter(|it| is_meant(name, it)).collect();
            if meant.is_empty() {
                let names = self.participants.iter().map(Participant::name);
                return Err(usage(unknown("participant", name, names)));
            }
            for one in meant {
                if chosen.iter().all(|other| other.name() != one.name()) {
                    chosen.push(one.clone());
                }
            }
        }
        Ok(chosen)
    }
}

fn speaks(participant: &Participant, language: &str) -> bool {
    match participant {
        Participant::Peer(peer) => peer.language.eq_ignore_ascii_case(language),
        Participant::Embedded { .. } => false,
    }
}

/// The workloads of a list such as `counter,remote`, or all.
pub(super) fn workloads(names: &[String]) -> Result<Vec<Workload>, Failed> {
    if names == ["all"] {
        return Ok(WORKLOADS.to_vec());
    }
    let of = |name: &String| {
        let found = WORKLOADS.into_iter().find(|workload| workload.name() == name);
        let names = WORKLOADS.iter().map(|workload| workload.name()).chain(["all"]);
        found.ok_or_else(|| usage(unknown("workload", name, names)))
    };
    names.iter().map(of).collect()
}

/// Whether each of `names` is one of `cells`.
pub(super) fn are_cells(names: &[String], cells: &[String]) -> Result<(), Failed> {
    match names.iter().find(|name| !cells.contains(name)) {
        Some(name) => {
            let names = || cells.iter().map(String::as_str);
            let all = format!("the cells are {}", listed(names(), "; "));
            Err(usage(unknown_or("cell", name, names(), &all)))
        }
        None => Ok(()),
    }
}

fn unknown<'a>(what: &str, name: &str, names: impl Iterator<Item = &'a str>) -> String {
    unknown_or(what, name, names, "see wigwag lab list")
}

/// The text for a name that there is not, with names like it, or else with `advice`.
fn unknown_or<'a>(
    what: &str,
    name: &str,
    names: impl Iterator<Item = &'a str>,
    advice: &str,
) -> String {
    match near(name, names).as_slice() {
        [] => format!("there is no {what} {name:?}: {advice}"),
        near => {
            let near = listed(near.iter().copied(), " or ");
            format!("there is no {what} {name:?}: did you mean {near}?")
        }
    }
}

/// The names in a row, in quotation marks where they have commas of their own.
fn listed<'a>(names: impl Iterator<Item = &'a str>, between: &str) -> String {
    let shown = |name: &str| match name.contains(',') {
        true => format!("{name:?}"),
        false => name.to_owned(),
    };
    names.map(shown).collect::<Vec<_>>().join(between)
}

pub(super) fn usage(text: String) -> Failed {
    Failed::new(Code::Usage, text)
}

/// `path` in this folder or one above it.
fn further_up(path: &Path) -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().map(|folder| folder.join(path)).find(|folder| folder.is_dir())
}
