//! Checks GUARANTEES.md and `docs/versions.md`: each row of their tables of promises links the tests
//! that hold the promise, and the tests exist.

use std::fs;
use std::path::Path;

use crate::checks::cases::{comment_of, links};
use crate::workspace;

/// The pages with promises, relative to the root of the workspace, each with the header of the last
/// column of such a table.
const PAGES: [(&str, &str); 2] = [("GUARANTEES.md", "held by"), ("docs/versions.md", "test")];

/// Faults of the pages; empty if they are correct.
pub(crate) fn faults_of_pages() -> Vec<String> {
    PAGES.iter().flat_map(|(page, held_by)| faults_of_page(page, held_by)).collect()
}

fn faults_of_page(page: &str, held_by: &str) -> Vec<String> {
    let page_path = workspace::root().join(page);
    let read = |path: &Path| fs::read_to_string(page_path.with_file_name("").join(path)).ok();
    match fs::read_to_string(&page_path) {
        Ok(text) => {
            let faults = faults(&text, held_by, &read);
            faults.iter().map(|fault| format!("{page}: {fault}")).collect()
        }
        Err(_) => vec![format!("there is no {page}")],
    }
}

/// Faults of the page `text`, whose tables of promises have the header `held_by` over their last
/// column. `read` returns the text of a file by its path relative to the page.
fn faults(text: &str, held_by: &str, read: &dyn Fn(&Path) -> Option<String>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut promises = 0;
    let mut in_promises = false;
    for row in text.lines() {
        if !row.starts_with('|') {
            in_promises = false;
            continue;
        }
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let (Some(promise), Some(tests)) = (cells.first(), cells.last()) else { continue };
        if *tests == held_by {
            in_promises = true;
            continue;
        }
        if !in_promises || row.starts_with("|---") {
            continue;
        }
        promises += 1;
        let tests = links(tests);
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

    /// Checks the committed pages against the committed tests.
    #[test]
    fn the_guarantees_have_their_tests() {
        assert_eq!(faults_of_pages(), [""; 0]);
    }

    #[test]
    fn a_promise_without_a_test_is_reported() {
        let read = |path: &Path| {
            (path == Path::new("a.rs")).then(|| "#[test]\nfn holds() {}\nfn not() {}\n".to_owned())
        };
        let page = |cell: &str| {
            let page = format!("| promised | held by |\n|---|---|\n| much | {cell} |\n");
            faults(&page, "held by", &read).len()
        };
        assert_eq!(page("[`holds`](a.rs)"), 0);
        assert_eq!(page("[`not`](a.rs)"), 1, "it is no test");
        assert_eq!(page("[`holds`](b.rs), [`none`](a.rs)"), 2);
        assert_eq!(page("trust"), 1);
        assert_eq!(faults("no table", "held by", &read).len(), 1);
        let other = "| a | b |\n|---|---|\n| c | d |\n";
        let both =
            format!("{other}\n| promised | held by |\n|---|---|\n| much | trust |\n\n{other}");
        assert_eq!(faults(&both, "held by", &read), [r#"no test proves "much""#]);
    }
}
