//! Shows the results of a run: as a page, or compared with another run.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use wigwag_lab::report::compare::compare;
use wigwag_lab::report::html;
use wigwag_lab::results::{Results, SCHEMA};

use crate::exit::{Code, Failed};
use crate::lab::measure::write;
use crate::lab::roster::usage;
use crate::print;

#[derive(Args)]
pub(super) struct Report {
    /// A document of `wigwag lab run --json`
    document: PathBuf,
    /// The page
    #[arg(long, value_name = "FILE")]
    html: PathBuf,
}

impl Report {
    pub(super) fn run(self) -> Result<Code, Failed> {
        write(&self.html, &html::page(&read(&self.document)?))?;
        Ok(Code::Ok)
    }
}

#[derive(Args)]
pub(super) struct Compare {
    /// The earlier document
    old: PathBuf,
    /// The later one
    new: PathBuf,
    /// Also if they come from unlike places: what differs, then ratios without a verdict
    #[arg(long)]
    across: bool,
}

impl Compare {
    pub(super) fn run(self) -> Result<Code, Failed> {
        let (old, new) = (read(&self.old)?, read(&self.new)?);
        let compared = compare(&old, &new, self.across);
        let text = compared.map_err(|unlike| Failed::new(Code::Refused, unlike.to_string()))?;
        print::line(text.trim_end());
        Ok(Code::Ok)
    }
}

fn read(path: &Path) -> Result<Results, Failed> {
    let wrong = |why: String| usage(format!("{}: {why}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let results: Results =
        serde_json::from_str(&text).map_err(|error| wrong(format!("no such document: {error}")))?;
    match results.schema == SCHEMA {
        true => Ok(results),
        false => Err(wrong(format!("is of schema {}, and this reads {SCHEMA}", results.schema))),
    }
}
