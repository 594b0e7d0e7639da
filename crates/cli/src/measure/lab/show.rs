//! Shows the results of a run: as a page, or compared with another run.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};
use wigwag_lab::report::compare::compare;
use wigwag_lab::report::html;
use wigwag_lab::report::join::join;
use wigwag_lab::report::markdown;
use wigwag_lab::results::{Results, SCHEMA};
use wigwag_lab::run::ratios;

use crate::exit::{Code, Failed};
use crate::measure::lab::measure::write;
use crate::measure::lab::roster::usage;
use crate::print;

#[derive(Args)]
#[command(group(ArgGroup::new("forms").args(["html", "markdown", "json"]).required(true).multiple(true)))]
pub(super) struct Report {
    /// Documents of `wigwag lab run --json`; several become one, if the machine is the same
    #[arg(required = true, value_name = "DOCUMENT")]
    documents: Vec<PathBuf>,
    /// The page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// The tables in Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// The document that they are together
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Report {
    pub(super) fn run(self) -> Result<Code, Failed> {
        let documents = self.documents.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
        let results = join(documents).map_err(|why| Failed::new(Code::Refused, why))?;
        if let Some(path) = &self.json {
            // It is kept, and not read: without the blanks it has half the length.
            let text = serde_json::to_string(&results);
            write(path, &text.map_err(|error| Failed::new(Code::Internal, error))?)?;
        }
        if let Some(path) = &self.html {
            write(path, &html::page(&results))?;
        }
        if let Some(path) = &self.markdown {
            write(path, &markdown::page(&results))?;
        }
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
    let another = |why: String| {
        let hint = "`wigwag lab run WORKLOADS --json FILE` writes what this reads";
        usage(format!("{}: {why}; {hint}", path.display()))
    };
    let text = fs::read_to_string(path).map_err(|error| another(error.to_string()))?;
    let mut results: Results = serde_json::from_str(&text)
        .map_err(|error| another(format!("is not the document of a run: {error}")))?;
    if results.schema != SCHEMA {
        return Err(another(format!("has the schema {}, not {SCHEMA}", results.schema)));
    }
    // From the rounds: an older document may have intervals that were found in another way.
    ratios::fill(&mut results.rows);
    Ok(results)
}
