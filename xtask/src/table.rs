//! Parses the Markdown tables that the checks compare with the workspace.
//!
//! Only the plain form is supported: a header line, a line of dashes, one row per line, a bar at both
//! ends of each line, and no bars within a cell.

/// The rows of the first table with exactly the header `header`, without backticks.
pub(crate) fn rows(text: &str, header: &[&str]) -> Result<Vec<Vec<String>>, String> {
    let mut lines = text.lines().map(str::trim);
    let wanted: Vec<String> = header.iter().map(|&cell| cell.to_owned()).collect();
    if !lines.any(|line| cells(line).as_ref() == Some(&wanted)) {
        return Err(format!("no table with the header `{}`", line_of(header)));
    }
    let is_rule = |line: &str| line.starts_with('|') && line.chars().all(|c| "|-: ".contains(c));
    if !lines.next().is_some_and(is_rule) {
        return Err(format!("no line of dashes under `{}`", line_of(header)));
    }
    let mut rows = Vec::new();
    for line in lines {
        let Some(row) = cells(line) else { break };
        if row.len() != header.len() {
            return Err(format!("`{line}` has {} cells, not {}", row.len(), header.len()));
        }
        rows.push(row);
    }
    Ok(rows)
}

/// Formats one line of a table.
pub(crate) fn line_of(cells: &[&str]) -> String {
    let mut line = String::from("|");
    for cell in cells {
        line.push(' ');
        if !cell.is_empty() {
            line.push_str(cell);
            line.push(' ');
        }
        line.push('|');
    }
    line
}

fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.strip_prefix('|')?.strip_suffix('|')?;
    let clean = |cell: &str| cell.replace('`', "").trim().to_owned();
    Some(inner.split('|').map(clean).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "words\n\n| a | b |\n|---|:--|\n| `x` | |\n| y | p, q |\n\n| z | no |\n";

    #[test]
    fn rows_end_where_the_table_ends() {
        assert_eq!(rows(TEXT, &["a", "b"]).unwrap(), [["x", ""], ["y", "p, q"]]);
    }

    #[test]
    fn a_missing_table_and_a_malformed_row_are_errors() {
        assert!(rows(TEXT, &["a", "c"]).unwrap_err().contains("| a | c |"));
        assert!(rows("| a | b |\nx", &["a", "b"]).unwrap_err().contains("dashes"));
        let short = "| a | b |\n|---|---|\n| x |\n";
        assert!(rows(short, &["a", "b"]).unwrap_err().contains("1 cells, not 2"));
    }

    #[test]
    fn a_formatted_line_can_be_parsed_again() {
        assert_eq!(line_of(&["x", "", "y z"]), "| x | | y z |");
        assert_eq!(cells("| x | | y z |").unwrap(), ["x", "", "y z"]);
    }
}
