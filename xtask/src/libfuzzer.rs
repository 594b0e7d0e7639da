//! Runs libFuzzer on each target of `fuzz/`, a few minutes each.
//!
//! Unlike the driver of the tests, libFuzzer is guided by coverage. It needs a nightly toolchain,
//! cargo-fuzz and a C++ compiler, which no other command needs. They are not installed
//! automatically: if one is missing, the run fails and says how to install it.

use std::fs;
use std::process::Command;

use crate::tally::Tally;
use crate::{setup, step, workspace};

/// Seconds per target.
const SECONDS: u32 = 180;

const MEND: &str = "\
 hint: rustup toolchain install nightly --profile minimal
       cargo install cargo-fuzz --locked";

/// Runs every target. A target counts as a test that passes if nothing is found within its time.
pub(crate) fn run() -> Tally {
    let targets = match check_tools().and_then(|()| targets()) {
        Ok(targets) => targets,
        Err(error) => {
            println!("{error}");
            return Tally::BROKEN;
        }
    };
    let mut tally = Tally::default();
    for target in targets {
        let faults = step::timed(&format!("libFuzzer: {target}"), || run_target(&target));
        for fault in &faults {
            println!("{fault}");
        }
        let passed = Tally { passed: 1, ..Tally::default() };
        tally += if faults.is_empty() { passed } else { Tally::BROKEN };
    }
    tally
}

fn check_tools() -> Result<(), String> {
    for arguments in [&["--version"][..], &["fuzz", "--version"]] {
        if let Err(error) = setup::run(nightly_cargo().args(arguments)) {
            return Err(format!("libFuzzer cannot run: {error}\n{MEND}"));
        }
    }
    Ok(())
}

/// Cargo of the nightly toolchain. The cargo that started this process has set variables that name
/// another toolchain, so they are removed.
fn nightly_cargo() -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo"]).current_dir(workspace::root());
    for variable in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(variable);
    }
    command
}

/// The names of the targets; each is a file.
fn targets() -> Result<Vec<String>, String> {
    let folder = workspace::root().join("fuzz/fuzz_targets");
    let files = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let files = files.filter_map(|file| Some(file.ok()?.path()));
    let stem = |file: std::path::PathBuf| Some(file.file_stem()?.to_str()?.to_owned());
    let mut targets: Vec<String> = files.filter_map(stem).collect();
    targets.sort();
    Ok(targets)
}

/// Writes the seeds of a target, then runs it. Inputs found by earlier runs are in the same folder.
fn run_target(target: &str) -> Vec<String> {
    let corpus = format!("fuzz/corpus/{target}");
    let example = ["run", "--quiet", "--package", "wigwag-conformance", "--example", "fuzz_seeds"];
    let seeds = step::run(workspace::cargo(&example).args([target, &corpus]));
    if !seeds.is_empty() {
        return seeds;
    }
    let time = format!("-max_total_time={SECONDS}");
    let options = ["-dict=fuzz/sp.dict", "-max_len=4096", "-print_final_stats=1", &time];
    step::run(nightly_cargo().args(["fuzz", "run", target, "--"]).args(options))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_is_a_target() {
        assert_eq!(
            targets().unwrap(),
            ["forward", "framing", "header", "hostile", "protocol", "ring", "session"]
        );
    }
}
