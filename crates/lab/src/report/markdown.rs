//! The tables of a run as Markdown, for a page that is kept beside the code.
//!
//! They have the columns of a terminal. Pairs are one table, a reason stands beside its verdict, and
//! known-bad participants are only counted.

use crate::report::behind::behind;
use crate::report::columns::{
    Column, TerminalDetail, bytes, earned, interval, rate, significant, verdict_word,
};
use crate::report::escape::terminal;
use crate::report::layout::{Kind, Layout, Table};
use crate::report::matrix::{Matrix, figure};
use crate::results::reasons::is_found_out;
use crate::results::{Results, Row, Verdict};

/// The whole page.
pub fn page(results: &Results) -> String {
    let layout = Layout::of(results);
    let mut text = "# Tables of the lab\n\n".to_owned();
    text.push_str(&environment(results, &layout));
    text.push_str(&where_behind(&layout));
    for workload in layout.workloads() {
        text.push_str(&format!("\n## {}\n", words(workload)));
        for table in layout.tables.iter().filter(|table| table.workload == workload) {
            text.push_str(&format!("\n### {}\n\n", words(&table.title())));
            match table.kind {
                Kind::Mixed => text.push_str(&matrix(results, workload)),
                Kind::Cell | Kind::Unordered => text.push_str(&figures(table)),
            }
        }
    }
    text
}

fn environment(results: &Results, layout: &Layout<'_>) -> String {
    let at = &results.environment;
    let (memory, cpu, kernel) = (bytes(at.memory_bytes), words(&at.cpu), words(&at.kernel));
    let mut text = format!(
        "Measured from {} with wigwag {}: {} cores of {cpu}, {memory}, {kernel}, congestion control \
         {}.\n",
        words(&at.started),
        words(&at.wigwag),
        at.cores,
        words(&at.congestion_control)
    );
    for remark in &at.remarks {
        text.push_str(&format!("\n- {}", words(remark)));
    }
    let judged = results.rows.iter().filter(|row| !row.known_bad);
    let counted = |verdict| {
        let count = judged.clone().filter(|row| row.verdict == verdict).count();
        format!("{count} {}", verdict_word(verdict).1)
    };
    let verdicts =
        [Verdict::Valid, Verdict::Flagged, Verdict::Void, Verdict::Absent, Verdict::NotInstalled];
    text.push_str(&format!("\n\nRows: {}.", verdicts.map(counted).join(", ")));
    if !layout.known_bad.is_empty() {
        let caught = layout.known_bad.iter().filter(|row| is_found_out(row)).count();
        text.push_str(&format!(" Known bad and caught: {caught} of {}.", layout.known_bad.len()));
    }
    if results.interrupted {
        text.push_str(" **The run was interrupted.**");
    }
    if results.quick {
        text.push_str(" **Short windows: too little to rank by.**");
    }
    text.push('\n');
    text
}

fn where_behind(layout: &Layout<'_>) -> String {
    let Some(all) = behind(layout) else { return String::new() };
    let mut text = "\n## Where others are ahead\n\n".to_owned();
    if all.is_empty() {
        text.push_str("In no cell is another system ahead of wigwag.\n");
        return text;
    }
    text.push_str(
        "In the median of the same rounds. Where the interval reaches 1, these rounds do not settle who \
         is ahead.\n\n",
    );
    let head = ["cell", "figure", "wigwag", "ahead", "its figure", "wigwag ÷ it"];
    text.push_str(&head_of(&head.map(str::to_owned)));
    for it in &all {
        text.push_str(&line(&[
            words(&format!("{} / {}", it.table.workload, it.table.title())),
            it.measure.title().to_owned(),
            it.measure.figure(it.ours),
            words(&it.best.participant),
            it.measure.figure(it.best),
            interval(it.ratio).line(),
        ]));
    }
    text
}

fn figures(table: &Table<'_>) -> String {
    let rows = table.rows();
    let columns: Vec<&Column> = Column::used_by(&rows)
        .into_iter()
        .filter(|column| column.terminal != TerminalDetail::None)
        .collect();
    let mut head = vec!["participant".to_owned()];
    head.extend(columns.iter().map(|column| words(column.title)));
    head.push("verdict".to_owned());
    let mut text = head_of(&head);
    for row in rows {
        let mut cells = vec![words(table.label(row))];
        cells.extend(columns.iter().map(|column| match (column.of(row), column.terminal) {
            (None, _) => String::new(),
            (Some(figure), TerminalDetail::All) => words(&figure.line()),
            (Some(figure), _) => words(&figure.main),
        }));
        cells.push(verdict(row));
        text.push_str(&line(&cells));
    }
    text
}

