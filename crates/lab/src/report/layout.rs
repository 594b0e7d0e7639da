//! The tables of a report and their rows, for a terminal and for a page alike.
//!
//! One table for each cell of a workload; those that promise no order stand in a table of their
//! own, and so do the mixed cells of one participant's server with another's client. Known-bad
//! participants never stand among the others. The limit, `raw`, stands in every table first: when
//! it was not measured the table says so.

use crate::results::{Results, Row, Verdict};

/// The participant that is the physical limit.
pub(crate) const RAW: &str = "raw";

/// The separator of server and client in the name of a mixed cell.
const TIMES: &str = " × ";

/// The cell of participants that speak with themselves, where others stand in mixed cells.
pub(crate) const OWN: &str = "own server × own client";

/// The property that the rows of a table share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One cell, all in order.
    Cell,
    /// One cell, participants that promise no order.
    Unordered,
    /// Server and client of different participants; the label of a row is its cell.
    Mixed,
}

/// One table of figures.
pub(crate) struct Table<'a> {
    /// The workload of all its rows.
    pub(crate) workload: &'a str,
    /// The cell of all its rows, or `server × client`.
    pub(crate) cell: &'a str,
    /// The property that its rows share.
    pub(crate) kind: Kind,
    /// The limit, if the run came to it.
    pub(crate) raw: Option<&'a Row>,
    /// All others, in the order of the document.
    pub(crate) others: Vec<&'a Row>,
}

impl<'a> Table<'a> {
    /// Every row, the limit first.
    pub(crate) fn rows(&self) -> Vec<&'a Row> {
        self.raw.into_iter().chain(self.others.iter().copied()).collect()
    }

    /// The name of `row` in this table.
    pub(crate) fn label(&self, row: &'a Row) -> &'a str {
        match self.kind {
            Kind::Mixed if !is_raw(row) => &row.cell,
            _ => &row.participant,
        }
    }

    /// The table's name within its workload.
    pub(crate) fn title(&self) -> String {
        match self.kind {
            Kind::Cell | Kind::Mixed => self.cell.to_owned(),
            Kind::Unordered => format!("{}, without a promise of order", self.cell),
        }
    }
}

/// All tables of a run.
pub(crate) struct Layout<'a> {
    /// Those with figures.
    pub(crate) tables: Vec<Table<'a>>,
    /// Participants that must come out void or flagged.
    pub(crate) known_bad: Vec<&'a Row>,
}

impl<'a> Layout<'a> {
    /// Sorts the rows of `results` into tables. The order of the document decides all orders.
    pub(crate) fn of(results: &'a Results) -> Self {
        let (known_bad, judged): (Vec<&Row>, Vec<&Row>) =
            results.rows.iter().partition(|row| row.known_bad);
        let mut tables: Vec<Table<'a>> = Vec::new();
        for row in judged.iter().copied().filter(|row| !is_raw(row)) {
            place(&mut tables, row);
        }
        // Cells in which only the limit was measured are tables too.
        for row in judged.iter().copied().filter(|row| is_raw(row) && !is_mixed(row)) {
            table_of(&mut tables, row, cell(row), Kind::Cell);
        }
        for table in &mut tables {
            table.raw = limit(&judged, table);
        }
        // Tables of one workload stand together, in the order in which it first occurs.
        let first =
            |name: &str| results.rows.iter().position(|row| row.workload == name).unwrap_or(0);
        tables.sort_by_key(|table| (first(table.workload), table.kind == Kind::Mixed));
        Self { tables, known_bad }
    }

    /// The workloads in the order of the tables, each once.
    pub(crate) fn workloads(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = self.tables.iter().map(|table| table.workload).collect();
        names.dedup();
        names
    }
}

/// Server and client of a mixed cell.
pub(crate) fn pair(row: &Row) -> Option<(&str, &str)> {
    row.cell.split_once(TIMES)
}

/// Whether `row` is the limit, and not a mixed cell with one side of it.
pub(crate) fn is_raw(row: &Row) -> bool {
    !row.known_bad && row.participant == RAW && !is_mixed(row)
}

