//! The root of the workspace, and commands of cargo in it.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// The folder with the workspace's `Cargo.toml`, which is the parent of this crate's folder. Cargo
/// passes it at run time too, which is correct even if two checkouts share a target folder.
pub(crate) fn root() -> PathBuf {
    let from_cargo = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let folder = from_cargo.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    folder.parent().expect("xtask lies in a folder of the workspace").to_path_buf()
}

/// A command of the cargo that started this process, so that one toolchain is used, at the root.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}
