//! What the tests need beside a Rust toolchain, and how it gets onto the machine.
//!
//! One table. A program that is there is left alone; one that is missing is installed from the
//! system's package registry. When it is still missing after that, the run fails: a test that
//! silently did not run is worse than a red one. What comes as Python packages is in `python.rs`.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::python;

/// A program that tests start.
struct RequiredProgram {
    program: &'static str,
    /// The package that brings it, by its Debian name.
    package: &'static str,
    why: &'static str,
}

const REQUIRED_PROGRAMS: &[RequiredProgram] = &[
    RequiredProgram {
        program: "chromium",
        package: "chromium",
        why: "shows whether the lab's page fits a phone and a desk, light and dark",
    },
    RequiredProgram {
        program: "ip",
        package: "iproute2",
        why: "sets up a network of its own for each pair of the lab",
    },
    RequiredProgram {
        program: "iperf3",
        package: "iperf3",
        why: "what loopback itself can carry, as the limit to measure against",
    },
    RequiredProgram {
        program: "nanocat",
        package: "nanomsg-utils",
        why: "a live nanomsg peer for the SP sockets",
    },
    RequiredProgram {
        program: "nngcat",
        package: "nng-utils",
        why: "a live nng peer for the SP sockets",
    },
    RequiredProgram {
        program: "python3",
        package: "python3-venv",
        why: "runs pynng, another live nng peer",
    },
];

/// Installs what is missing, a line for each. Says nothing when all is there.
pub(crate) fn install() -> Result<(), String> {
    install_programs()?;
    python::install()
}

fn install_programs() -> Result<(), String> {
    let missing: Vec<&RequiredProgram> =
        REQUIRED_PROGRAMS.iter().filter(|required| !is_installed(required.program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    for required in &missing {
        println!("installing {}: {} ({})", required.package, required.program, required.why);
    }
    let mut packages: Vec<&str> = missing.iter().map(|required| required.package).collect();
    packages.dedup();
    install_packages(&packages)?;
    match missing.iter().find(|required| !is_installed(required.program)) {
        None => Ok(()),
        Some(required) => {
            Err(format!("{} is missing though {} is in", required.program, required.package))
        }
    }
}

/// Installs packages of the system, whether they are there or not.
pub(crate) fn install_packages(packages: &[&str]) -> Result<(), String> {
    run(apt_get(&["update"]))?;
    run(apt_get(&["install", "--yes", "--no-install-recommends"]).args(packages))
}

fn is_installed(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// `apt-get` that asks nothing, through sudo unless we are root already.
fn apt_get(arguments: &[&str]) -> Command {
    let mut command = if is_root() {
        Command::new("env")
    } else {
        let mut sudo = Command::new("sudo");
        sudo.arg("env");
        sudo
    };
    command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet=2"]).args(arguments);
    command
}

/// Files under /proc/self belong to the user we run as.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    Path::new("/proc/self").metadata().is_ok_and(|metadata| metadata.uid() == 0)
}

/// Quiet while it works; on failure its own words are the best explanation.
pub(crate) fn run(mut command: impl std::borrow::BorrowMut<Command>) -> Result<(), String> {
    let command = command.borrow_mut();
    let line = crate::step::line_of(command);
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{line} did not start: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(format!("{line} ended with {}\n{}", output.status, stderr.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_looked_up_where_the_shell_would() {
        assert!(is_installed("sh"));
        assert!(!is_installed("no-such-program"));
    }

    #[test]
    fn a_failing_installer_is_quoted() {
        let failed = run(Command::new("sh").args(["-c", "echo no such package >&2; exit 100"]));
        let error = failed.unwrap_err();
        assert!(error.contains("100") && error.ends_with("no such package"), "{error}");
    }
}