fn is_mixed(row: &Row) -> bool {
    pair(row).is_some_and(|(server, client)| server != client)
}

/// The title of the table that the row belongs to, unless it is the one of mixed cells.
fn cell(row: &Row) -> &str {
    if pair(row).is_some() { OWN } else { &row.cell }
}

fn place<'a>(tables: &mut Vec<Table<'a>>, row: &'a Row) {
    let (cell, kind) = match row.verdict {
        _ if is_mixed(row) => ("server × client", Kind::Mixed),
        Verdict::Flagged if row.verified.reordered > 0 => (cell(row), Kind::Unordered),
        _ => (cell(row), Kind::Cell),
    };
    table_of(tables, row, cell, kind).others.push(row);
}

/// The table that `row` belongs to, made if it is the first.
fn table_of<'a, 'b>(
    tables: &'b mut Vec<Table<'a>>,
    row: &'a Row,
    cell: &'a str,
    kind: Kind,
) -> &'b mut Table<'a> {
    let at = tables.iter().position(|table| {
        table.workload == row.workload && table.cell == cell && table.kind == kind
    });
    let at = at.unwrap_or_else(|| {
        let (workload, others) = (row.workload.as_str(), Vec::new());
        tables.push(Table { workload, cell, kind, raw: None, others });
        tables.len() - 1
    });
    &mut tables[at]
}

/// The limit that belongs to `table`: for mixed pairs it is that of the pair of raw with itself.
fn limit<'a>(judged: &[&'a Row], table: &Table<'a>) -> Option<&'a Row> {
    let wanted = if table.kind == Kind::Mixed { OWN } else { table.cell };
    let is_limit =
        |row: &&Row| is_raw(row) && row.workload == table.workload && cell(row) == wanted;
    judged.iter().copied().find(is_limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rich() -> Results {
        serde_json::from_str(include_str!("../../tests/fixtures/lab-1.json")).unwrap()
    }

    #[test]
    fn the_limit_stands_first_in_every_table_and_nowhere_else() {
        let results = rich();
        let layout = Layout::of(&results);
        for table in &layout.tables {
            let rows = table.rows();
            assert_eq!(rows[0].participant, RAW, "{}", table.title());
            assert!(rows[1..].iter().all(|row| !is_raw(row)), "{}", table.title());
        }
        assert_eq!(layout.workloads(), ["pingpong", "counter", "remote", "http"]);
    }

    #[test]
    fn unordered_and_mixed_cells_have_tables_of_their_own() {
        let results = rich();
        let layout = Layout::of(&results);
        let named = |kind| layout.tables.iter().filter(move |table| table.kind == kind);
        let unordered: Vec<&Table<'_>> = named(Kind::Unordered).collect();
        assert_eq!(unordered.len(), 1);
        assert_eq!(unordered[0].title(), "1 sender, without a promise of order");
        let mixed: Vec<&Table<'_>> = named(Kind::Mixed).collect();
        assert_eq!(mixed.len(), 1);
        assert_eq!(mixed[0].label(mixed[0].others[0]), "raw × wigwag");
        assert_eq!(mixed[0].raw.unwrap().cell, "raw × raw");
    }

    /// Every row of the document stands in just one place, save the limit, which may repeat.
    #[test]
    fn no_row_is_left_out() {
        let results = rich();
        let layout = Layout::of(&results);
        let shown: usize = layout.tables.iter().map(|table| table.others.len()).sum();
        let limits = results.rows.iter().filter(|row| is_raw(row)).count();
        assert_eq!(shown + layout.known_bad.len() + limits, results.rows.len());
    }

    #[test]
    fn participants_that_speak_with_themselves_share_a_table() {
        let mut results = rich();
        results
            .rows
            .retain(|row| (row.workload.as_str(), row.cell.as_str()) == ("pingpong", "server"));
        for row in &mut results.rows {
            row.cell = format!("{0} × {0}", row.participant);
        }
        let layout = Layout::of(&results);
        assert_eq!(layout.tables.len(), 1);
        assert!(layout.tables[0].raw.is_some());
    }
}
