//! The rooms of a crate: no cycle among them, and no folder that is too full.
//!
//! A room is a folder directly under `src` with everything below it, or a single file there; a file
//! and a folder of one name are one room, and the root (`lib.rs`, `main.rs`) is none. A room uses
//! another when its code names it, in a `use` line or in a path; an item that the root exports again
//! counts for the room that it comes from. Tests count for nothing.
//!
//! Without cycles a crate can be read, and split, from the bottom up.

mod paths;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::workspace;

/// Source files in one folder: what a reader takes in at a glance.
const FILES_MAX: usize = 12;

/// The checks that a crate is excused from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// No cycle among the rooms.
    Cycles,
    /// At most [`FILES_MAX`] source files in a folder.
    Folders,
}

/// Crates that break a rule today, and why. The list only shrinks: a crate that has come to keep a
/// rule must be taken off.
const EXCEPTIONS: &[(&str, Rule, &str)] = &[(
    "net",
    Rule::Cycles,
    "an address finds its transport, and errors and options have parts of each",
)];

/// One source file of a crate.
struct Source {
    /// From the crate's `src` folder on.
    path: String,
    text: String,
}

/// Where a room uses another: `path:line: the line`.
type Uses = BTreeMap<(String, String), BTreeSet<(String, usize, String)>>;

/// Checks the folders of the workspace, and returns one line for each fault.
pub(crate) fn faults_of_workspace() -> Vec<String> {
    let root = workspace::root();
    let mut folders = vec!["xtask".to_owned()];
    let crates = fs::read_dir(root.join("crates")).into_iter().flatten().flatten();
    folders.extend(crates.map(|entry| format!("crates/{}", entry.file_name().to_string_lossy())));
    folders.sort();
    let mut faults = Vec::new();
    let mut known = BTreeSet::new();
    for folder in folders {
        let sources = match sources_of(&root.join(&folder).join("src")) {
            Ok(sources) => sources,
            Err(error) => {
                faults.push(format!("{folder}: {error}"));
                continue;
            }
        };
        let name = folder.rsplit('/').next().unwrap_or(&folder).to_owned();
        faults.extend(faults_of_crate(&folder, &name, &sources, EXCEPTIONS));
        known.insert(name);
    }
    let gone = EXCEPTIONS.iter().filter(|(name, ..)| !known.contains(*name));
    faults.extend(gone.map(|(name, ..)| format!("`{name}` is an exception, but no crate")));
    faults
}

/// Every `.rs` file below `folder`.
fn sources_of(folder: &Path) -> Result<Vec<Source>, String> {
    let mut sources = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        let entries =
            fs::read_dir(&next).map_err(|error| format!("{}: {error}", next.display()))?;
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
                let inside = path.strip_prefix(folder).unwrap_or(&path);
                sources.push(Source { path: inside.to_string_lossy().into_owned(), text });
            }
        }
    }
    sources.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(sources)
}

/// The faults of one crate that are not excused, and the excuses that it does not need.
fn faults_of_crate(
    folder: &str,
    name: &str,
    sources: &[Source],
    exceptions: &[(&str, Rule, &str)],
) -> Vec<String> {
    let mut faults = Vec::new();
    for (rule, found) in
        [(Rule::Cycles, cycles(&uses(sources))), (Rule::Folders, full_folders(sources))]
    {
        let excused = exceptions.iter().any(|(other, its, _)| *other == name && *its == rule);
        match (excused, found.is_empty()) {
            (false, _) => {
                faults.extend(found.iter().map(|fault| format!("{folder}/src: {fault}")));
            }
            (true, false) => {}
            (true, true) => faults.push(format!(
                "{folder}: it keeps the rule about {rule:?}; take it off the exceptions in \
                 xtask/src/checks/rooms.rs"
            )),
        }
    }
    faults
}

/// The modules that lead to the file at `path`; none for the root.
fn module_of(path: &str) -> Vec<String> {
    let mut module: Vec<String> =
        path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    let is_root = matches!(path, "lib.rs" | "main.rs");
    if is_root || module.last().is_some_and(|last| last == "mod") {
        module.pop();
    }
    module
}

/// Which room uses which, and where.
fn uses(sources: &[Source]) -> Uses {
    let mut tests: BTreeSet<Vec<String>> = BTreeSet::new();
    let mut files = Vec::new();
    for source in sources.iter().filter(|source| !source.path.starts_with("bin/")) {
        let (code, test_modules) = paths::without_tests(&paths::without_comments(&source.text));
        let module = module_of(&source.path);
        for name in test_modules {
            tests.insert(module.iter().cloned().chain([name]).collect());
        }
        files.push((source, module, code));
    }
    files.retain(|(_, module, _)| !(1..=module.len()).any(|end| tests.contains(&module[..end])));
    let rooms: BTreeSet<&String> =
        files.iter().filter_map(|(_, module, _)| module.first()).collect();
    let mut exported: BTreeMap<String, String> = BTreeMap::new();
    for (_, _, code) in files.iter().filter(|(_, module, _)| module.is_empty()) {
        for leaf in paths::imported(code) {
            let mut segments = leaf.segments.into_iter();
            let from = segments.find(|segment| segment != "self" && segment != "crate");
            if let Some(from) = from.filter(|from| rooms.contains(from)) {
                exported.insert(leaf.name, from);
            }
        }
    }
    let mut uses = Uses::new();
    for (source, module, code) in &files {
        let Some(room) = module.first() else { continue };
        for path in paths::within_crate(code, module) {
            let Some(first) = path.segments.first() else { continue };
            let known = rooms.get(first).copied().or_else(|| exported.get(first));
            let Some(other) = known.filter(|other| *other != room) else { continue };
            let line = source.text.lines().nth(path.line - 1).unwrap_or_default().trim();
            let place = (source.path.clone(), path.line, line.to_owned());
            uses.entry((room.clone(), other.clone())).or_default().insert(place);
        }
    }
    uses
}

