//! Checks GUARANTEES.md: each row of its tables links the tests that hold the promise, and the tests
//! exist.

use std::fs;
use std::path::Path;

use crate::cases::{comment_of, links};
use crate::workspace;

/// The page with the promises, relative to the root of the workspace.
const PAGE: &str = "GUARANTEES.md";

/// The header of the last column of every table.
const HELD_BY: &str = "held by";

/// Faults of the page; empty if the page is correct.
pub(crate) fn faults_of_page() -> Vec<String> {
    let read = |path: &Path| fs::read_to_string(workspace::root().join(path)).ok();
    match read(Path::new(PAGE)) {
        Some(text) => faults(&text, &read).iter().map(|fault| format!("{PAGE}: {fault}")).collect(),
        None => vec![format!("there is no {PAGE}")],
    }
}

/// Faults of the page `text`. `read` returns the text of a file by its path relative to the page.
fn faults(text: &str, read: &dyn Fn(&Path) -> Option<String>) -> Vec<String> {
    let rows = text.lines().filter(|line| line.starts_with('|') && !line.starts_with("|---"));
    let mut faults = Vec::new();
    let mut promises = 0;
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let (Some(promise), Some(held_by)) = (cells.first(), cells.last()) else { continue };
        if *held_by == HELD_BY {
            continue;
        }
        promises += 1;
        let tests = links(held_by);
        if tests.is_empty() {
            faults.push(format!("no test proves {promise:?}"));
        }
        for (test, path) in tests {
            let code = read(Path::new(path)).unwrap_or_default();
            if comment_of(&code, test.trim_matches('`')).is_none() {
                faults.push(format!("{path} has no test {test}, which is to prove {promise:?}"));
            }
        }
    }
    if promises == 0 {
        faults.push("the page has no promises".to_owned());
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the committed page against the committed tests.
    #[test]
    fn the_guarantees_have_their_tests() {
        assert_eq!(faults_of_page(), [""; 0]);
    }

    #[test]
    fn a_promise_without_a_test_is_reported() {
        let read = |path: &Path| {
            (path == Path::new("a.rs")).then(|| "#[test]\nfn holds() {}\nfn not() {}\n".to_owned())
        };
        let page = |cell: &str| {
            faults(&format!("| promised | held by |\n|---|---|\n| much | {cell} |\n"), &read).len()
        };
        assert_eq!(page("[`holds`](a.rs)"), 0);
        assert_eq!(page("[`not`](a.rs)"), 1, "it is no test");
        assert_eq!(page("[`holds`](b.rs), [`none`](a.rs)"), 2);
        assert_eq!(page("trust"), 1);
        assert_eq!(faults("no table", &read).len(), 1);
    }
}
