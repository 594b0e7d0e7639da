//! The tables on a terminal.
//!
//! The verdict stands before the number, and where no number was earned its place stays empty and
//! the reason stands below. A terminal is narrow: the columns are those that one asks for first;
//! the page and the document have all.

mod matrix;
mod behind;

use crate::report::columns::{Column, TerminalDetail, earned, verdict_word};
use crate::report::escape::{short, terminal};
use crate::report::layout::{Layout, Table};
use crate::results::reasons::is_found_out;
use crate::results::{Results, Row, Verdict};

/// Letters of a name: the longest pair of a mixed cell among the peers of the lab fits.
const NAME_LETTERS_MAX: usize = 36;

/// Letters of a workload and a cell, which stand last but for a word.
const PLACE_LETTERS_MAX: usize = 64;

/// Between two columns.
const GAP: &str = "  ";

/// Every table of `results`, ready to be printed. Ends with a line break unless there is nothing.
pub fn tables(results: &Results) -> String {
    let layout = Layout::of(results);
    let mut text = String::new();
    if results.interrupted {
        text.push_str("INTERRUPTED: what was measured until then follows.\n");
    }
    if results.quick {
        text.push_str("QUICK: short windows, embedded participants only; too short to rank by.\n");
    }
    if results.rows.is_empty() {
        text.push_str("No cell was measured.\n");
    }
    for table in &layout.tables {
        section(&mut text, &format!("{} / {}", table.workload, table.title()));
        figures(&mut text, table);
    }
    matrix::matrices(&mut text, results);
    behind::cells(&mut text, &layout);
    if !layout.known_bad.is_empty() {
        section(&mut text, "known bad: each must come out VOID or FLAGGED");
        known_bad(&mut text, &layout.known_bad);
    }
    if let Some(share) = results.coordinator_cpu_share {
        text.push_str(&format!("\nThe lab itself took {:.1} % of a core.\n", share * 100.0));
    }
    text
}

fn section(text: &mut String, title: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(&terminal(title));
    text.push('\n');
}

fn figures(text: &mut String, table: &Table<'_>) {
    let rows = table.rows();
    let columns: Vec<&Column> = Column::used_by(&rows)
        .into_iter()
        .filter(|column| column.terminal != TerminalDetail::None)
        .collect();
    let mut grid = Grid::default();
    let mut head = vec!["verdict".to_owned(), "participant".to_owned()];
    head.extend(columns.iter().map(|column| column.title.to_owned()));
    head.push("witness".to_owned());
    grid.line(head);
    if table.raw.is_none() {
        grid.line(vec!["○ NOT MEASURED".to_owned(), "raw".to_owned()]);
        grid.note("the limit of this cell was not measured in this run");
    }
    for row in rows {
        let mut cells = vec![verdict(row), name(table.label(row))];
        if earned(row).is_some() {
            cells.extend(columns.iter().map(|column| figure(column, row)));
            cells.push(format!("{:?}", row.witness).to_lowercase());
        }
        grid.line(cells);
        reasons(&mut grid, row);
    }
    grid.write(text);
}

fn figure(column: &Column, row: &Row) -> String {
    match column.of(row) {
        None => String::new(),
        Some(figure) if column.terminal == TerminalDetail::All => figure.line(),
        Some(figure) => figure.main,
    }
}

fn known_bad(text: &mut String, rows: &[&Row]) {
    let mut grid = Grid::default();
    let head = ["verdict", "participant", "cell", "caught"];
    grid.line(head.map(str::to_owned).to_vec());
    for row in rows {
        let cell = format!("{} / {}", row.workload, row.cell);
        grid.line(vec![
            verdict(row),
            name(&row.participant),
            short(&terminal(&cell), PLACE_LETTERS_MAX),
            caught(row).to_owned(),
        ]);
        reasons(&mut grid, row);
    }
    grid.write(text);
}

/// Whether a known-bad participant was found out.
pub(crate) fn caught(row: &Row) -> &'static str {
    match (row.verdict, is_found_out(row)) {
        (Verdict::NotInstalled | Verdict::Absent, _) => "not run",
        (_, true) => "yes",
        (_, false) => "NO: it got a number",
    }
}

fn verdict(row: &Row) -> String {
    let (sign, word) = verdict_word(row.verdict);
    format!("{sign} {word}")
}

fn name(text: &str) -> String {
    short(&terminal(text), NAME_LETTERS_MAX)
}

fn reasons(grid: &mut Grid, row: &Row) {
    for reason in &row.reasons {
        grid.note(&terminal(reason));
    }
}

/// Cells that are brought into columns when all are known.
#[derive(Default)]
struct Grid {
    lines: Vec<GridLine>,
}

enum GridLine {
    Cells(Vec<String>),
    /// Goes across all columns and makes none wider.
    Note(String),
}

impl Grid {
    fn line(&mut self, cells: Vec<String>) {
        self.lines.push(GridLine::Cells(cells));
    }

    fn note(&mut self, note: &str) {
        self.lines.push(GridLine::Note(note.to_owned()));
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths = Vec::new();
        for line in &self.lines {
            let GridLine::Cells(cells) = line else { continue };
            for (column, cell) in cells.iter().enumerate() {
                if widths.len() == column {
                    widths.push(0);
                }
                widths[column] = widths[column].max(cell.chars().count());
            }
        }
        widths
    }

    fn write(&self, text: &mut String) {
        let widths = self.widths();
        for line in &self.lines {
            let mut written = match line {
                GridLine::Note(note) => format!("{GAP}{GAP}{note}"),
                GridLine::Cells(cells) => {
                    let padded = cells.iter().zip(&widths).map(|(cell, width)| {
                        format!("{cell}{}", " ".repeat(width.saturating_sub(cell.chars().count())))
                    });
                    padded.collect::<Vec<_>>().join(GAP)
                }
            };
            written.truncate(written.trim_end().len());
            text.push_str(&written);
            text.push('\n');
        }
    }
}

#[cfg(test)]
mod tests;
