//! Two runs side by side: what became faster, what slower, and what cannot be told apart.
//!
//! Only the ratio to `raw` is compared, because the limit was taken in the same rounds and moves
//! with the machine. Even so a verdict is given only for runs in like environments: a ratio that
//! holds on two cores need not hold on sixty. A comparison across unlike environments says first
//! what differs and then gives the ratios, without a verdict. Two builds of one kernel have different
//! names, so a caller may allow the kernels to differ: the verdicts follow below both names.

use std::collections::BTreeSet;
use std::fmt::{self, Display};

use crate::report::columns::{bytes, earned, interval, significant, verdict_word};
use crate::report::escape::terminal;
use crate::report::join::RUNS;
use crate::report::layout::is_raw;
use crate::results::{Environment, Interval, Results, Row};

/// The part by which the memory of two machines may differ and still be the same: a kernel that
/// reserves some pages more reports less.
const MEMORY_SHARE_MAX: f64 = 0.01;

const KERNEL: &str = "kernel";

/// Two runs that no verdict can be given over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlike {
    /// The differences; never empty.
    pub differences: Vec<Difference>,
}

/// Whether two runs need the same kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Its name and version must be equal.
    Same,
    /// It may differ; the output says so.
    Any,
}

impl Kernel {
    /// The differences that are not allowed.
    pub(crate) fn refused(self, mut differences: Vec<Difference>) -> Vec<Difference> {
        differences.retain(|difference| self == Kernel::Same || difference.what != KERNEL);
        differences
    }
}

/// One thing that differs between two environments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its name.
    pub what: &'static str,
    /// In the old run.
    pub old: String,
    /// In the new one.
    pub new: String,
}

impl Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {} → {}", self.what, terminal(&self.old), terminal(&self.new))
    }
}

impl Display for Unlike {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the runs are not from like environments")?;
        self.differences.iter().try_for_each(|difference| write!(out, "\n  {difference}"))?;
        match self.differences.iter().all(|difference| difference.what == KERNEL) {
            true => write!(out, "\nif it is another build of the same kernel, add --any-kernel"),
            false => Ok(()),
        }
    }
}

impl std::error::Error for Unlike {}

/// Sets `new` beside `old`, a line for each row. [`Unlike`] when the environments differ by more than
/// the kernel where `kernel` allows any, unless `across` says that this is known: then the differences
/// stand first and no verdict follows.
pub fn compare(
    old: &Results,
    new: &Results,
    kernel: Kernel,
    across: bool,
) -> Result<String, Unlike> {
    let differences = differences(old, new);
    let mut text = String::new();
    if !across {
        let refused = kernel.refused(differences.clone());
        if !refused.is_empty() {
            return Err(Unlike { differences: refused });
        }
        differences.iter().for_each(|each| text.push_str(&format!("Allowed to differ: {each}\n")));
    } else {
        text.push_str("What differs between the two runs:\n");
        match differences.is_empty() {
            true => text.push_str("  nothing that the documents tell\n"),
            false => differences.iter().for_each(|each| text.push_str(&format!("  {each}\n"))),
        }
        text.push_str("Ratios to raw, without a verdict:\n");
    }
    for (word, run) in [("old", old), ("new", new)] {
        if run.interrupted {
            text.push_str(&format!("The {word} run was interrupted; rows may be missing.\n"));
        }
    }
    let mut judged = Vec::new();
    for key in keys(old, new) {
        let (before, after) = (find(old, key), find(new, key));
        let (line, verdict) = line(key, before, after, across);
        text.push_str(&line);
        text.push('\n');
        judged.extend(verdict);
    }
    if !judged.is_empty() {
        text.push_str(&agreement(&judged));
        text.push('\n');
    }
    Ok(text)
}

/// Differences that make figures of the two runs incomparable. When they ran, and whether together,
/// what load they found and which wigwag it was may differ: the last is what one compares for.
pub(crate) fn differences(old: &Results, new: &Results) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut check = |what, like: bool, old: String, new: String| {
        if !like {
            found.push(Difference { what, old, new });
        }
    };
    let words = |what, old: &str, new: &str| (what, old == new, old.to_owned(), new.to_owned());
    let (from, to) = (&old.environment, &new.environment);
    let length = |quick: bool| if quick { "quick" } else { "full" };
    let texts = [
        words("schema", &old.schema, &new.schema),
        words("length of the run", length(old.quick), length(new.quick)),
        words("processor", &from.cpu, &to.cpu),
        words("cores", &from.cores.to_string(), &to.cores.to_string()),
        words(KERNEL, &from.kernel, &to.kernel),
        words("congestion control", &from.congestion_control, &to.congestion_control),
        words("open files", &from.open_files_max.to_string(), &to.open_files_max.to_string()),
    ];
    for (what, like, old, new) in texts {
        check(what, like, old, new);
    }
    let (less, more) = (from.memory_bytes, to.memory_bytes);
    let like = less.abs_diff(more) as f64 <= less.max(more) as f64 * MEMORY_SHARE_MAX;
    check("memory", like, bytes(less), bytes(more));
    let [before, after] = [from, to].map(remarks);
    check("remarks", before == after, before, after);
    found
}

