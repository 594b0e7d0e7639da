//! `cargo xtask check`: all static checks of the workspace.
//!
//! Every step runs, even after a failed one, so that one run shows all faults.

pub(crate) mod map;
mod rooms;
mod cases;
mod guarantees;
mod pure;
mod no_c;
mod dependencies;
mod exports;
mod hints;

use crate::metadata::Metadata;
use crate::step::{self, Report};
use crate::workspace;

const FORMAT: &[&str] = &["fmt", "--all", "--check"];
const LINTS: &[&str] = &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
/// The pages of the facade come last: a signature links a type of another crate only if the pages of
/// that crate are there, and the check of exports reads the links.
const DOCS: [&[&str]; 2] = [
    &["doc", "--workspace", "--no-deps", "--exclude", "wigwag"],
    &["doc", "--no-deps", "--package", "wigwag", "--features", "shm,tls,ws"],
];

/// Runs every check and lists the faults at the end. Returns true if there are none.
pub(crate) fn run() -> bool {
    let mut report = Report::default();
    report.step("format", || step::run(&mut workspace::cargo(FORMAT)));
    report.step("lints", || step::run(&mut workspace::cargo(LINTS)));
    report.step("docs", || {
        let make =
            |docs: &[&str]| step::run(workspace::cargo(docs).env("RUSTDOCFLAGS", "-D warnings"));
        DOCS.into_iter().flat_map(make).collect()
    });
    report.step("cases of OTP", cases::faults_of_page);
    report.step("guarantees", guarantees::faults_of_pages);
    report.step("rooms", rooms::faults_of_workspace);
    match Metadata::load() {
        Ok(metadata) => {
            report.step("exports", || exports::faults(&metadata));
            report.step("hints", || hints::faults(&metadata));
            report.step("map", || map::page_faults(&metadata, map::PAGE));
            report.step("pure crates", || pure::faults(&metadata));
            report.step("no C", || no_c::faults(&metadata));
            report.step("list of dependencies", || dependencies::faults_of_workspace(&metadata));
        }
        Err(error) => report.step("metadata", || vec![error]),
    }
    report.finish()
}
