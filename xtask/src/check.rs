//! `cargo xtask check`: all that a machine can say about the code without running it.
//!
//! Every step runs, whatever the one before found, so that one run shows all there is to mend.

use crate::metadata::Metadata;
use crate::step::{self, Report};
use crate::{cases, dependencies, guarantees, map, no_c, pure, workspace};

const FORMAT: &[&str] = &["fmt", "--all", "--check"];
const LINTS: &[&str] = &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
const DOCS: &[&str] = &["doc", "--workspace", "--no-deps"];

/// Runs every check and lists at the end what does not hold. True when all do.
pub(crate) fn run() -> bool {
    let mut report = Report::default();
    report.step("format", || step::run(&mut workspace::cargo(FORMAT)));
    report.step("lints", || step::run(&mut workspace::cargo(LINTS)));
    report.step("docs", || step::run(workspace::cargo(DOCS).env("RUSTDOCFLAGS", "-D warnings")));
    report.step("cases of OTP", cases::faults_of_page);
    report.step("guarantees", guarantees::faults_of_page);
    match Metadata::load() {
        Ok(metadata) => {
            report.step("map", || map::page_faults(&metadata, map::PAGE));
            report.step("pure crates", || pure::faults(&metadata));
            report.step("no C", || no_c::faults(&metadata));
            report.step("list of dependencies", || dependencies::faults_of_workspace(&metadata));
        }
        Err(error) => report.step("metadata", || vec![error]),
    }
    report.finish()
}