/// Their order means nothing, and when the runs of a joined document began is known otherwise.
fn remarks(environment: &Environment) -> String {
    let remarks = environment.remarks.iter().map(String::as_str);
    let sorted: BTreeSet<&str> = remarks.filter(|remark| !remark.starts_with(RUNS)).collect();
    match sorted.is_empty() {
        true => "none".to_owned(),
        false => sorted.into_iter().collect::<Vec<_>>().join("; "),
    }
}

/// Workload, cell, participant.
type RowKey<'a> = (&'a str, &'a str, &'a str);

fn key(row: &Row) -> RowKey<'_> {
    (&row.workload, &row.cell, &row.participant)
}

/// Of both runs, each once, in the order of the new one; what only the old one has comes last.
fn keys<'a>(old: &'a Results, new: &'a Results) -> Vec<RowKey<'a>> {
    let mut seen = BTreeSet::new();
    let all = new.rows.iter().chain(&old.rows).map(key);
    all.filter(|key| seen.insert(*key)).collect()
}

fn find<'a>(run: &'a Results, wanted: RowKey<'_>) -> Option<&'a Row> {
    run.rows.iter().find(|row| key(row) == wanted)
}

/// A row of both runs, and its verdict if it has one.
fn line(
    key: RowKey<'_>,
    old: Option<&Row>,
    new: Option<&Row>,
    across: bool,
) -> (String, Option<Change>) {
    let (workload, cell, participant) = key;
    let name = terminal(&format!("{workload}/{cell}/{participant}"));
    let without = |why, rest: &str| (aside(why, &name, rest), None);
    let (old, new) = match (old, new) {
        (Some(old), Some(new)) => (old, new),
        (None, Some(new)) => return without("only in the new run", &state(new)),
        (Some(old), None) => return without("only in the old run", &state(old)),
        (None, None) => return (name, None),
    };
    if old.known_bad || new.known_bad {
        return without("known bad", &format!("{} → {}", state(old), state(new)));
    }
    if is_raw(old) && is_raw(new) && earned(old).is_some() && earned(new).is_some() {
        return without("the limit", "1 by definition");
    }
    let versions = versions(old, new);
    let ratio = |row| earned(row).and_then(|earned| earned.ratio());
    let (Some(before), Some(after)) = (ratio(old), ratio(new)) else {
        return without("not comparable", &format!("{} → {}{versions}", state(old), state(new)));
    };
    let change = significant(after.median / before.median);
    let [from, to] = [before, after].map(|ratio| interval(ratio).line());
    let figures = format!("{from} → {to}  × {change}{versions}");
    if across {
        return (format!("  {name}  {figures}"), None);
    }
    // Of one round nobody knows how far the next one would have been from it.
    if old.runs.len() < 2 || new.runs.len() < 2 {
        return without("no interval", &figures);
    }
    let verdict = Change::between(before, after);
    (aside(verdict.word(), &name, &figures), Some(verdict))
}

/// How a ratio differs from that of an earlier run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Faster,
    Slower,
    /// Intervals that touch could hold the same truth.
    Indistinguishable,
}

impl Change {
    fn between(old: Interval, new: Interval) -> Change {
        if new.low > old.high {
            Change::Faster
        } else if new.high < old.low {
            Change::Slower
        } else {
            Change::Indistinguishable
        }
    }

    fn word(self) -> &'static str {
        match self {
            Change::Faster => "faster",
            Change::Slower => "slower",
            Change::Indistinguishable => "not distinguishable",
        }
    }
}

/// How many rows of the two runs agree. Of one program on one machine, about all do.
fn agreement(judged: &[Change]) -> String {
    let count = |change| judged.iter().filter(|&&judged| judged == change).count();
    let (all, agree) = (judged.len(), count(Change::Indistinguishable));
    // Down, so that 100 % means all of them.
    let share = 100 * agree / all;
    let (faster, slower) = (count(Change::Faster), count(Change::Slower));
    format!("{agree} of {all} rows agree ({share} %); faster: {faster}, slower: {slower}")
}

/// The widest verdict is `not distinguishable`.
fn aside(verdict: &str, name: &str, rest: &str) -> String {
    format!("{verdict:<19}  {name}  {rest}")
}

/// The verdict of a row, with the reasons of one that has no number.
fn state(row: &Row) -> String {
    let (_, word) = verdict_word(row.verdict);
    match (earned(row), row.reasons.is_empty()) {
        (None, false) => format!("{word} ({})", terminal(&row.reasons.join("; "))),
        (Some(earned), _) => match earned.ratio() {
            Some(ratio) => format!("{word} {}", interval(ratio).line()),
            None => format!("{word}, no ratio to raw"),
        },
        (None, true) => word.to_owned(),
    }
}

/// A peer of another version is another program, and the reader must know.
fn versions(old: &Row, new: &Row) -> String {
    let word = |row: &Row| terminal(row.version.as_deref().unwrap_or("unknown"));
    match old.version == new.version {
        true => String::new(),
        false => format!("  [version {} → {}]", word(old), word(new)),
    }
}

#[cfg(test)]
mod tests;
