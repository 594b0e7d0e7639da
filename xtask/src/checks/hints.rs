//! Checks that the hints of errors name nothing that does not exist.
//!
//! A hint is a text in a function whose name is `hint` or ends in `_hint`. In it, every name of the
//! API and every command stands in backticks. The names are looked up in the pages that `cargo doc`
//! has made of `wigwag`; a test of the command checks the commands.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::checks::exports::{is_local, links};
use crate::metadata::Metadata;
use crate::workspace;

/// The crates whose errors `wigwag` exports.
const CRATES: [&str; 3] = ["actor", "net", "wigwag"];

/// One line for each name in a hint that is not part of the API, and for each name without backticks.
pub(crate) fn faults(metadata: &Metadata) -> Vec<String> {
    let api = match Api::load(&metadata.target.join("doc/wigwag")) {
        Ok(api) => api,
        Err(error) => return vec![error],
    };
    let mut faults = Vec::new();
    for name in CRATES {
        let mut hints = Vec::new();
        if let Err(error) =
            collect(&workspace::root().join("crates").join(name).join("src"), &mut hints)
        {
            return vec![error];
        }
        if hints.is_empty() {
            faults.push(format!("the crate {name} has no hints: is `fn hint` still their name?"));
        }
        let wrong = hints.iter().flat_map(|hint| api.faults_of(hint));
        faults.extend(wrong.map(|fault| format!("{name}: {fault}")));
    }
    faults
}

/// Adds the hints in all files of a folder.
fn collect(folder: &Path, hints: &mut Vec<String>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            collect(&path, hints)?;
        } else {
            hints.extend(hints_in(&fs::read_to_string(&path).map_err(failed)?));
        }
    }
    Ok(())
}

/// The texts in all functions named `hint` or `..._hint`.
fn hints_in(code: &str) -> Vec<String> {
    let starts = code.match_indices("hint(").filter(|(at, _)| {
        let before = &code[..*at];
        let name = before.trim_end_matches(|c: char| c.is_ascii_lowercase() || c == '_');
        name.ends_with("fn ") && (before.len() == name.len() || before.ends_with('_'))
    });
    starts.flat_map(|(at, _)| texts_of_block(&code[at..])).collect()
}

/// The string literals in the first block of `code`. Escapes other than a line's end do not occur in
/// hints.
fn texts_of_block(code: &str) -> Vec<String> {
    let (mut depth, mut texts, mut rest) = (0, Vec::new(), code);
    while let Some(at) = rest.find(['{', '}', '"']) {
        let (found, behind) = (rest.as_bytes()[at], &rest[at + 1..]);
        rest = behind;
        match found {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {
                let Some((text, behind)) = behind.split_once('"') else { break };
                let lines = text.split("\\\n").enumerate();
                let parts =
                    lines.map(|(number, part)| if number == 0 { part } else { part.trim_start() });
                texts.push(parts.collect());
                rest = behind;
            }
        }
        if depth == 0 && found == b'}' {
            break;
        }
    }
    texts
}

/// The names of the API.
#[derive(Default)]
struct Api {
    /// Types, traits, macros, modules and functions, without their paths.
    items: BTreeSet<String>,
    /// `Type::method` and `module::function`.
    members: BTreeSet<String>,
}

impl Api {
    /// Reads the pages of a crate.
    fn load(pages: &Path) -> Result<Api, String> {
        let read = |page: &str| {
            let path = pages.join(page);
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let mut api = Api::default();
        for page in links(&read("all.html")?).filter(|link| is_local(link)) {
            api.add(page, &read(page)?);
        }
        Ok(api)
    }

    /// Adds the item of a page, as `lifecycle/trait.Alive.html`, with its members.
    fn add(&mut self, page: &str, text: &str) {
        let (folder, file) = page.rsplit_once('/').unwrap_or_default();
        let file = if folder.is_empty() { page } else { file };
        let Some((kind, name)) = file.trim_end_matches(".html").split_once('.') else { return };
        self.items.insert(name.to_owned());
        let module = folder.rsplit('/').next().unwrap_or_default();
        if kind == "fn" {
            self.members.insert(format!("{module}::{name}"));
        }
        let ids = text.split("id=\"").skip(1).filter_map(|rest| rest.split('"').next());
        let members = ids.filter_map(|id| id.split_once('.'));
        let kinds = ["method", "tymethod", "variant", "structfield", "associatedconstant"];
        let members = members.filter(|(kind, _)| kinds.contains(kind));
        self.members.extend(members.map(|(_, member)| format!("{name}::{member}")));
    }

    /// The faults of one hint.
    fn faults_of(&self, hint: &str) -> Vec<String> {
        let mut faults = Vec::new();
        for (number, part) in hint.split('`').enumerate() {
            if number % 2 == 1 {
                if !part.starts_with("wigwag ") && !self.has(part) {
                    faults.push(format!("no `{part}` in the API, which a hint names: {hint}"));
                }
            } else if let Some(word) = part.split_whitespace().find(|word| is_name(word)) {
                faults.push(format!("`{word}` needs backticks in the hint: {hint}"));
            }
        }
        faults
    }

    fn has(&self, name: &str) -> bool {
        let name = name.trim_end_matches(".await").trim_end_matches("()");
        let member = format!("::{name}");
        self.members.contains(name)
            || self.items.contains(name)
            || self.members.iter().any(|known| known.ends_with(&member))
    }
}

/// Whether a word of a hint can only be a name of the API or an option of the command.
fn is_name(word: &str) -> bool {
    let word =
        word.trim_matches(|c: char| !c.is_alphanumeric() && c != '-' && c != '_' && c != ')');
    let is_camel =
        word.chars().skip(1).any(char::is_uppercase) && word.chars().any(char::is_lowercase);
    let is_address = word.contains("://");
    let is_marked = word.contains("::") || word.contains('_') || word.contains("()");
    !is_address && (is_camel || is_marked || word.starts_with("--"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api() -> Api {
        let mut api = Api::default();
        api.add("struct.Call.html", r#"<a id="method.tell"></a><a id="impl-Debug"></a>"#);
        api.add("registry/fn.wait_for.html", "");
        api
    }

    #[test]
    fn names_of_the_api_are_found_with_and_without_their_type() {
        for name in ["Call", "Call::tell", "tell", "tell().await", "registry::wait_for"] {
            assert_eq!(api().faults_of(&format!("try `{name}` instead")), [""; 0]);
        }
        assert_eq!(api().faults_of("run `wigwag describe ADDRESS` at tcp://:PORT"), [""; 0]);
    }

    #[test]
    fn a_name_that_does_not_exist_is_a_fault() {
        for name in ["Call::ask", "ell", "registry::find", "Calls"] {
            let faults = api().faults_of(&format!("try `{name}` instead"));
            assert!(faults[0].starts_with(&format!("no `{name}` in the API")), "{faults:?}");
        }
    }

    #[test]
    fn a_name_without_backticks_is_a_fault() {
        for name in ["Call::tell", "wait_for", "tell()", "ActorOptions", "--deadline"] {
            let faults = api().faults_of(&format!("try {name}, or not"));
            assert!(faults[0].starts_with(&format!("`{name}")), "{faults:?}");
        }
    }

    #[test]
    fn the_texts_of_hint_functions_are_collected_and_no_others() {
        let code = "fn text() { \"no\" }\nfn hint(&self) -> &str { match self { A => \"one\", \
                    B => \"in \\\n    two\" } }\nfn session_hint(e: &E) -> &str { \"three\" }\n\
                    fn f() { self.hint(); \"no\" }";
        assert_eq!(hints_in(code), ["one", "in two", "three"]);
    }
}
