//! Shows the results of a run: as a page, or compared with another run.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};
use serde::Deserialize;
use wigwag_lab::report::compare::{Kernel, compare};
use wigwag_lab::report::html;
use wigwag_lab::report::join::join;
use wigwag_lab::report::markdown;
use wigwag_lab::results::{Results, SCHEMA};
use wigwag_lab::run::ratios;

use crate::exit::{Code, Failed};
use crate::measure::lab::measure::write;
use crate::measure::lab::roster::usage;
use crate::print;

/// Bytes of a document that is read: nine times those of every system in every cell.
const DOCUMENT_BYTES_MAX: u64 = 64 * 1024 * 1024;

#[derive(Args)]
#[command(group(ArgGroup::new("forms").args(["html", "markdown", "json"]).required(true).multiple(true)))]
pub(super) struct Report {
    /// Documents of `wigwag lab run --json`; several become one, if the machine is the same
    #[arg(required = true, value_name = "DOCUMENT")]
    documents: Vec<PathBuf>,
    /// The page; - is standard output, for each form
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// The tables in Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// The document that they are together
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    kernel: AnyKernel,
}

#[derive(Args)]
struct AnyKernel {
    /// The kernels may differ, as two builds of one do; the output names them
    #[arg(long)]
    any_kernel: bool,
}

impl AnyKernel {
    fn kernel(&self) -> Kernel {
        if self.any_kernel { Kernel::Any } else { Kernel::Same }
    }
}

impl Report {
    pub(super) fn run(self) -> Result<Code, Failed> {
        let documents = self.documents.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
        let results =
            join(documents, self.kernel.kernel()).map_err(|why| Failed::new(Code::Refused, why))?;
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
    #[command(flatten)]
    kernel: AnyKernel,
}

impl Compare {
    pub(super) fn run(self) -> Result<Code, Failed> {
        let (old, new) = (read(&self.old)?, read(&self.new)?);
        let compared = compare(&old, &new, self.kernel.kernel(), self.across);
        let text = compared.map_err(|unlike| Failed::new(Code::Refused, unlike.to_string()))?;
        print::line(text.trim_end());
        Ok(Code::Ok)
    }
}

/// The part that documents of all schemas have.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    schema: Option<String>,
}

fn read(path: &Path) -> Result<Results, Failed> {
    let another = |why: String| {
        let hint = "`wigwag lab run WORKLOADS --json FILE` writes what this reads";
        usage(format!("{}: {why}; {hint}", path.display()))
    };
    let text = contents(path).map_err(|error| another(error.to_string()))?;
    if text.len() as u64 > DOCUMENT_BYTES_MAX {
        return Err(another(format!("has more than {DOCUMENT_BYTES_MAX} bytes")));
    }
    let not_one = |error| another(format!("is not the document of a run: {error}"));
    let head: Head = serde_json::from_str(&text).map_err(not_one)?;
    // Before its fields: those of another schema are others.
    match head.schema.as_deref() {
        Some(SCHEMA) => {}
        Some(schema) => return Err(another(format!("has the schema {schema}, not {SCHEMA}"))),
        None => return Err(another("is not the document of a run: it names no schema".to_owned())),
    }
    // From the text, which has the places of what is wrong.
    let mut results: Results = serde_json::from_str(&text).map_err(not_one)?;
    // From the rounds: an older document may have intervals that were found in another way.
    ratios::fill(&mut results.rows);
    Ok(results)
}

/// The text of a file, of which no more is read than a document may have, and a byte.
fn contents(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(DOCUMENT_BYTES_MAX + 1).read_to_string(&mut text)?;
    Ok(text)
}
