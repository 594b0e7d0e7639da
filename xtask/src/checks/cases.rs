//! Checks docs/otp-cases.md: each case of OTP's suites links a test that names it, or gives a reason.
//!
//! The page has one section with one table for each suite. The last cell of a row links the tests of
//! the case, or says why there is none. A linked test must exist in its file, must be a test, and
//! must name the case in its doc comment or as its own name.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::{table, workspace};

/// The page with the cases, relative to the root of the workspace.
const PAGE: &str = "docs/otp-cases.md";

const HEADER: [&str; 3] = ["case", "what it holds", "held by"];

/// The suites that have a table. The title of a section begins with the name of its suite.
const SUITES: [&str; 3] = ["gen_server_SUITE", "supervisor_SUITE", "pg_SUITE"];

/// Prefixes of a cell that links no test.
const REASONS: [&str; 2] = ["left out: ", "does not hold yet: "];

/// Faults of the page; empty if the page is correct.
pub(crate) fn faults_of_page() -> Vec<String> {
    let read = |path: &Path| fs::read_to_string(workspace::root().join("docs").join(path)).ok();
    match fs::read_to_string(workspace::root().join(PAGE)) {
        Ok(text) => faults(&text, &read).iter().map(|fault| format!("{PAGE}: {fault}")).collect(),
        Err(error) => vec![format!("{PAGE}: {error}")],
    }
}

/// Faults of the page `text`. `read` returns the text of a file by its path relative to the page.
fn faults(text: &str, read: &dyn Fn(&Path) -> Option<String>) -> Vec<String> {
    let mut faults = Vec::new();
    let (mut held, mut all) = (0, 0);
    for suite in SUITES {
        let Some(section) = text.split("\n## ").find(|section| section.starts_with(suite)) else {
            faults.push(format!("no section `## {suite}`"));
            continue;
        };
        let rows = match table::rows(section, &HEADER) {
            Ok(rows) => rows,
            Err(error) => {
                faults.push(format!("{suite}: {error}"));
                continue;
            }
        };
        let mut seen = BTreeSet::new();
        for row in &rows {
            let [case, words, cell] = row.as_slice() else { continue };
            if !seen.insert(case) {
                faults.push(format!("{suite}: `{case}` has two rows"));
            }
            if words.is_empty() {
                faults.push(format!("{suite}: `{case}` has no description"));
            }
            all += 1;
            held += usize::from(cell.starts_with('['));
            faults.extend(cell_faults(case, cell, read));
        }
    }
    let sum = format!("{held} of {all} cases have a test");
    if !text.contains(&sum) {
        faults.push(format!("write: {sum}"));
    }
    faults
}

fn cell_faults(case: &str, cell: &str, read: &dyn Fn(&Path) -> Option<String>) -> Vec<String> {
    if !cell.starts_with('[') {
        let has_reason = REASONS
            .iter()
            .any(|start| cell.strip_prefix(start).is_some_and(|reason| !reason.trim().is_empty()));
        let fault = format!("`{case}` links no test and does not begin with one of {REASONS:?}");
        return if has_reason { Vec::new() } else { vec![fault] };
    }
    let mut faults = Vec::new();
    for (test, path) in links(cell) {
        match read(Path::new(path)) {
            None => faults.push(format!("`{case}`: there is no file {path}")),
            Some(code) => match comment_of(&code, test) {
                None => faults.push(format!("`{case}`: {path} has no test `{test}`")),
                Some(comment) if test != case && !names(&comment, case) => {
                    faults.push(format!(
                        "`{case}` is not named in the comment of `{test}` in {path}"
                    ));
                }
                Some(_) => {}
            },
        }
    }
    faults
}

/// The Markdown links of a cell, as text and target.
pub(crate) fn links(cell: &str) -> Vec<(&str, &str)> {
    let link = |piece| {
        let (text, rest): (&str, &str) = str::split_once(piece, "](")?;
        Some((text, rest.split_once(')')?.0))
    };
    cell.split('[').skip(1).filter_map(link).collect()
}

