//! Installs the Python packages that the tests need, into virtual environments in the target folder.
//!
//! The list of packages with their exact versions is next to the program that uses them. After a
//! complete installation a copy of the list is written into the environment. While the copy equals
//! the list, nothing is installed or printed. A broken or outdated environment is created anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{setup, workspace};

/// A virtual environment that tests use.
struct Environment {
    /// The name of its folder in the folder that cargo passes to tests as `CARGO_TARGET_TMPDIR`.
    name: &'static str,
    /// The list of packages, relative to the root of the workspace.
    list: &'static str,
    why: &'static str,
}

const ENVIRONMENTS: &[Environment] = &[
    Environment {
        name: "jsonschema",
        list: "crates/cli/tests/command/json_schema/requirements.txt",
        why: "checks values against the schemas that the command prints",
    },
    Environment {
        name: "openapi",
        list: "crates/gateway/tests/http/openapi/requirements.txt",
        why: "validates the document that the HTTP gateway serves",
    },
    Environment {
        name: "prometheus",
        list: "crates/wigwag/tests/nodes/metrics/prometheus/requirements.txt",
        why: "reads the page of a node's metrics",
    },
    Environment {
        name: "pynng",
        list: "crates/net/tests/outside_sp/pynng/requirements.txt",
        why: "a live NNG peer with contexts and polyamorous pairs, for the SP sockets",
    },
];

/// The copy of the list, written last.
const INSTALLED: &str = "installed.txt";

/// Creates each environment that does not match its list.
pub(crate) fn install() -> Result<(), String> {
    let target = target_folder()?;
    for environment in ENVIRONMENTS {
        let list = workspace::root().join(environment.list);
        let folder = target.join("tmp").join(environment.name);
        if is_up_to_date(&folder, &list)? {
            continue;
        }
        println!("installing {}: {} ({})", environment.list, folder.display(), environment.why);
        create(&folder, &list)?;
    }
    Ok(())
}

fn is_up_to_date(folder: &Path, list: &Path) -> Result<bool, String> {
    let wanted = fs::read(list).map_err(|error| format!("{}: {error}", list.display()))?;
    let installed = fs::read(folder.join(INSTALLED)).ok();
    Ok(installed.is_some_and(|installed| installed == wanted))
}

fn create(folder: &Path, list: &Path) -> Result<(), String> {
    let venv = || {
        let mut command = Command::new("python3");
        command.args(["-m", "venv", "--clear"]).arg(folder);
        command
    };
    // Debian's python3 lacks the module that creates environments with pip.
    if setup::run(venv()).is_err() {
        println!("installing python3-venv: python3 -m venv (creates that environment)");
        setup::install_packages(&["python3-venv"])?;
        setup::run(venv())?;
    }
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]);
    setup::run(pip.arg(list))?;
    let copied = fs::copy(list, folder.join(INSTALLED));
    copied.map(|_| ()).map_err(|error| format!("{}: {error}", folder.display()))
}

/// The target folder, as cargo reports it.
fn target_folder() -> Result<PathBuf, String> {
    let output = workspace::cargo(&["metadata", "--format-version", "1", "--no-deps"])
        .output()
        .map_err(|error| format!("cargo metadata did not start: {error}"))?;
    let value: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cargo metadata printed no JSON: {error}"))?;
    let folder = value.get("target_directory").and_then(Value::as_str);
    folder.map(PathBuf::from).ok_or_else(|| "cargo metadata names no target folder".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_is_up_to_date_if_it_was_created_from_the_same_list() {
        let folder = std::env::temp_dir().join(format!("wigwag-python-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let list = folder.join("requirements.txt");
        fs::write(&list, "one==1\n").unwrap();
        assert_eq!(is_up_to_date(&folder, &list), Ok(false));
        fs::copy(&list, folder.join(INSTALLED)).unwrap();
        assert_eq!(is_up_to_date(&folder, &list), Ok(true));
        fs::write(&list, "one==2\n").unwrap();
        assert_eq!(is_up_to_date(&folder, &list), Ok(false));
        fs::remove_file(&list).unwrap();
        assert!(is_up_to_date(&folder, &list).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn every_list_exists_with_exact_versions() {
        for environment in ENVIRONMENTS {
            let list = fs::read_to_string(workspace::root().join(environment.list)).unwrap();
            let packages = list.lines().filter(|line| !line.starts_with('#'));
            assert!(packages.clone().count() > 0);
            assert!(packages.clone().all(|line| line.contains("==")), "{list}");
        }
    }
}
