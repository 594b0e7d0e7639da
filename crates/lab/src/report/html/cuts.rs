//! Throughput over a run whose connection was cut again and again, step by step, with the cuts.
//!
//! One plot for each participant that was cut. A cut is a dashed line with a wedge at its top, so it
//! is known without its colour; how deep and how wide the gap behind it is, is what there is to see.

use crate::report::columns::{bytes, earned, microseconds, significant};
use crate::report::escape::html;
use crate::report::html::plots::{figure_with, marked};
use crate::report::layout::Table;
use crate::results::{Cuts, Row};

/// The drawing, in units of its own; at the left stand the bytes.
const WIDTH: f64 = 360.0;
const LEFT: f64 = 62.0;
const TOP: f64 = 10.0;
const HEIGHT: f64 = 150.0;

/// One plot for each row that was cut and earned its number.
pub(crate) fn of(table: &Table<'_>) -> Vec<String> {
    let rows = table.rows().into_iter();
    rows.filter_map(|row| plot(table, row, earned(row)?.row().cuts.as_ref()?)).collect()
}

fn plot(table: &Table<'_>, row: &Row, cuts: &Cuts) -> Option<String> {
    let most = cuts.bytes_per_second.iter().copied().fold(0.0, f64::max);
    let end = cuts.bytes_per_second.len() as f64 * cuts.step_ms as f64;
    let drawable = cuts.bytes_per_second.iter().all(|it| it.is_finite() && *it >= 0.0);
    if most <= 0.0 || end <= 0.0 || !drawable {
        return None;
    }
    let x = |at: f64| LEFT + at / end * (WIDTH - LEFT - 1.0);
    let y = |rate: f64| TOP + (1.0 - rate / most) * HEIGHT;
    let mut svg = scale(most, end, &y);
    svg.push_str(&line(row, cuts, &x, &y));
    let inside = cuts.cuts.iter().filter(|cut| (0.0..=end).contains(&cut.at_ms));
    for at in inside.map(|cut| x(cut.at_ms)) {
        svg.push_str(&format!(
            "<path class=cut d=\"M{at:.1} {TOP}V{:.1}\"/><path class=\"cut wedge\" \
             d=\"M{at:.1} {TOP}l-4-8h8z\"/>\n",
            TOP + HEIGHT
        ));
    }
    let note = "Bytes a second that the lab's relay brought the server in the last round. Dashed: \
                it reset the connection to both sides.";
    let below = format!("<p class=legend><span>{}</span></p>", words(table.label(row), row, cuts));
    Some(figure_with("Throughput across cuts", note, table, &svg, TOP + HEIGHT + 20.0, &below))
}

/// A step for each step of the run.
fn line(row: &Row, cuts: &Cuts, x: &impl Fn(f64) -> f64, y: &impl Fn(f64) -> f64) -> String {
    let class = if row.participant == "wigwag" { "line-ours thin" } else { "line0 thin" };
    let mut path = format!("M{LEFT} {:.1}", y(0.0));
    for (step, rate) in (1_u32..).zip(&cuts.bytes_per_second) {
        let to = x(f64::from(step) * cuts.step_ms as f64);
        path.push_str(&format!("V{:.1}H{to:.1}", y(*rate)));
    }
    format!("<path class=\"line {class}\" d=\"{path}\"/>\n")
}

fn scale(most: f64, end: f64, y: &impl Fn(f64) -> f64) -> String {
    let mut svg = String::new();
    for share in [0.0, 0.5, 1.0] {
        let (at, rate) = (y(most * share), bytes((most * share) as u64));
        svg.push_str(&format!(
            "<line class=grid x1={LEFT} x2={WIDTH} y1={at:.1} y2={at:.1}></line>\
             <text class=tick x={} y={:.1} text-anchor=end>{rate}/s</text>\n",
            LEFT - 4.0,
            at + 4.0
        ));
    }
    let floor = TOP + HEIGHT + 15.0;
    svg.push_str(&format!(
        "<text class=tick x={LEFT} y={floor}>0 s</text>\
         <text class=tick x={WIDTH} y={floor} text-anchor=end>{} s</text>\n",
        significant(end / 1e3)
    ));
    svg
}

/// The participant, how often its connection was cut, and how long until it was back.
fn words(label: &str, row: &Row, cuts: &Cuts) -> String {
    let name = html(&marked(label, row));
    let back = match cuts.resumed_ms {
        Some(back) => {
            let [median, min, max] = [back.median, back.min, back.max].map(|it| it * 1e3);
            let (median, min, max) = (microseconds(median), microseconds(min), microseconds(max));
            format!("back after {median} in the middle, {min} at best, {max} at worst")
        }
        None => "it never came back".to_owned(),
    };
    format!("<bdi>{name}</bdi>: {} cuts, {back}", cuts.cuts.len())
}