/// The doc comment of the test `test`, empty if it has none; `None` if `code` has no such test.
pub(crate) fn comment_of(code: &str, test: &str) -> Option<String> {
    let lines: Vec<&str> = code.lines().collect();
    let is_it = |line: &&str| {
        let name = line.trim_start().trim_start_matches("async ").strip_prefix("fn ");
        name.is_some_and(|name| name.strip_prefix(test).is_some_and(|rest| rest.starts_with('(')))
    };
    let at = lines.iter().position(is_it)?;
    let above: Vec<&str> = lines[..at]
        .iter()
        .rev()
        .map(|line| line.trim())
        .take_while(|line| line.starts_with("///") || line.starts_with('#'))
        .collect();
    let is_test =
        above.iter().any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"));
    let comment = above.iter().rev().filter_map(|line| line.strip_prefix("///"));
    is_test.then(|| comment.collect::<Vec<_>>().join(" "))
}

/// True if `text` contains `case` as a whole word.
fn names(text: &str, case: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == case)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the committed page against the committed tests.
    #[test]
    fn the_cases_of_otp_have_their_tests() {
        assert_eq!(faults_of_page(), [""; 0]);
    }

    const CODE: &str = "\
/// gen_server_SUITE: start,
/// stop1. Words.
#[tokio::test]
async fn it_starts() {}

#[test]
fn start() {}

/// gen_server_SUITE: stop1
fn no_test() {}
";

    /// A page with `rows` in the table of each suite.
    fn page(rows: &str) -> String {
        let table = format!("| case | what it holds | held by |\n|---|---|---|\n{rows}");
        let sections = SUITES.map(|suite| format!("\n## {suite}\n\n{table}\n"));
        format!("# Page\n\n3 of 3 cases have a test.\n{}", sections.concat())
    }

    fn faults_of(rows: &str) -> Vec<String> {
        let read = |path: &Path| (path == Path::new("../a.rs")).then(|| CODE.to_owned());
        let mut faults = faults(&page(rows), &read);
        faults.dedup();
        faults
    }

    #[test]
    fn a_test_that_names_its_case_is_accepted() {
        for (case, test) in [("start", "it_starts"), ("stop1", "it_starts"), ("start", "start")] {
            let row = format!("| `{case}` | words | [{test}](../a.rs) |\n");
            assert_eq!(faults_of(&row), [""; 0]);
        }
    }

    #[test]
    fn missing_tests_files_and_descriptions_are_reported() {
        for (row, fault) in [
            ("| `start` | words | [gone](../a.rs) |\n", "has no test `gone`"),
            ("| `stop1` | words | [no_test](../a.rs) |\n", "has no test `no_test`"),
            ("| `start` | words | [it_starts](../b.rs) |\n", "no file ../b.rs"),
            ("| `stop` | words | [it_starts](../a.rs) |\n", "`stop` is not named"),
            ("| `start` | words | [start](../a.rs), [gone](../a.rs) |\n", "no test `gone`"),
            ("| `start` | | [start](../a.rs) |\n", "`start` has no description"),
        ] {
            let faults = faults_of(row);
            assert!(
                !faults.is_empty() && faults.iter().all(|one| one.contains(fault)),
                "{faults:?}"
            );
        }
    }

    #[test]
    fn a_case_without_a_test_needs_a_reason_and_is_not_counted() {
        let left_out = "| `start` | words | left out: there are no such names |\n";
        assert_eq!(faults_of(left_out), ["write: 0 of 3 cases have a test"]);
        for cell in ["", "later", "left out:", "left out: "] {
            let faults = faults_of(&format!("| `start` | words | {cell} |\n"));
            assert!(faults[0].contains("links no test"), "{faults:?}");
        }
    }

    #[test]
    fn a_missing_section_and_a_duplicate_row_are_reported() {
        let row = "| `start` | words | [start](../a.rs) |\n";
        assert!(faults_of(&row.repeat(2))[0].contains("two rows"));
        let read = |_: &Path| None;
        assert_eq!(faults("# Page", &read).len(), 4);
    }
}
