//! Servers with other participants' clients, as a heat map.
//!
//! A table, because it is one: each cell can be read, copied and heard. The shade repeats what
//! the figure says. Known-bad participants stand here beside the honest ones, since what they do
//! to each other is what the matrix is for.

use crate::report::columns::{earned, rate, significant, verdict_word};
use crate::report::escape::html;
use crate::report::html::palette::HEAT_STEPS;
use crate::report::html::table::boxed;
use crate::report::layout::pair;
use crate::results::{Results, Row, Verdict};

/// The heat map of `workload`, if it has pairs.
pub(crate) fn of(results: &Results, workload: &str) -> Option<String> {
    let pairs: Vec<(&str, &str, &Row)> = results
        .rows
        .iter()
        .filter(|row| row.workload == workload)
        .filter_map(|row| pair(row).map(|(server, client)| (server, client, row)))
        .collect();
    let servers = each_once(pairs.iter().map(|pair| pair.0));
    let clients = each_once(pairs.iter().map(|pair| pair.1));
    if servers.is_empty() {
        return None;
    }
    let most = pairs.iter().filter_map(|pair| heat(pair.2)).fold(0.0, f64::max);
    let mut head = "<th scope=col>server × client</th>".to_owned();
    for client in &clients {
        head.push_str(&format!("<th scope=col>× <bdi>{}</bdi></th>", html(client)));
    }
    let mut body = String::new();
    for server in &servers {
        body.push_str(&format!("<tr><th scope=row><bdi>{}</bdi> ×</th>", html(server)));
        for client in &clients {
            let found = pairs.iter().find(|pair| pair.0 == *server && pair.1 == *client);
            body.push_str(&cell(server, client, found.map(|pair| pair.2), most));
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
    let Some(heat) = heat(row) else {
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

/// The figure that decides the shade: the ratio, or the rate where there is no ratio.
fn heat(row: &Row) -> Option<f64> {
    let earned = earned(row)?;
    let ratio = earned.ratio().map(|ratio| ratio.median);
    ratio.or(earned.row().rate.map(|rate| rate.median).filter(|rate| rate.is_finite()))
}

/// In the order in which they first occur.
fn each_once<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut once: Vec<&str> = Vec::new();
    for name in names {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    once
}
