//! Checks that the pure crates use no sockets, no clock and no threads.
//!
//! Three checks support each other. All dependencies of a pure crate must be on a short list. The
//! crate is `#![no_std]`, so the compiler refuses the sockets and clocks of std. It forbids unsafe
//! code, so it can make no system calls by itself.

use std::fs;
use std::path::Path;

use crate::metadata::{Metadata, Package};

/// Folders of the pure crates, which receive bytes and time as arguments.
const PURE: &[&str] = &["wire", "sp", "link"];

/// The packages that a pure crate may depend on: shared buffers, the derive for error texts with its
/// dependencies, and `wigwag-wire`, which the other two use.
const ALLOWED: &[&str] = &[
    "bytes",
    "proc-macro2",
    "quote",
    "syn",
    "thiserror",
    "thiserror-impl",
    "unicode-ident",
    "wigwag-wire",
];

/// The packages whose types have an encoding in `wire`, each behind a feature, and their
/// dependencies. None has its features for clocks or randomness.
const ALLOWED_TYPES: &[&str] = &[
    "arrayvec",
    "autocfg",
    "chrono",
    "deranged",
    "itoa",
    "libm",
    "memchr",
    "num-conv",
    "num-traits",
    "powerfmt",
    "rust_decimal",
    "serde_core",
    "serde_json",
    "time",
    "time-core",
    // Not compiled: `cargo metadata` follows a weak feature of rcgen that asks time for it.
    "time-macros",
    "uuid",
    "zmij",
];

const REQUIRED_ATTRIBUTES: &[&str] = &["#![no_std]", "#![forbid(unsafe_code)]"];

/// Faults of the pure crates; empty if all of them are pure.
pub(crate) fn faults(metadata: &Metadata) -> Vec<String> {
    let mut faults = reach_faults(metadata);
    for folder in PURE {
        if let Some((_, package)) = metadata.member_in(folder) {
            faults.extend(source_faults(package));
        }
    }
    faults
}

/// Dependencies of the pure crates that are not on the list.
fn reach_faults(metadata: &Metadata) -> Vec<String> {
    let mut faults = Vec::new();
    for folder in PURE {
        let Some((from, _)) = metadata.member_in(folder) else {
            faults.push(format!("the pure crate `{folder}` does not exist"));
            continue;
        };
        let closure = metadata.closure(from);
        for id in closure.ids().filter(|&id| id != from) {
            let name = metadata.packages.get(id).map_or(id, |package| package.name.as_str());
            if !ALLOWED.contains(&name) && !ALLOWED_TYPES.contains(&name) {
                let path = metadata.path_to(&closure, id);
                faults.push(format!("`{folder}` must be pure but depends on `{name}`: {path}"));
            }
        }
    }
    faults
}

fn source_faults(package: &Package) -> Vec<String> {
    let source = package.directory.join("src");
    let mut faults = match fs::read_to_string(source.join("lib.rs")) {
        Ok(text) => head_faults(&package.folder(), &text),
        Err(error) => vec![format!("{}: {error}", source.join("lib.rs").display())],
    };
    if let Err(error) = find_std(&source, &mut faults) {
        faults.push(format!("{}: {error}", source.display()));
    }
    faults
}

/// Missing attributes in the head of `lib.rs`. Only comments and other attributes may precede them.
fn head_faults(folder: &str, text: &str) -> Vec<String> {
    let is_head = |line: &&str| line.is_empty() || line.starts_with("//") || line.starts_with("#!");
    let head: Vec<&str> = text.lines().map(str::trim).take_while(is_head).collect();
    let missing = REQUIRED_ATTRIBUTES.iter().filter(|attribute| !head.contains(*attribute));
    missing.map(|attribute| format!("`{folder}`: lib.rs does not begin with {attribute}")).collect()
}

/// The file of a pure crate that may link std, because the traits for its types are there.
const HOSTED: &str = "types/hosted.rs";

/// Words that [`HOSTED`] may not contain: everything that waits, or that depends on more than its arguments.
const HOSTED_WITHOUT: &[&str] =
    &["Instant", "now(", "thread", "net::", "fs::", "io::", "process", "env::", "random", "sync"];

