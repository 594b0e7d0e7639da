//! Checks that no public signature of `wigwag` shows a type that `wigwag` does not export.
//!
//! The check reads the pages that `cargo doc` has made. A signature that names a type links the page
//! of the type, and a type that `wigwag` does not export has its page in another crate's folder.
//! Lists of implementations are skipped: a type that implements a public trait is not exposed by it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::metadata::Metadata;

/// Kinds of items that a user needs a path for when a signature names them.
const KINDS: [&str; 5] = ["struct", "enum", "trait", "union", "type"];

/// One line for each type and page of the facade that links it in another crate's documentation.
pub(crate) fn faults(metadata: &Metadata) -> Vec<String> {
    let pages = metadata.target.join("doc/wigwag");
    match fs::read_to_string(pages.join("all.html")) {
        Ok(index) => {
            let listed: BTreeSet<&str> = links(&index).filter(|link| is_local(link)).collect();
            listed.into_iter().flat_map(|page| faults_of_page(&pages, page)).collect()
        }
        Err(error) => vec![format!("{}: {error}", pages.join("all.html").display())],
    }
}

fn faults_of_page(pages: &Path, page: &str) -> Vec<String> {
    match fs::read_to_string(pages.join(page)) {
        Ok(text) => {
            let found = foreign(&text);
            found.iter().map(|name| format!("wigwag/{page} shows `{name}`")).collect()
        }
        Err(error) => vec![format!("wigwag/{page}: {error}")],
    }
}

/// The types of other crates of this workspace that a page links before its list of implementations.
fn foreign(text: &str) -> BTreeSet<String> {
    let signatures = text.split("id=\"implementors\"").next().unwrap_or_default();
    links(signatures).filter_map(foreign_type).collect()
}

/// The path of a type if the link leads to one of another crate of this workspace.
fn foreign_type(link: &str) -> Option<String> {
    let path = link.trim_start_matches("../").split('#').next()?;
    let (folder, file) = path.rsplit_once('/')?;
    let (kind, name) = file.strip_suffix(".html")?.split_once('.')?;
    let is_type = path.starts_with("wigwag_") && KINDS.contains(&kind);
    is_type.then(|| format!("{}::{name}", folder.replace('/', "::")))
}

/// Whether the link leads to a page in the same crate's folder.
pub(crate) fn is_local(link: &str) -> bool {
    !link.starts_with("../") && !link.contains("://") && link.ends_with(".html")
}

/// The targets of all links of a page.
pub(crate) fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_of_another_crate_in_a_signature_is_a_fault() {
        let page = r##"<a href="../../wigwag_sp/counters/enum.DropReason.html#variant.X">X</a>"##;
        assert_eq!(foreign(page), BTreeSet::from(["wigwag_sp::counters::DropReason".to_owned()]));
    }

    #[test]
    fn exported_types_and_implementations_are_no_faults() {
        let exported = r#"<a href="struct.Ref.html"></a><a href="../wigwag/struct.Ref.html"></a>"#;
        let constant = r#"<a href="../wigwag_sp/limits/constant.CONTEXTS_MAX.html"></a>"#;
        let listed = r#"<h2 id="implementors"><a href="../wigwag_net/tcp/struct.Tcp.html"></a>"#;
        assert_eq!(foreign(&format!("{exported}{constant}{listed}")), BTreeSet::new());
    }
}
