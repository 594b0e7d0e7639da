//! `wigwag completions` and `wigwag man`: completion scripts and manual pages, generated from the
//! same source as `--help`.

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::exit::{Code, Failed};
use crate::print;
use crate::setup::complete;

#[derive(Args)]
#[command(after_help = "Examples:
  wigwag completions bash > ~/.local/share/bash-completion/completions/wigwag
  wigwag completions zsh > ~/.zfunc/_wigwag
  wigwag completions fish > ~/.config/fish/completions/wigwag.fish")]
pub(crate) struct Completions {
    /// Shell to print the script for
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> Result<Code, Failed> {
        let mut script = Vec::new();
        clap_complete::generate(
            self.shell,
            &mut crate::Arguments::command(),
            "wigwag",
            &mut script,
        );
        script.extend(complete::addition(self.shell).as_bytes());
        write_result(&script)
    }
}

#[derive(Args)]
#[command(after_help = "Examples:
  wigwag man | man -l -              the page of the command itself
  wigwag man --out ~/.local/share/man/man1      a page for each command; then: man wigwag-req")]
pub(crate) struct Man {
    /// Write a page for each command into this folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(self) -> Result<Code, Failed> {
        let command = crate::Arguments::command();
        let Some(folder) = self.out else {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            return write_result(&page);
        };
        let failed = |error: std::io::Error| {
            let what = format!("the pages cannot be written: {error}");
            let at = folder.display().to_string();
            Failed::with_hint(Code::Usage, &what, &at, "give a folder that you may write to")
        };
        std::fs::create_dir_all(&folder).map_err(failed)?;
        clap_mangen::generate_to(command, &folder).map_err(failed)?;
        Ok(Code::Ok)
    }
}

/// Prints the result.
fn write_result(bytes: &[u8]) -> Result<Code, Failed> {
    print::result(bytes)?;
    Ok(Code::Ok)
}
