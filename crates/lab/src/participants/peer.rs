//! Participants by folder: `lab/peers/<name>/peer.toml`, as the contract has it.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::contract::role::{
    COUNTER_CELLS, COUNTER_CELLS_AT_LEAST, Payload, REMOTE_CELLS, REMOTE_CELLS_AT_LEAST, ROLES,
    Role, SP_CELLS, SP_CELLS_AT_LEAST, TRANSPORT_NAMES, TRANSPORTS_AT_LEAST,
};

/// The time that a program may take to print its version, enough for a virtual machine to start.
const VERSION_MAX: Duration = Duration::from_secs(10);

/// A peer whose folder was read.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The name in the tables.
    pub name: String,
    /// The programming language.
    pub language: String,
    /// The licence.
    pub license: String,
    /// The folder of the peer.
    pub folder: PathBuf,
    /// Downloads of the set-up and their size, in words; `None` if it downloads nothing.
    pub fetches: Option<String>,
    /// Commands that install it, in order.
    pub setup: Vec<Vec<String>>,
    /// Whether the peer promises order.
    pub ordered: bool,
    /// Whether its sessions in remote outlive their connections.
    pub resumes: bool,
    /// Whether a relay can stand between its two sides in remote.
    pub relayed: bool,
    /// Whether the peer is known to be bad and must be void or flagged.
    pub known_bad: bool,
    /// The payloads that it sends and answers in pingpong.
    pub payload: Payload,
    /// Cells of remote that it can be ordered to do.
    pub cells: Vec<String>,
    /// Cells of counter that it can be ordered to do.
    pub inside: Vec<String>,
    /// Cells of sp that it can be ordered to do.
    pub sp: Vec<String>,
    /// Transports of its sockets of sp.
    pub transports: Vec<String>,
    /// The reasons why it cannot run the other cells, by cell.
    pub lacks: BTreeMap<String, String>,
    /// The command of each role.
    pub roles: BTreeMap<Role, Vec<String>>,
    installed: Option<PathBuf>,
    version: Vec<String>,
    sources: Vec<String>,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    language: String,
    license: String,
    #[serde(default)]
    version: Vec<String>,
    fetches: Option<String>,
    #[serde(default)]
    setup: Vec<Vec<String>>,
    installed: Option<PathBuf>,
    #[serde(default)]
    sources: Vec<String>,
    #[serde(default = "yes")]
    ordered: bool,
    #[serde(default)]
    resumes: bool,
    #[serde(default = "yes")]
    relayed: bool,
    #[serde(default)]
    known_bad: bool,
    #[serde(default)]
    payload: Payload,
    #[serde(default = "cells_at_least")]
    cells: Vec<String>,
    #[serde(default = "inside_at_least")]
    inside: Vec<String>,
    #[serde(default = "sp_at_least")]
    sp: Vec<String>,
    #[serde(default = "transports_at_least")]
    transports: Vec<String>,
    #[serde(default)]
    lacks: BTreeMap<String, String>,
    role: BTreeMap<String, Vec<String>>,
}

fn transports_at_least() -> Vec<String> {
    TRANSPORTS_AT_LEAST.map(str::to_owned).to_vec()
}

fn yes() -> bool {
    true
}

fn cells_at_least() -> Vec<String> {
    REMOTE_CELLS_AT_LEAST.map(str::to_owned).to_vec()
}

fn inside_at_least() -> Vec<String> {
    COUNTER_CELLS_AT_LEAST.map(str::to_owned).to_vec()
}

fn sp_at_least() -> Vec<String> {
    SP_CELLS_AT_LEAST.map(str::to_owned).to_vec()
}

/// A folder that cannot be read as a peer.
#[derive(Debug)]
#[non_exhaustive]
pub enum PeerError {
    /// The file cannot be read.
    Unreadable(PathBuf, std::io::Error),
    /// It is no such file.
    BadFile(PathBuf, toml::de::Error),
    /// A role that there is not.
    NoSuchRole {
        /// Where.
        file: PathBuf,
        /// The unknown name.
        role: String,
    },
    /// A cell that there is not.
    NoSuchCell {
        /// Where.
        file: PathBuf,
        /// The unknown name.
        cell: String,
        /// The workload.
        workload: &'static str,
        /// The names that are known.
        cells: &'static [&'static str],
    },
    /// A transport that sp has not.
    NoSuchTransport {
        /// Where.
        file: PathBuf,
        /// The unknown name.
        name: String,
    },
    /// A command without a word.
    EmptyCommand {
        /// Where.
        file: PathBuf,
        /// The line.
        of: String,
    },
}

