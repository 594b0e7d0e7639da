//! Compares the crate map in ARCHITECTURE.md with the dependencies that cargo reports.
//!
//! The table has one row for each crate of the workspace, named after its folder, in any order. The
//! second cell lists the workspace crates that it depends on, in alphabetical order, without
//! dependencies that only its tests need. The third cell is a description in free text.

use std::collections::BTreeMap;
use std::fs;

use crate::checks::{no_c, pure};
use crate::metadata::{DependencyKind, Metadata};
use crate::{table, workspace};

/// The page with the map, relative to the root of the workspace.
pub(crate) const PAGE: &str = "ARCHITECTURE.md";

const HEADER: [&str; 3] = ["crate", "depends on", "lives there"];

/// Checks the map in `file` (or in ARCHITECTURE.md), that the pure crates depend on neither sockets
/// nor a clock, and that no crate compiles C.
pub(crate) fn run(file: Option<&str>) -> bool {
    let metadata = match Metadata::load() {
        Ok(metadata) => metadata,
        Err(error) => {
            eprintln!("{error}");
            return false;
        }
    };
    let mut faults = page_faults(&metadata, file.unwrap_or(PAGE));
    faults.extend(pure::faults(&metadata));
    faults.extend(no_c::faults(&metadata));
    for fault in &faults {
        println!("{fault}");
    }
    if faults.is_empty() {
        println!("the map is correct, the pure crates are pure, and no crate compiles C");
    }
    faults.is_empty()
}

/// Prints the correct table. The third column is kept from the page; if it is empty, the crate's
/// description is used.
pub(crate) fn print() -> bool {
    let metadata = match Metadata::load() {
        Ok(metadata) => metadata,
        Err(error) => {
            eprintln!("{error}");
            return false;
        }
    };
    let page = fs::read_to_string(workspace::root().join(PAGE)).unwrap_or_default();
    let known = table::rows(&page, &HEADER).unwrap_or_default();
    println!("{}\n|---|---|---|", table::line_of(&HEADER));
    for (name, needs) in arrows(&metadata) {
        let kept = known.iter().find(|row| row[0] == name).map(|row| row[2].as_str());
        let described = metadata.member_in(&name).map(|(_, package)| package.description.as_str());
        let words = kept.or(described).unwrap_or_default();
        println!("{}", table::line_of(&[&name, &needs, words]));
    }
    true
}

/// Faults of the map on the page at `path`; empty if the map is correct.
pub(crate) fn page_faults(metadata: &Metadata, path: &str) -> Vec<String> {
    match fs::read_to_string(workspace::root().join(path)) {
        Ok(text) => {
            let mut faults = faults(metadata, &text);
            let missing = files_of(metadata, &text).into_iter().filter(|file| !is_source(file));
            faults.extend(missing.map(|file| format!("`{file}` does not exist")));
            faults.iter().map(|fault| format!("{path}: {fault}")).collect()
        }
        Err(error) => vec![format!("{path}: {error}")],
    }
}

/// The source files that the page names as `crate/file.rs`.
fn files_of(metadata: &Metadata, text: &str) -> Vec<String> {
    let crates = arrows(metadata);
    // Every second part stands between backticks.
    let quoted = text.split('`').skip(1).step_by(2).filter(|part| part.ends_with(".rs"));
    let of_crate =
        |part: &&str| part.split_once('/').is_some_and(|(name, _)| crates.contains_key(name));
    quoted.filter(of_crate).map(str::to_owned).collect()
}

fn is_source(file: &str) -> bool {
    let Some((name, path)) = file.split_once('/') else { return false };
    let folder = if name == "xtask" { "xtask".to_owned() } else { format!("crates/{name}") };
    workspace::root().join(folder).join("src").join(path).is_file()
}

