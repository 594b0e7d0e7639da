//! Passes to the lab the commit that it is built from, for its documents.
//!
//! Only the build knows the commit: at run time the checkout may have changed, and a copied program
//! has none. It is read from git in the project's own checkout, and from the notes of `cargo
//! package` in a package. Without either, no commit is passed: a build never fails for this reason,
//! and nothing is fetched.

use std::fs;
use std::path::Path;
use std::process::Command;

/// The number of digits of a commit, enough to identify it.
const DIGITS: usize = 10;

/// The sources of the program, as seen from this folder; a change elsewhere does not change it.
const SOURCES: [&str; 9] = [
    "src",
    "Cargo.toml",
    "../wire/src",
    "../sp/src",
    "../link/src",
    "../actor/src",
    "../macros/src",
    "../net/src",
    "../wigwag/src",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Some(commit) = of_checkout().or_else(of_package) {
        println!("cargo::rustc-env=WIGWAG_COMMIT={commit}");
    }
}

/// The commit of the checkout, with a note if there are uncommitted changes. The checkout must
/// begin two folders up: a checkout around a copy of this crate is that of another project.
fn of_checkout() -> Option<String> {
    if !Path::new("../../.git").exists() {
        return None;
    }
    // Written by every commit and every checkout.
    println!("cargo::rerun-if-changed={}", git(&["rev-parse", "--git-path", "logs/HEAD"])?);
    SOURCES.iter().for_each(|source| println!("cargo::rerun-if-changed={source}"));
    let commit = shortened(&git(&["rev-parse", "HEAD"])?)?;
    let status = ["status", "--porcelain", "--"];
    let changed = git(&[&status[..], &SOURCES[..]].concat())?;
    Some(if changed.is_empty() { commit } else { format!("{commit} and changes") })
}

/// The commit that the package was made of.
fn of_package() -> Option<String> {
    let noted = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, after) = noted.split_once("\"sha1\"")?;
    shortened(after.split('"').nth(1)?)
}

/// The output of git; `None` if git is missing or fails.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = output.status.success().then(|| String::from_utf8(output.stdout))?;
    Some(text.ok()?.trim().to_owned())
}

fn shortened(commit: &str) -> Option<String> {
    let digits = commit.get(..DIGITS)?;
    digits.chars().all(|digit| digit.is_ascii_hexdigit()).then(|| digits.to_owned())
}
