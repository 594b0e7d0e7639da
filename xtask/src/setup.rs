//! Installs the programs that the tests need in addition to a Rust toolchain.
//!
//! The programs are listed in one table. A missing program is installed from the system's package
//! registry. If it is still missing afterwards, the run fails, because a silently skipped test is
//! worse than a failed one. Python packages are in `setup/python.rs`.

mod python;

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

/// A program that tests start.
struct RequiredProgram {
    /// The name of the program, or the path of a file.
    program: &'static str,
    /// The Debian package that contains it.
    package: &'static str,
    why: &'static str,
}

const REQUIRED_PROGRAMS: &[RequiredProgram] = &[
    RequiredProgram {
        program: "chromium",
        package: "chromium",
        why: "checks the lab's page and the live page, and runs the TypeScript client",
    },
    RequiredProgram {
        program: "curl",
        package: "curl",
        why: "a client of the HTTP gateway, with HTTP/2 and certificates",
    },
    RequiredProgram {
        program: "fish",
        package: "fish",
        why: "a live shell that completes the names of methods",
    },
    RequiredProgram {
        program: "go",
        package: "golang-go",
        why: "builds h2spec, which judges the gateway, and mangos, a live peer for the SP sockets",
    },
    RequiredProgram {
        program: "ip",
        package: "iproute2",
        why: "sets up a separate network for each pair of the lab",
    },
    RequiredProgram {
        program: "/usr/include/nng/nng.h",
        package: "libnng-dev",
        why: "builds the C program of docs/clients.md, an NNG client of a node",
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
        program: "node",
        package: "nodejs",
        why: "runs the TypeScript client, and the tests of it and of the live page",
    },
    RequiredProgram {
        program: "npm",
        package: "npm",
        why: "installs what the tests of the TypeScript client and of the live page need",
    },
    RequiredProgram {
        program: "python3",
        package: "python3-venv",
        why: "runs pynng, another live nng peer",
    },
];

/// Installs missing programs and prints a line for each. Prints nothing if none is missing.
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
        Some(required) => Err(format!(
            "{} is missing although {} is installed",
            required.program, required.package
        )),
    }
}

/// Installs system packages, whether or not they are already installed.
pub(crate) fn install_packages(packages: &[&str]) -> Result<(), String> {
    run(apt_get(&["update"]))?;
    run(apt_get(&["install", "--yes", "--no-install-recommends"]).args(packages))
}

fn is_installed(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Non-interactive `apt-get`, through sudo unless the user is root.
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

/// True if this process runs as root; files under /proc/self belong to the user of the process.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    Path::new("/proc/self").metadata().is_ok_and(|metadata| metadata.uid() == 0)
}

/// Runs a command without output. The error contains its standard error.
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
    fn programs_are_found_on_the_path() {
        assert!(is_installed("sh"));
        assert!(!is_installed("no-such-program"));
    }

    #[test]
    fn the_error_of_a_failed_installer_is_quoted() {
        let failed = run(Command::new("sh").args(["-c", "echo no such package >&2; exit 100"]));
        let error = failed.unwrap_err();
        assert!(error.contains("100") && error.ends_with("no such package"), "{error}");
    }
}