fn faults(metadata: &Metadata, text: &str) -> Vec<String> {
    let rows = match table::rows(text, &HEADER) {
        Ok(rows) => rows,
        Err(error) => return vec![error],
    };
    let truth = arrows(metadata);
    let mut seen = BTreeMap::new();
    let mut faults = Vec::new();
    for row in &rows {
        let [name, needs, words] = row.as_slice() else {
            continue;
        };
        if seen.insert(name, ()).is_some() {
            faults.push(format!("`{name}` has two rows"));
        }
        match truth.get(name) {
            None => faults.push(format!("`{name}` is not a crate of this workspace")),
            Some(right) if right != needs => {
                let line = table::line_of(&[name, right, words]);
                faults.push(format!("`{name}` has other dependencies; write {line}"));
            }
            Some(_) if words.is_empty() => faults.push(format!("`{name}` has no description")),
            Some(_) => {}
        }
    }
    for (name, right) in truth.iter().filter(|(name, _)| !seen.contains_key(name)) {
        let line = table::line_of(&[name, right, "..."]);
        faults.push(format!("`{name}` has no row; write {line}"));
    }
    faults
}

/// For each crate of the workspace, the cell that lists its dependencies within the workspace.
fn arrows(metadata: &Metadata) -> BTreeMap<String, String> {
    let members = metadata.members();
    let folder_of = |name: &str| {
        let found = members.iter().find(|(_, package)| package.name == name);
        found.map(|(_, package)| package.folder())
    };
    let mut arrows = BTreeMap::new();
    for (_, package) in &members {
        let normal =
            package.dependencies.iter().filter(|entry| entry.kind == DependencyKind::Normal);
        let mut needs: Vec<String> = normal.filter_map(|entry| folder_of(&entry.name)).collect();
        needs.sort();
        needs.dedup();
        arrows.insert(package.folder(), needs.join(", "));
    }
    arrows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_that_the_page_names_are_looked_for() {
        let metadata = Metadata::load().unwrap();
        let text = "`link/outbox.rs` and `link/no_such_file.rs`, not `other/file.rs` or `plain.rs`";
        let files = files_of(&metadata, text);
        assert_eq!(files, ["link/outbox.rs", "link/no_such_file.rs"]);
        let found: Vec<bool> = files.iter().map(|file| is_source(file)).collect();
        assert_eq!(found, [true, false]);
    }

    /// Checks the committed page against the committed workspace.
    #[test]
    fn the_map_in_architecture_md_is_the_workspace() {
        let metadata = Metadata::load().unwrap();
        assert_eq!(page_faults(&metadata, PAGE), [""; 0]);
    }

    fn two_layers() -> Metadata {
        Metadata::default()
            .with_member(
                "net",
                &[
                    ("sp", DependencyKind::Normal),
                    ("log", DependencyKind::Normal),
                    ("sim", DependencyKind::Dev),
                ],
            )
            .with_member("sp", &[])
            .with_member("sim", &[("sp", DependencyKind::Normal), ("net", DependencyKind::Normal)])
            .with_foreign("log", &[])
    }

    const RIGHT: &str = "\
# Page

| crate | depends on | lives there |
|---|---|---|
| `sp` | | protocols |
| `net` | sp | sockets |
| `sim` | `net`, `sp` | a world |
";

    #[test]
    fn a_correct_map_passes_in_any_order_with_or_without_backticks() {
        assert_eq!(faults(&two_layers(), RIGHT), [""; 0]);
    }

    #[test]
    fn a_wrong_dependency_is_reported_with_the_correct_row() {
        let wrong = RIGHT.replace("| sp | sockets |", "| sim, sp | sockets |");
        assert_eq!(
            faults(&two_layers(), &wrong),
            ["`net` has other dependencies; write | net | sp | sockets |"]
        );
    }

    #[test]
    fn a_missing_crate_is_reported_with_its_row() {
        let wrong = RIGHT.replace("| `sp` | | protocols |\n", "");
        assert_eq!(faults(&two_layers(), &wrong), ["`sp` has no row; write | sp | | ... |"]);
    }

    #[test]
    fn an_unknown_a_duplicate_and_an_empty_row_are_reported() {
        let wrong = format!("{RIGHT}| gone | | dust |\n| net | sp | |\n");
        assert_eq!(
            faults(&two_layers(), &wrong),
            [
                "`gone` is not a crate of this workspace",
                "`net` has two rows",
                "`net` has no description",
            ]
        );
    }

    #[test]
    fn a_page_without_a_map_and_a_missing_page_are_faults() {
        assert!(faults(&two_layers(), "# Page")[0].contains("no table"));
        assert_eq!(page_faults(&two_layers(), "no/such/page.md").len(), 1);
    }
}
