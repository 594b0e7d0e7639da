//! Which thread took the processor time of a row: a stacked bar, its course over a window, and a
//! legend for both.
//!
//! Letters join bar, course and legend, so the colours may be lost. Threads that took little, and those
//! beyond the fifth, are one part: the rest.

use std::collections::BTreeMap;

use crate::report::columns::earned;
use crate::report::escape::html;
use crate::report::html::cpu_plot::{self, TimeAxis};
use crate::report::html::palette::THREADS;
use crate::report::html::plots::marked;
use crate::report::layout::Table;
use crate::results::{Row, ThreadShare};

/// The width of all parts in units of the drawing, half a unit from both edges.
const WIDTH: f64 = 359.0;

/// A part below this width has no room for its letter.
const LETTER_ROOM: f64 = 12.0;

/// The threads of one name in one program, or the rest.
pub(crate) struct ThreadBand {
    /// Where the row is two programs: the server is the first, the client the second.
    side: Option<usize>,
    name: String,
    share: f64,
    is_rest: bool,
}

impl ThreadBand {
    /// Whether `thread` is one of these.
    pub(crate) fn is(&self, thread: &ThreadShare) -> bool {
        !self.is_rest && self.side == thread.side && self.name == thread.name
    }
}

/// Joins a part's bar, area and line of the legend; the rest has the last one.
pub(crate) fn letter(at: usize) -> char {
    char::from(b"abcdef"[at.min(THREADS)])
}

/// A bar for each row whose threads are known.
pub(crate) fn of(table: &Table<'_>) -> String {
    let mut stacks = String::new();
    let reach = TimeAxis::of(table);
    for row in table.rows() {
        let parts = parts(row);
        if !parts.is_empty() {
            let course = cpu_plot::of(row, &parts, reach).unwrap_or_default();
            stacks.push_str(&stack(&marked(table.label(row), row), &parts, &course));
        }
    }
    if stacks.is_empty() {
        return stacks;
    }
    format!(
        "<figure class=wide><figcaption><h4>Processor time by thread</h4><small>Bar: shares of what all \
         processes of a participant took, over all rounds; threads of one name are one part. Below \
         it: processors at work over the last round, from GO to the last account.</small></figcaption>\n<div class=stacks>{stacks}</div></figure>\n"
    )
}

/// The shares of a row, the largest first and the rest last; they add up to one.
fn parts(row: &Row) -> Vec<ThreadBand> {
    let Some(earned) = earned(row) else { return Vec::new() };
    let mut by_name: BTreeMap<(Option<usize>, &str), f64> = BTreeMap::new();
    let runs = &earned.row().runs;
    for thread in runs.iter().flat_map(|run| &run.threads) {
        *by_name.entry((thread.side, &thread.name)).or_default() += thread.cpu_seconds.max(0.0);
    }
    let named: f64 = by_name.values().sum();
    // Ticks are counted apart for a thread and for its process, so the parts may exceed the whole.
    let whole = runs.iter().map(|run| run.cpu_seconds).sum::<f64>().max(named);
    if !(named > 0.0 && whole.is_finite()) {
        return Vec::new();
    }
    let mut shares: Vec<_> = by_name.into_iter().collect();
    shares.sort_by(|one, two| two.1.total_cmp(&one.1));
    let part = |((side, name), seconds): ((Option<usize>, &str), f64)| {
        let share = seconds / whole;
        ThreadBand { side, name: name.to_owned(), share, is_rest: false }
    };
    let mut parts: Vec<ThreadBand> = shares.into_iter().take(THREADS).map(part).collect();
    let rest = 1.0 - parts.iter().map(|part| part.share).sum::<f64>();
    if rest > 0.005 {
        parts.push(ThreadBand {
            side: None,
            name: "the rest".to_owned(),
            share: rest,
            is_rest: true,
        });
    }
    parts
}

fn stack(name: &str, parts: &[ThreadBand], course: &str) -> String {
    let (mut svg, mut legend, mut x) = (String::new(), String::new(), 0.0);
    for (at, part) in parts.iter().enumerate() {
        let colour = if part.is_rest { THREADS } else { at };
        let letter = letter(colour);
        let width = part.share * WIDTH;
        svg.push_str(&format!(
            "<rect class=\"part part{colour}\" x={x:.1} y=1 width={width:.1} height=16></rect>"
        ));
        if width >= LETTER_ROOM {
            let middle = x + width / 2.0;
            svg.push_str(&format!("<text x={middle:.1} y=13 text-anchor=middle>{letter}</text>"));
        }
        let (thread, share) = (html(&part.name), part.share * 100.0);
        let side = match part.side {
            Some(0) => "server: ",
            Some(_) => "client: ",
            None => "",
        };
        legend.push_str(&format!("<span>{letter} {side}<bdi>{thread}</bdi> {share:.0} %</span> "));
        x += width;
    }
    let name = html(name);
    format!(
        "<div class=stack><b><bdi>{name}</bdi></b>\
         <svg viewBox=\"-0.5 0 360 18\" role=img aria-label=\"processor time by thread: {name}\">\
         {svg}</svg>{course}<p>{legend}</p></div>\n"
    )
}