/// One fault for each set of rooms that lie on cycles together, with the lines that make them.
fn cycles(uses: &Uses) -> Vec<String> {
    let rooms: BTreeSet<&String> = uses.keys().flat_map(|(from, to)| [from, to]).collect();
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        rooms.iter().map(|room| (*room, reachable(uses, room))).collect();
    let mut faults = Vec::new();
    let mut seen: BTreeSet<&String> = BTreeSet::new();
    for room in &rooms {
        if seen.contains(room) || !reach[room].contains(room) {
            continue;
        }
        let circle: Vec<&String> =
            reach[room].iter().copied().filter(|other| reach[other].contains(room)).collect();
        seen.extend(&circle);
        let names: Vec<&str> = circle.iter().map(|name| name.as_str()).collect();
        let mut fault = format!("a cycle among the rooms {}:", names.join(", "));
        for ((from, to), places) in uses {
            if !circle.contains(&from) || !circle.contains(&to) {
                continue;
            }
            for (path, line, text) in places {
                fault += &format!("\n    {from} -> {to}  {path}:{line}: {text}");
            }
        }
        faults.push(fault);
    }
    faults
}

/// The rooms that `room` uses, at once or through others.
fn reachable<'a>(uses: &'a Uses, room: &str) -> BTreeSet<&'a String> {
    let mut found: BTreeSet<&String> = BTreeSet::new();
    let mut left = vec![room];
    while let Some(next) = left.pop() {
        for (_, to) in uses.keys().filter(|(from, _)| from == next) {
            if found.insert(to) {
                left.push(to);
            }
        }
    }
    found
}

/// One fault for each folder with more than [`FILES_MAX`] source files.
fn full_folders(sources: &[Source]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for source in sources {
        let folder = source.path.rsplit_once('/').map_or(".", |(folder, _)| folder);
        *counts.entry(folder).or_default() += 1;
    }
    let full = counts.into_iter().filter(|(_, count)| *count > FILES_MAX);
    full.map(|(folder, count)| format!("{folder} has {count} source files, at most {FILES_MAX}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The promise itself, for the workspace that is committed.
    #[test]
    fn the_rooms_of_the_workspace_have_no_cycles() {
        assert_eq!(faults_of_workspace(), [""; 0]);
    }

    fn crate_of(files: &[(&str, &str)]) -> Vec<Source> {
        let source = |(path, text): &(&str, &str)| Source {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        files.iter().map(source).collect()
    }

    #[test]
    fn a_cycle_is_named_with_the_lines_that_make_it() {
        let sources = crate_of(&[
            ("lib.rs", "mod a;\nmod b;\nmod c;"),
            ("a/mod.rs", "mod inner;"),
            ("a/inner.rs", "use crate::b::Thing;"),
            ("b.rs", "pub struct Thing;\nfn f() { crate::c::g() }"),
            ("c.rs", "use super::a;"),
        ]);
        assert_eq!(
            cycles(&uses(&sources)),
            ["a cycle among the rooms a, b, c:\
                \n    a -> b  a/inner.rs:1: use crate::b::Thing;\
                \n    b -> c  b.rs:2: fn f() { crate::c::g() }\
                \n    c -> a  c.rs:1: use super::a;"]
        );
    }

    #[test]
    fn arrows_in_one_direction_within_a_room_and_in_tests_are_no_cycle() {
        let sources = crate_of(&[
            ("lib.rs", "mod a;\nmod b;"),
            ("a/mod.rs", "mod one;\nmod two;\n#[cfg(test)]\nmod model;"),
            ("a/one.rs", "use crate::a::two;"),
            ("a/two.rs", "use super::one;\n#[cfg(test)]\nmod tests { use crate::b; }"),
            ("a/model.rs", "use crate::b;"),
            ("b.rs", "use crate::a;"),
        ]);
        assert_eq!(cycles(&uses(&sources)), [""; 0]);
    }

    #[test]
    fn an_item_that_the_root_exports_counts_for_its_room() {
        let sources = crate_of(&[
            ("lib.rs", "mod a;\nmod b;\npub use b::{Other, Thing as Renamed};"),
            ("a.rs", "use crate::Renamed;"),
            ("b.rs", "use crate::a;"),
        ]);
        assert_eq!(cycles(&uses(&sources)).len(), 1);
    }

    #[test]
    fn a_full_folder_is_named() {
        let files: Vec<String> = (0..=FILES_MAX).map(|number| format!("a/{number}.rs")).collect();
        let files: Vec<_> = files.iter().map(|path| (path.as_str(), "")).collect();
        assert_eq!(full_folders(&crate_of(&files)), ["a has 13 source files, at most 12"]);
        assert_eq!(full_folders(&crate_of(&files[1..])), [""; 0]);
    }

    #[test]
    fn an_exception_excuses_from_its_rule_alone_and_is_an_error_when_it_is_not_needed() {
        let sources =
            crate_of(&[("lib.rs", ""), ("a.rs", "use crate::b;"), ("b.rs", "use crate::a;")]);
        let excused = [("x", Rule::Cycles, "a reason")];
        assert_eq!(faults_of_crate("crates/x", "x", &sources, &excused), [""; 0]);
        assert_eq!(faults_of_crate("crates/y", "y", &sources, &excused).len(), 1);
        let faults = faults_of_crate("crates/x", "x", &sources[..1], &excused);
        assert!(faults[0].contains("take it off"), "{faults:?}");
    }
}
