//! The page of a run: one file that needs neither network nor scripts.
//!
//! First come the cells in which wigwag is behind. Each workload has its tables, and below each table its plots; then come the known-bad
//! participants, where it ran, and what the words mean. The document itself is embedded, so a page
//! that somebody was sent can be compared with a new run. Words of participants go through `escape`
//! and nowhere around it; should that ever fail, the page forbids its own scripts.

use crate::report::escape::html;
use crate::report::layout::{Kind, Layout, Table};
use crate::results::reasons::{has_escaped, is_found_out};
use crate::results::{Results, Row, Verdict};

pub(crate) mod palette;
mod style;
mod table;
mod plots;
mod curves;
mod cuts;
mod threads;
mod cpu_plot;
mod matrix;
mod behind;
mod glossary;

/// The whole page.
pub fn page(results: &Results) -> String {
    let layout = Layout::of(results);
    let mut body = header(results, &layout);
    body.push_str("<main>\n");
    if results.rows.is_empty() {
        body.push_str("<p class=notice>No cell was measured, so there is nothing to show.</p>\n");
    }
    body.push_str(&behind::section(&layout));
    for workload in layout.workloads() {
        body.push_str(&section(results, &layout, workload));
    }
    if !layout.known_bad.is_empty() {
        body.push_str(
            "<h2 id=known-bad>Known bad</h2>\n<p>Participants with a fault that the lab must find. \
             They prove that it would be found in the others.</p>\n",
        );
        body.push_str(&table::known_bad(&layout.known_bad));
    }
    body.push_str("<h2 id=environment>Environment</h2>\n");
    body.push_str(&table::environment(&results.environment));
    body.push_str(&glossary::all());
    body.push_str(
        "</main>\n<footer><p>The document of this run is embedded in this file, in the \
                   element <code>results</code>.</p></footer>\n",
    );
    let title = format!("wigwag lab, {}", results.environment.started);
    format!(
        "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n\
         <meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src \
         'unsafe-inline'\">\n\
         <meta name=viewport content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n{body}\
         <script type=\"application/json\" id=results>{}</script>\n</body>\n</html>\n",
        html(&title),
        style::sheet(),
        embedded(results)
    )
}

/// The document as JSON in which no element can begin or end: `<` occurs in strings only, where
/// it may be written by its number.
fn embedded(results: &Results) -> String {
    // Only a map with keys that are no strings could fail here, and there is none.
    serde_json::to_string(results).unwrap_or_default().replace('<', "\\u003c")
}

fn header(results: &Results, layout: &Layout<'_>) -> String {
    let at = &results.environment;
    let mut text = format!(
        "<header>\n<h1>wigwag lab</h1>\n<p class=lead>{}, wigwag {}, {} cores of {}</p>\n",
        html(&at.started),
        html(&at.wigwag),
        at.cores,
        html(&at.cpu)
    );
    text.push_str(&notices(results, layout));
    text.push_str(&tally(results, layout));
    text.push_str("<nav aria-label=\"on this page\"><ul>\n");
    for (at, workload) in layout.workloads().iter().enumerate() {
        text.push_str(&format!("<li><a href=\"#workload-{at}\">{}</a></li>\n", html(workload)));
    }
    text.push_str(behind::link(layout));
    if !layout.known_bad.is_empty() {
        text.push_str("<li><a href=#known-bad>known bad</a></li>\n");
    }
    text.push_str(
        "<li><a href=#environment>environment</a></li>\n<li><a href=#words>words</a></li>",
    );
    text.push_str("\n</ul></nav>\n</header>\n");
    text
}

/// Notices that a reader must see before any figure.
fn notices(results: &Results, layout: &Layout<'_>) -> String {
    let mut text = String::new();
    let escaped = layout.known_bad.iter().filter(|row| has_escaped(row)).count();
    if escaped > 0 {
        text.push_str(&format!(
            "<p class=\"notice alarm\"><strong>✕ Do not trust this run.</strong> {escaped} of the \
             known-bad participants got a number.</p>\n"
        ));
    }
    if results.interrupted {
        text.push_str(
            "<p class=notice><strong>▲ Interrupted.</strong> Somebody stopped the run; what was \
             measured until then is here.</p>\n",
        );
    }
    if results.quick {
        text.push_str(
            "<p class=notice><strong>▲ Quick.</strong> Short windows and embedded participants \
             only: enough to see that all works, too little to rank by.</p>\n",
        );
    }
    text
}

fn tally(results: &Results, layout: &Layout<'_>) -> String {
    let judged: Vec<&Row> = results.rows.iter().filter(|row| !row.known_bad).collect();
    let count = |verdict| judged.iter().filter(|row| row.verdict == verdict).count();
    let verdicts =
        [Verdict::Valid, Verdict::Flagged, Verdict::Void, Verdict::NotInstalled, Verdict::Absent];
    let mut text = "<ul class=tally>\n".to_owned();
    for verdict in verdicts {
        let (count, word) = (count(verdict), table::verdict(verdict));
        text.push_str(&format!("<li>{word} <b>{count}</b></li>\n"));
    }
    if !layout.known_bad.is_empty() {
        let caught = layout.known_bad.iter().filter(|row| is_found_out(row)).count();
        let all = layout.known_bad.len();
        text.push_str(&format!("<li>known bad, caught: <b>{caught} of {all}</b></li>\n"));
    }
    text.push_str("</ul>\n");
    text
}

fn section(results: &Results, layout: &Layout<'_>, workload: &str) -> String {
    let place = layout.workloads().iter().position(|name| *name == workload).unwrap_or(0);
    let mut text = format!("<h2 id=workload-{place}>{}</h2>\n", html(workload));
    if let Some(what) = glossary::of_workload(workload) {
        text.push_str(&format!("<p>{what}</p>\n"));
    }
    let tables: Vec<&Table<'_>> =
        layout.tables.iter().filter(|table| table.workload == workload).collect();
    for table in &tables {
        text.push_str(&format!("<h3>{}</h3>\n", html(&table.title())));
        if let Some(what) = glossary::of_cell(table.cell) {
            text.push_str(&format!("<p class=muted>{what}</p>\n"));
        }
        if table.kind == Kind::Mixed {
            text.push_str(&matrix::of(results, workload).unwrap_or_default());
        }
        text.push_str(&table::figures(table));
        text.push_str(&plots::of(table));
    }
    // Pairs of known-bad participants alone have no table, and their matrix is shown all the same.
    if tables.iter().all(|table| table.kind != Kind::Mixed)
        && let Some(matrix) = matrix::of(results, workload)
    {
        text.push_str(&format!("<h3>server × client</h3>\n{matrix}"));
    }
    text
}

#[cfg(test)]
mod tests;
