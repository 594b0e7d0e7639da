//! Servers with other participants' clients, as a heat map.
//!
//! A table, because it is one: each cell can be read, copied and heard. The shade repeats what
//! the figure says.

use crate::report::columns::{earned, rate, significant, verdict_word};
use crate::report::escape::html;
use crate::report::html::palette::HEAT_STEPS;
use crate::report::html::table::boxed;
use crate::report::matrix::{Matrix, figure};
use crate::results::{Results, Row, Verdict};

/// The heat map of `workload`, if it has pairs.
pub(crate) fn of(results: &Results, workload: &str) -> Option<String> {
    let matrix = Matrix::of(results, workload)?;
    let most = matrix.most();
    let mut head = "<th scope=col>server × client</th>".to_owned();
    for client in &matrix.clients {
        head.push_str(&format!("<th scope=col>× <bdi>{}</bdi></th>", html(client)));
    }
    let mut body = String::new();
    for server in &matrix.servers {
        body.push_str(&format!("<tr><th scope=row><bdi>{}</bdi> ×</th>", html(server)));
        for client in &matrix.clients {
            body.push_str(&cell(server, client, matrix.row(server, client), most));
        }
        body.push_str("</tr>\n");
    }
    let note = "Rate divided by that of raw: the stronger the shade, the faster. ▲ is flagged, a \
                dash was not measured.";
    let table = boxed(&format!("{workload}: server × client"), "heat", &head, &body);
    Some(format!("<p class=muted>{note}</p>\n{table}"))
}

fn cell(server: &str, client: &str, row: Option<&Row>, most: f64) -> String {
    let name = html(&format!("{server} × {client}"));
    let Some(row) = row else {
        return format!("<td title=\"{name}\">–</td>");
    };
    let (sign, word) = verdict_word(row.verdict);
    let Some(heat) = figure(row) else {
        let verdict = crate::report::html::table::verdict(row.verdict);
        return format!("<td title=\"{name}: {word}\">{verdict}</td>");
    };
    let step = match heat / most * HEAT_STEPS as f64 {
        share if share.is_finite() => (share as usize).min(HEAT_STEPS - 1),
        _ => 0,
    };
    let flag = if row.verdict == Verdict::Flagged { format!(" {sign}") } else { String::new() };
    let ratio = earned(row).and_then(|earned| earned.ratio());
    let speed = row.rate.map(|spread| rate(spread.median)).unwrap_or_default();
    let words = match ratio {
        Some(ratio) => format!("{}{flag}<small>{speed}</small>", significant(ratio.median)),
        None => format!("{speed}{flag}"),
    };
    format!("<td class=heat{step} title=\"{name}\">{words}</td>")
}
