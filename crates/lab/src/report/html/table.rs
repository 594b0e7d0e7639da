//! The tables of the page.
//!
//! A row without a number has one place that says so where the others have their figures: there
//! is no cell left that a number could stand in.

use crate::report::columns::{Column, earned, verdict_word};
use crate::report::escape::html;
use crate::report::layout::Table;
use crate::report::text::caught;
use crate::results::{Environment, Row, Verdict, Witness};

/// One table of figures in its scroll box.
pub(crate) fn figures(table: &Table<'_>) -> String {
    let rows = table.rows();
    let columns = Column::used_by(&rows);
    let mut head = "<th scope=col>participant</th><th scope=col class=word>verdict</th>".to_owned();
    for column in &columns {
        let (title, meaning) = (html(column.title), html(column.meaning));
        head.push_str(&format!("<th scope=col title=\"{meaning}\">{title}</th>"));
    }
    let mut body = String::new();
    if table.raw.is_none() {
        body.push_str(&format!(
            "<tr class=above><th scope=row>raw</th><td class=word><span class=\"verdict \
             is-notinstalled\">○ NOT MEASURED</span></td>{}</tr>\n<tr class=below><td class=why \
             colspan={}><div>The limit of this cell was not measured in this run.</div></td></tr>\n",
            no_number(columns.len()),
            columns.len() + 2
        ));
    }
    for row in rows {
        body.push_str(&line(table.label(row), row, &columns));
    }
    let name = format!("{}, {}: figures", table.workload, table.title());
    boxed(&name, "", &head, &body)
}

/// A table in a box that scrolls by itself, with the keyboard too.
pub(crate) fn boxed(name: &str, class: &str, head: &str, body: &str) -> String {
    let head = match head {
        "" => String::new(),
        head => format!("<thead><tr>{head}</tr></thead>\n"),
    };
    format!(
        "<div class=\"box box-{class}\" role=region tabindex=0 aria-label=\"{}\"><table class=\"{class}\">\n\
         {head}<tbody>\n{body}</tbody></table></div>\n",
        html(name)
    )
}

/// The known-bad participants and whether they were caught. None of their figures is of use.
pub(crate) fn known_bad(rows: &[&Row]) -> String {
    let head = "<th scope=col>participant</th><th scope=col class=word>verdict</th>\
                <th scope=col class=word>caught</th><th scope=col class=word>cell</th>";
    let mut body = String::new();
    for row in rows {
        body.push_str(&format!(
            "<tr{}>{}<td class=word>{}</td><td class=word>{}</td><td class=word>{} / {}</td></tr>\n",
            above(row),
            name(&row.participant, row),
            verdict(row.verdict),
            caught(row),
            html(&row.workload),
            html(&row.cell)
        ));
        body.push_str(&reasons(row, 4));
    }
    boxed("known bad", "", head, &body)
}

/// The environment of the run.
pub(crate) fn environment(environment: &Environment) -> String {
    let remarks = match environment.remarks.as_slice() {
        [] => "none".to_owned(),
        remarks => list(remarks),
    };
    // Documents of earlier versions do not tell.
    let pinning = Some(environment.pinning.as_str()).filter(|it| !it.is_empty()).unwrap_or("–");
    let facts = [
        ("started", html(&environment.started)),
        ("wigwag", html(&environment.wigwag)),
        ("processor", html(&environment.cpu)),
        ("cores", environment.cores.to_string()),
        ("kernel", html(&environment.kernel)),
        ("memory", crate::report::columns::bytes(environment.memory_bytes)),
        ("congestion control", html(&environment.congestion_control)),
        ("open files", crate::report::columns::grouped(environment.open_files_max)),
        ("pinning", html(pinning)),
        ("load at the start", crate::report::columns::significant(environment.load)),
        ("remarks", remarks),
    ];
    let fact = |(name, value): (&str, String)| {
        format!("<tr><th scope=row>{name}</th><td>{value}</td></tr>\n")
    };
    boxed("environment", "facts", "", &facts.map(fact).concat())
}

/// Sign and word, so that the colour may be lost.
pub(crate) fn verdict(verdict: Verdict) -> String {
    let (sign, word) = verdict_word(verdict);
    let class = match verdict {
        Verdict::Valid => "valid",
        Verdict::Flagged => "flagged",
        Verdict::Void => "void",
        Verdict::NotInstalled => "notinstalled",
        Verdict::Absent => "absent",
    };
    format!("<span class=\"verdict is-{class}\"><span aria-hidden=true>{sign}</span> {word}</span>")
}

fn line(label: &str, row: &Row, columns: &[&Column]) -> String {
    let figures = match earned(row) {
        Some(_) => columns.iter().map(|column| figure(column, row)).collect(),
        None => no_number(columns.len()),
    };
    let witness = match (row.verdict, row.witness) {
        (Verdict::NotInstalled | Verdict::Absent, _) => "",
        (_, Witness::Full) => "<small>witness: full</small>",
        (_, Witness::Digest) => "<small>witness: digest</small>",
    };
    format!(
        "<tr{}>{}<td class=word>{}{witness}</td>{figures}</tr>\n{}",
        above(row),
        name(label, row),
        verdict(row.verdict),
        reasons(row, columns.len() + 2)
    )
}

/// One empty place instead of all figures.
fn no_number(columns: usize) -> String {
    match columns {
        0 => String::new(),
        _ => format!("<td class=none colspan={columns}>no number</td>"),
    }
}

fn figure(column: &Column, row: &Row) -> String {
    match column.of(row) {
        None => "<td></td>".to_owned(),
        Some(figure) => {
            let detail = figure.detail.map(|detail| format!("<small>{}</small>", html(&detail)));
            format!("<td>{}{}</td>", html(&figure.main), detail.unwrap_or_default())
        }
    }
}

fn name(label: &str, row: &Row) -> String {
    let version = row.version.as_deref().unwrap_or_default();
    format!(
        "<th scope=row><bdi>{}</bdi><small><bdi>{}</bdi></small></th>",
        html(label),
        html(version)
    )
}

/// A row with reasons and the line of its reasons are drawn as one.
fn above(row: &Row) -> &'static str {
    if row.reasons.is_empty() { "" } else { " class=above" }
}

/// The reasons on a line of their own that starts at the left edge: on a phone they are seen
/// without scrolling the figures.
fn reasons(row: &Row, columns: usize) -> String {
    let why = match row.reasons.as_slice() {
        [] => return String::new(),
        [reason] => format!("<div><bdi>{}</bdi></div>", html(reason)),
        reasons => list(reasons),
    };
    format!("<tr class=below><td class=why colspan={columns}>{why}</td></tr>\n")
}

fn list(items: &[String]) -> String {
    let item = |item: &String| format!("<li><bdi>{}</bdi></li>", html(item));
    format!("<ul>{}</ul>", items.iter().map(item).collect::<String>())
}
