//! Checks that the table in docs/dependencies.md agrees with the workspace.
//!
//! Every external crate costs build time and trust, so each has a row with its purpose and the
//! rejected alternatives. A row for a crate that is no longer used, a crate without a row, and a
//! wrong list of users are faults.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::metadata::{DependencyKind, Metadata};
use crate::{table, workspace};

const PAGE: &str = "docs/dependencies.md";

const HEADER: [&str; 5] = ["crate", "used by", "what for", "why this one", "rejected"];

/// Compares the page and the workspace's manifest with the dependencies that the crates declare.
pub(crate) fn faults_of_workspace(metadata: &Metadata) -> Vec<String> {
    let read = |path: &str| {
        let text = fs::read_to_string(workspace::root().join(path));
        text.map_err(|error| format!("{path}: {error}"))
    };
    match (read("Cargo.toml"), read(PAGE)) {
        (Ok(manifest), Ok(page)) => faults(metadata, &manifest, &page),
        (manifest, page) => [manifest, page].into_iter().filter_map(Result::err).collect(),
    }
}

fn faults(metadata: &Metadata, manifest: &str, page: &str) -> Vec<String> {
    let rows = match table::rows(page, &HEADER) {
        Ok(rows) => rows,
        Err(error) => return vec![format!("{PAGE}: {error}")],
    };
    let declared = declared(manifest);
    let users = users(metadata);
    let mut faults = Vec::new();
    for name in &declared {
        if !users.contains_key(name) {
            faults.push(format!("Cargo.toml: no crate uses `{name}`: remove it"));
        }
        match rows.iter().filter(|row| row[0] == *name).count() {
            0 => faults.push(format!("{PAGE}: `{name}` has no row")),
            1 => {}
            _ => faults.push(format!("{PAGE}: `{name}` has more than one row")),
        }
    }
    for name in users.keys().filter(|name| !declared.contains(*name)) {
        faults.push(format!("`{name}` is not in [workspace.dependencies] of Cargo.toml"));
    }
    for row in &rows {
        let name = &row[0];
        match users.get(name) {
            _ if !declared.contains(name) => {
                faults.push(format!("{PAGE}: `{name}` is no longer a dependency"));
            }
            Some(right) if *right != row[1] => {
                faults.push(format!("{PAGE}: `{name}` has other users; write | {right} |"));
            }
            _ => {}
        }
        if row[2..].iter().any(String::is_empty) {
            faults.push(format!("{PAGE}: the row of `{name}` has an empty cell"));
        }
    }
    faults
}

/// The external crates in `[workspace.dependencies]`: the entries without a path.
fn declared(manifest: &str) -> BTreeSet<String> {
    let section = manifest.lines().skip_while(|line| line.trim() != "[workspace.dependencies]");
    let entries = section.skip(1).take_while(|line| !line.starts_with('['));
    let outside = entries.filter(|line| !line.starts_with('#') && !line.contains("path = "));
    outside.filter_map(|line| Some(line.split_once(" =")?.0.trim().to_owned())).collect()
}

/// For each external crate the cell that lists its users. `(tests)` marks a crate that needs it only
/// for its tests.
fn users(metadata: &Metadata) -> BTreeMap<String, String> {
    let members = metadata.members();
    let is_ours = |name: &str| members.iter().any(|(_, package)| package.name == name);
    let mut users: BTreeMap<String, BTreeMap<String, bool>> = BTreeMap::new();
    for (_, package) in &members {
        for entry in package.dependencies.iter().filter(|entry| !is_ours(&entry.name)) {
            let of_entry = users.entry(entry.name.clone()).or_default();
            let tests_only = of_entry.entry(package.folder()).or_insert(true);
            *tests_only &= entry.kind == DependencyKind::Dev;
        }
    }
    let word = |(user, tests_only): (&String, &bool)| {
        if *tests_only { format!("{user} (tests)") } else { user.clone() }
    };
    let cell = |users: BTreeMap<String, bool>| users.iter().map(word).collect::<Vec<_>>();
    users.into_iter().map(|(name, users)| (name, cell(users).join(", "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "\
[workspace]
members = []

[workspace.dependencies]
ours = { path = \"crates/ours\" }
# why
bytes = \"1\"
proptest = { version = \"1\" }

[profile.dev]
debug = 1
";

    const PAGE_TEXT: &str = "\
| crate | used by | what for | why this one | rejected |
|---|---|---|---|---|
| bytes | ours | buffers | known | none |
| proptest | other (tests), ours (tests) | chance | shrinks | quickcheck |
";

    fn metadata() -> Metadata {
        Metadata::default()
            .with_member(
                "other",
                &[("ours", DependencyKind::Normal), ("proptest", DependencyKind::Dev)],
            )
            .with_member(
                "ours",
                &[
                    ("bytes", DependencyKind::Dev),
                    ("bytes", DependencyKind::Normal),
                    ("proptest", DependencyKind::Dev),
                ],
            )
    }

    #[test]
    fn a_correct_list_passes() {
        assert_eq!(faults(&metadata(), MANIFEST, PAGE_TEXT), [""; 0]);
    }

    #[test]
    fn a_crate_without_a_row_and_a_row_without_a_crate_are_reported() {
        let page = PAGE_TEXT.replace("| bytes |", "| bites |");
        assert_eq!(
            faults(&metadata(), MANIFEST, &page),
            [
                "docs/dependencies.md: `bytes` has no row",
                "docs/dependencies.md: `bites` is no longer a dependency",
            ]
        );
    }

    #[test]
    fn a_wrong_list_of_users_is_reported_with_the_correct_one() {
        let page = PAGE_TEXT.replace("other (tests), ours (tests)", "other, ours");
        assert_eq!(
            faults(&metadata(), MANIFEST, &page),
            ["docs/dependencies.md: `proptest` has other users; \
             write | other (tests), ours (tests) |"]
        );
    }

    #[test]
    fn an_unused_entry_and_one_that_bypasses_the_workspace_are_reported() {
        let manifest = MANIFEST.replace("# why", "idle = \"1\"");
        let page = format!("{PAGE_TEXT}| idle | | a | b | c |\n");
        assert_eq!(
            faults(&metadata(), &manifest, &page),
            ["Cargo.toml: no crate uses `idle`: remove it"]
        );
        let bypass = metadata().with_member("third", &[("stray", DependencyKind::Normal)]);
        assert_eq!(
            faults(&bypass, MANIFEST, PAGE_TEXT),
            ["`stray` is not in [workspace.dependencies] of Cargo.toml"]
        );
    }

    #[test]
    fn an_empty_reason_is_no_reason() {
        let page = PAGE_TEXT.replace("| known |", "| |");
        assert_eq!(
            faults(&metadata(), MANIFEST, &page),
            ["docs/dependencies.md: the row of `bytes` has an empty cell"]
        );
    }
}