/// Every server with every client: the ratio of a pair, or the sign of its verdict.
fn matrix(results: &Results, workload: &str) -> String {
    let Some(matrix) = Matrix::of(results, workload) else { return String::new() };
    let clients = matrix.clients.iter().map(|client| format!("× {}", words(client)));
    let head: Vec<String> = std::iter::once("server".to_owned()).chain(clients).collect();
    let mut text = head_of(&head);
    for server in &matrix.servers {
        let pairs = matrix.clients.iter().map(|client| pair(matrix.row(server, client)));
        text.push_str(&line(&std::iter::once(words(server)).chain(pairs).collect::<Vec<_>>()));
    }
    text
}

fn pair(row: Option<&Row>) -> String {
    let Some(row) = row else { return "–".to_owned() };
    let (sign, _) = verdict_word(row.verdict);
    let ratio = earned(row).and_then(|earned| earned.ratio());
    let Some(number) = figure(row) else { return sign.to_owned() };
    let word = if ratio.is_some() { significant(number) } else { rate(number) };
    if row.verdict == Verdict::Valid { word } else { format!("{sign} {word}") }
}

fn verdict(row: &Row) -> String {
    let (_, word) = verdict_word(row.verdict);
    match row.reasons.is_empty() {
        true => word.to_owned(),
        false => format!("{word}: {}", words(&row.reasons.join("; "))),
    }
}

fn head_of(cells: &[String]) -> String {
    line(cells) + &line(&cells.iter().map(|_| "---".to_owned()).collect::<Vec<_>>())
}

fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// Words of participants: nothing in them begins an element, a link or a cell.
fn words(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in terminal(text).chars() {
        match letter {
            '<' => safe.push_str("&lt;"),
            '&' => safe.push_str("&amp;"),
            '|' | '[' | ']' | '`' | '*' | '_' | '\\' | '!' => safe.extend(['\\', letter]),
            _ => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rich() -> Results {
        serde_json::from_str(include_str!("../../tests/fixtures/lab-1.json")).unwrap()
    }

    #[test]
    fn every_table_has_its_rows_and_every_line_as_many_cells_as_its_head() {
        let results = rich();
        let text = page(&results);
        for table in &Layout::of(&results).tables {
            assert!(text.contains(&format!("\n### {}\n", words(&table.title()))), "{text}");
        }
        let mut width = 0;
        for line in text.lines() {
            let cells = line.matches(" | ").count();
            match (line.starts_with("| "), width) {
                (false, _) => width = 0,
                (true, 0) => width = cells,
                (true, _) => assert_eq!(cells, width, "{line}"),
            }
        }
        assert!(text.contains("| tarpc |") && text.contains("| go | 0.604 ("), "{text}");
    }

    #[test]
    fn a_row_without_a_number_has_its_reason_and_known_bad_ones_are_counted() {
        let mut results = rich();
        let text = page(&results);
        let erlang = text.lines().find(|line| line.starts_with("| erlang |")).unwrap();
        assert!(erlang.contains("|  |  |") && erlang.contains("NOT INSTALLED: "), "{erlang}");
        assert!(text.contains("Known bad and caught: 6 of 6."), "{text}");
        assert!(!text.contains("broken-drop"), "{text}");
        results.interrupted = true;
        assert!(page(&results).contains("interrupted"));
    }

    #[test]
    fn words_of_a_participant_stay_words() {
        let mut results = rich();
        let hostile = "a|b <img src=x> [x](y) `z` \u{202e}";
        results.rows[2].reasons = vec![hostile.to_owned()];
        results.rows[2].participant = hostile.to_owned();
        let text = page(&results);
        assert!(text.contains(r"a\|b &lt;img src=x> \[x\](y) \`z\` \\u{202e}"), "{text}");
        assert!(!text.contains("<img") && !text.contains('\u{202e}'));
    }
}