/// Finds `extern crate std`, which would bypass `no_std`. Only tests and [`HOSTED`] may use it.
fn find_std(folder: &Path, faults: &mut Vec<String>) -> Result<(), std::io::Error> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find_std(&path, faults)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path)?;
            if path.ends_with(HOSTED) {
                faults.extend(hosted_faults(&text));
            } else if links_std(&text) {
                let path = path.display();
                faults.push(format!("{path}: `extern crate std` without `#[cfg(test)]` above it"));
            }
        }
    }
    Ok(())
}

/// The parts of std beyond values that [`HOSTED`] uses.
fn hosted_faults(text: &str) -> Vec<String> {
    let code: Vec<&str> = text.lines().filter(|line| !line.trim().starts_with("//")).collect();
    let used = HOSTED_WITHOUT.iter().filter(|word| code.iter().any(|line| line.contains(*word)));
    used.map(|word| format!("{HOSTED} may use values of std only, and names `{word}`")).collect()
}

fn links_std(text: &str) -> bool {
    let mut above = "";
    for line in text.lines().map(str::trim) {
        if line.contains("extern crate std") && !line.starts_with("//") && above != "#[cfg(test)]" {
            return true;
        }
        above = line;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::DependencyKind;

    /// Checks invariant 1 of the architecture for the workspace itself.
    #[test]
    fn wire_sp_and_link_reach_neither_sockets_nor_a_clock() {
        assert_eq!(faults(&Metadata::load().unwrap()), [""; 0]);
    }

    fn three_pure_crates() -> Metadata {
        let needs = [("bytes", DependencyKind::Normal), ("proptest", DependencyKind::Dev)];
        Metadata::default()
            .with_member("wire", &needs)
            .with_member("sp", &needs)
            .with_member("link", &needs)
            .with_foreign("bytes", &[])
            .with_foreign("proptest", &[("rand", DependencyKind::Normal)])
    }

    #[test]
    fn the_file_that_links_std_uses_values_of_it_only() {
        let text = "//! no thread\nextern crate std;\nuse std::collections::HashMap;\n";
        assert_eq!(hosted_faults(text), [""; 0]);
        assert_eq!(hosted_faults(&format!("{text}SystemTime::now();")).len(), 1);
        assert_eq!(hosted_faults(&format!("{text}use std::net::TcpStream;")).len(), 1);
    }

    #[test]
    fn test_dependencies_are_ignored() {
        assert_eq!(reach_faults(&three_pure_crates()), [""; 0]);
    }

    #[test]
    fn an_indirect_dependency_is_reported() {
        let metadata = three_pure_crates()
            .with_foreign("bytes", &[("helper", DependencyKind::Normal)])
            .with_foreign("helper", &[])
            .with_member("sp", &[]);
        assert_eq!(
            reach_faults(&metadata),
            [
                "`wire` must be pure but depends on `helper`: wire -> bytes -> helper",
                "`link` must be pure but depends on `helper`: link -> bytes -> helper",
            ]
        );
    }

    #[test]
    fn a_missing_pure_crate_is_reported() {
        let mut metadata = three_pure_crates();
        metadata.packages.remove("link");
        assert_eq!(reach_faults(&metadata).len(), 1);
    }

    #[test]
    fn the_attributes_must_be_in_the_head() {
        let right = "//! Words.\n\n#![no_std]\n#![forbid(unsafe_code)]\n\nextern crate alloc;\n";
        assert_eq!(head_faults("sp", right), [""; 0]);
        let late = "//! Words.\n#![no_std]\nextern crate alloc;\n// #![forbid(unsafe_code)]\n";
        assert_eq!(
            head_faults("sp", late),
            ["`sp`: lib.rs does not begin with #![forbid(unsafe_code)]"]
        );
        let sometimes = "#![cfg_attr(not(test), no_std)]\n#![forbid(unsafe_code)]\n";
        assert_eq!(head_faults("sp", sometimes).len(), 1);
    }

    #[test]
    fn only_tests_may_use_std() {
        assert!(!links_std("#[cfg(test)]\nextern crate std;\n"));
        assert!(links_std("#[cfg(unix)]\nextern crate std;\n"));
        assert!(!links_std("// no extern crate std here\n"));
    }
}