impl fmt::Display for PeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PeerError::Unreadable(file, error) => write!(f, "{}: {error}", file.display()),
            PeerError::BadFile(file, error) => write!(f, "{}: {error}", file.display()),
            PeerError::NoSuchRole { file, role } => {
                let names: Vec<&str> = ROLES.iter().map(|role| role.name()).collect();
                let file = file.display();
                write!(f, "{file}: there is no role {role:?}; roles are {}", names.join(", "))
            }
            PeerError::NoSuchCell { file, cell, workload, cells } => {
                let (file, names) = (file.display(), cells.join(", "));
                write!(f, "{file}: {workload} has no cell {cell:?}; cells are {names}")
            }
            PeerError::NoSuchTransport { file, name } => {
                let (file, names) = (file.display(), TRANSPORT_NAMES.join(", "));
                write!(f, "{file}: sp has no transport {name:?}; transports are {names}")
            }
            PeerError::EmptyCommand { file, of } => {
                write!(f, "{}: the command of {of} is empty", file.display())
            }
        }
    }
}

impl std::error::Error for PeerError {}

impl Peer {
    /// The peers of all folders of `peers` with a `peer.toml`, by name; a bad one does not hide
    /// others.
    pub fn all(peers: &Path) -> (Vec<Peer>, Vec<PeerError>) {
        let entries = fs::read_dir(peers).into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        folders.retain(|folder| folder.join("peer.toml").is_file());
        folders.sort();
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for folder in folders {
            match Peer::read(&folder) {
                Ok(peer) => good.push(peer),
                Err(error) => bad.push(error),
            }
        }
        (good, bad)
    }

    /// The peer in `folder`.
    pub fn read(folder: &Path) -> Result<Peer, PeerError> {
        let path = folder.join("peer.toml");
        let text = fs::read_to_string(&path);
        let text = text.map_err(|error| PeerError::Unreadable(path.clone(), error))?;
        let file: File =
            toml::from_str(&text).map_err(|error| PeerError::BadFile(path.clone(), error))?;
        let mut roles = BTreeMap::new();
        for (name, command) in file.role {
            let Some(role) = Role::named(&name) else {
                return Err(PeerError::NoSuchRole { file: path, role: name });
            };
            if command.is_empty() {
                return Err(PeerError::EmptyCommand { file: path, of: name });
            }
            roles.insert(role, command);
        }
        if file.setup.iter().any(Vec::is_empty) {
            return Err(PeerError::EmptyCommand { file: path, of: "setup".to_owned() });
        }
        let in_counter = file.lacks.keys().filter(|it| !SP_CELLS.contains(&it.as_str()));
        let in_counter = file.inside.iter().chain(in_counter);
        let refused = no_such_cell("remote", &REMOTE_CELLS, &path, file.cells.iter())
            .or_else(|| no_such_cell("counter", &COUNTER_CELLS, &path, in_counter))
            .or_else(|| no_such_cell("sp", &SP_CELLS, &path, file.sp.iter()))
            .or_else(|| no_such_transport(&path, &file.transports));
        if let Some(refused) = refused {
            return Err(refused);
        }
        // Commands are run in the folder, so it must be known from anywhere.
        let folder = fs::canonicalize(folder);
        Ok(Peer {
            folder: folder.map_err(|error| PeerError::Unreadable(path, error))?,
            name: file.name,
            language: file.language,
            license: file.license,
            fetches: file.fetches,
            setup: file.setup,
            ordered: file.ordered,
            resumes: file.resumes,
            relayed: file.relayed,
            known_bad: file.known_bad,
            payload: file.payload,
            cells: file.cells,
            inside: file.inside,
            sp: file.sp,
            transports: file.transports,
            lacks: file.lacks,
            roles,
            installed: file.installed,
            version: file.version,
            sources: file.sources,
        })
    }

    /// The command of a role.
    pub fn command(&self, role: Role) -> Option<Command> {
        self.words(self.roles.get(&role)?)
    }

    /// The lines that set it up.
    pub fn setup(&self) -> impl Iterator<Item = (String, Command)> {
        self.setup.iter().filter_map(|words| Some((words.join(" "), self.words(words)?)))
    }

