//! `cargo xtask check`: all static checks of the workspace.
//!
//! Every step runs, even after a failed one, so that one run shows all faults.

use crate::metadata::Metadata;
use crate::step::{self, Report};
use crate::{cases, dependencies, exports, guarantees, hints, map, no_c, pure, rooms, workspace};

const FORMAT: &[&str] = &["fmt", "--all", "--check"];
const LINTS: &[&str] = &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
const DOCS: &[&str] = &["doc", "--workspace", "--no-deps"];

/// Runs every check and lists the faults at the end. Returns true if there are none.
pub(crate) fn run() -> bool {
    let mut report = Report::default();
    report.step("format", || step::run(&mut workspace::cargo(FORMAT)));
    report.step("lints", || step::run(&mut workspace::cargo(LINTS)));
    report.step("docs", || step::run(workspace::cargo(DOCS).env("RUSTDOCFLAGS", "-D warnings")));
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
