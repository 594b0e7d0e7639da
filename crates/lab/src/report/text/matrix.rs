//! Every server with every client, as one table on a terminal.
//!
//! A pair is one figure here, so that a whole matrix fits; what else is known of it, and why a pair
//! came out void, stands in the rows of the table of pairs.

use super::{Grid, name, section};
use crate::report::columns::{earned, rate, significant, verdict_word};
use crate::report::matrix::{Matrix, each_once};
use crate::results::{Results, Row, Verdict};

/// Appends the matrix of each workload in which different participants met.
pub(super) fn matrices(text: &mut String, results: &Results) {
    for workload in each_once(results.rows.iter().map(|row| row.workload.as_str())) {
        let Some(matrix) = Matrix::of(results, workload) else { continue };
        if matrix.servers.len() == 1 && matrix.clients.len() == 1 {
            continue;
        }
        section(text, &format!("{workload} / every server (down) × every client (across), ÷ raw"));
        let mut grid = Grid::default();
        let clients = matrix.clients.iter().map(|client| format!("× {}", name(client)));
        grid.line(std::iter::once(String::new()).chain(clients).collect());
        for server in &matrix.servers {
            let pairs = matrix.clients.iter().map(|client| cell(matrix.row(server, client)));
            grid.line(std::iter::once(name(server)).chain(pairs).collect());
        }
        grid.write(text);
    }
}

/// The figure of a pair, behind the sign of its verdict unless that is VALID.
fn cell(row: Option<&Row>) -> String {
    // The pair was not among those of the run: they do not send the same payloads.
    let Some(row) = row else { return "–".to_owned() };
    let (sign, _) = verdict_word(row.verdict);
    let Some(earned) = earned(row) else { return sign.to_owned() };
    let ratio = earned.ratio().map(|ratio| significant(ratio.median));
    let figure = ratio.or(row.rate.map(|spread| rate(spread.median))).unwrap_or_default();
    match row.verdict {
        Verdict::Valid => figure,
        _ => format!("{sign} {figure}"),
    }
}
