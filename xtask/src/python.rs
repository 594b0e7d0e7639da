//! Python packages that the tests need, in a virtual environment of the target folder.
//!
//! The list of packages stands beside the program that uses them, with their exact versions. A copy
//! of it is put into the environment when all are in; as long as that is the same as the list,
//! nothing is installed and nothing is said. A broken or older environment is made anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{setup, workspace};

/// An environment that tests use.
struct Environment {
    /// Its folder, below the folder that cargo names to tests as `CARGO_TARGET_TMPDIR`.
    name: &'static str,
    /// The list of packages, from the root of the workspace.
    list: &'static str,
    why: &'static str,
}

const ENVIRONMENTS: &[Environment] = &[Environment {
    name: "pynng",
    list: "crates/net/tests/outside_sp/pynng/requirements.txt",
    why: "a live NNG peer with contexts and pairs of many, for the SP sockets",
}];

/// The copy of the list, which is written last.
const INSTALLED: &str = "installed.txt";

/// Makes each environment that is not as its list says.
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
    // Debian's python3 comes without the part that makes environments with pip in them.
    if setup::run(venv()).is_err() {
        println!("installing python3-venv: python3 -m venv (makes that environment)");
        setup::install_packages(&["python3-venv"])?;
        setup::run(venv())?;
    }
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]);
    setup::run(pip.arg(list))?;
    let copied = fs::copy(list, folder.join(INSTALLED));
    copied.map(|_| ()).map_err(|error| format!("{}: {error}", folder.display()))
}

/// Where cargo builds, as it says itself.
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
    fn an_environment_is_there_when_it_was_made_from_the_same_list() {
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
    fn every_list_is_there_with_exact_versions() {
        for environment in ENVIRONMENTS {
            let list = fs::read_to_string(workspace::root().join(environment.list)).unwrap();
            let packages = list.lines().filter(|line| !line.starts_with('#'));
            assert!(packages.clone().count() > 0);
            assert!(packages.clone().all(|line| line.contains("==")), "{list}");
        }
    }
}