    /// The reason why the peer cannot run, with a command that remedies it.
    pub fn missing(&self) -> Option<String> {
        let mend = match self.setup.first() {
            Some(words) => format!("wigwag lab setup {} (runs: {})", self.name, words.join(" ")),
            None => format!("see {}", self.folder.join("peer.toml").display()),
        };
        if let Some(file) = &self.installed
            && !self.folder.join(file).exists()
        {
            return Some(format!("{} is not there: {mend}", file.display()));
        }
        if let Some(source) = self.newer_source() {
            let file = self.installed.as_deref().unwrap_or(Path::new("it"));
            return Some(format!("{} is older than {source}: {mend}", file.display()));
        }
        let programs = self.roles.values().filter_map(|words| words.first());
        let missing = programs.into_iter().find(|program| !self.finds(program))?;
        Some(format!("the command {missing} is not there: {mend}"))
    }

    /// A source that was changed after the peer was set up: what runs would be something else.
    fn newer_source(&self) -> Option<&str> {
        let changed = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
        let installed = self.installed.as_ref()?;
        if self.sources.iter().any(|source| Path::new(source) == installed) {
            // It runs as it was written.
            return None;
        }
        // A folder does not say when what is in it was made.
        let made = Some(self.folder.join(installed)).filter(|path| path.is_file());
        let made = changed(&made?)?;
        let is_newer =
            |file: &&String| changed(&self.folder.join(file)).is_some_and(|at| at > made);
        self.sources.iter().find(is_newer).map(String::as_str)
    }

    /// The version of the peer: the first line that its command prints.
    pub fn version(&self) -> Option<String> {
        let mut command = self.words(&self.version)?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().ok()?;
        let begun = Instant::now();
        while child.try_wait().ok()?.is_none() {
            if begun.elapsed() > VERSION_MAX {
                // It prints nothing, so the row has no version.
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
            thread::sleep(Duration::from_millis(5));
        }
        let output = child.wait_with_output().ok()?;
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        said.lines().find(|line| !line.trim().is_empty()).map(str::to_owned)
    }

    /// Lines of its sources that hold more than white space.
    pub fn source_lines(&self) -> Option<u64> {
        let lines = |file: &String| {
            let text = fs::read_to_string(self.folder.join(file)).ok()?;
            Some(text.lines().filter(|line| !line.trim().is_empty()).count() as u64)
        };
        let counts: Option<Vec<u64>> = self.sources.iter().map(lines).collect();
        counts.filter(|counts| !counts.is_empty()).map(|counts| counts.iter().sum())
    }

    fn words(&self, words: &[String]) -> Option<Command> {
        let (program, arguments) = words.split_first()?;
        let beside = self.folder.join(program);
        // `build/go` is in the folder, `go` anywhere on the path.
        let mut command = match program.contains('/') && beside.exists() {
            true => Command::new(beside),
            false => Command::new(program),
        };
        command.args(arguments).current_dir(&self.folder);
        Some(command)
    }

    fn finds(&self, program: &str) -> bool {
        if program.contains('/') {
            return self.folder.join(program).exists();
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    }
}

/// The error for the first of `named` that is no cell of `workload`.
fn no_such_cell<'a>(
    workload: &'static str,
    cells: &'static [&'static str],
    file: &Path,
    mut named: impl Iterator<Item = &'a String>,
) -> Option<PeerError> {
    let cell = named.find(|it| !cells.contains(&it.as_str()))?.clone();
    Some(PeerError::NoSuchCell { file: file.to_owned(), cell, workload, cells })
}

fn no_such_transport(file: &Path, named: &[String]) -> Option<PeerError> {
    let name = named.iter().find(|it| !TRANSPORT_NAMES.contains(&it.as_str()))?.clone();
    Some(PeerError::NoSuchTransport { file: file.to_owned(), name })
}

/// The names that `name` may be a misspelling of, nearest first.
pub fn near<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let most = 1 + name.chars().count() / 3;
    let mut near: Vec<(usize, &str)> =
        names.into_iter().map(|other| (distance(name, other), other)).collect();
    let is_part = |other: &str| other.starts_with(name) || (name.len() > 2 && other.contains(name));
    near.retain(|(distance, other)| *distance <= most || is_part(other));
    near.sort_unstable();
    near.into_iter().map(|(_, other)| other).take(3).collect()
}

/// Letters to insert, take out or change until one word is the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (line, letter) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (column, other) in b.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests;
