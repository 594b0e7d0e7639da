//! The plots below a table, each an SVG of its own.
//!
//! They are drawn for the width of a phone and grow a little on a screen: a name stands above its
//! bar and not beside it, so a long name costs no room. Everything that a plot shows stands in the
//! table too, or as a list of points in the document; whoever hears the page loses little.

use crate::report::columns::{
    bytes, earned, interval, memory_of_sides, microseconds, significant, verdict_word,
};
use crate::report::escape::{html, short};
use crate::report::html::{curves, cuts, threads};
use crate::report::layout::{Kind, Table, is_raw};
use crate::results::{Row, RttPercentiles, Verdict};

/// The width that all plots are drawn for, in units of their own.
const WIDTH: f64 = 360.0;

/// A letter of the name or the value at the size that the style sheet gives, on the wide side.
const LETTER_WIDTH: f64 = 7.0;

/// From one bar to the next.
const STEP: f64 = 36.0;

/// All plots of one table. Mixed cells have the heat map instead.
pub(crate) fn of(table: &Table<'_>) -> String {
    if table.kind == Kind::Mixed {
        return String::new();
    }
    let bars = [ratios(table), cpu(table), memory(table), round_trips(table)];
    let mut text: String = bars.into_iter().flatten().chain(curves::of(table)).collect();
    text.extend(cuts::of(table));
    text.push_str(&threads::of(table));
    match text.is_empty() {
        true => text,
        false => format!("<div class=plots>\n{text}</div>\n"),
    }
}

/// One bar.
struct Bar {
    name: String,
    class: String,
    value: f64,
    /// Where its second part begins.
    first: Option<f64>,
    /// From where to where it may be.
    range: Option<(f64, f64)>,
    words: String,
}

fn ratios(table: &Table<'_>) -> Option<String> {
    let bars = bars(table, |row| {
        let ratio = earned(row)?.ratio()?;
        Some((ratio.median, Some((ratio.low, ratio.high)), interval(ratio).line()))
    });
    let note = "Rate divided by that of raw, the limit: more is better. Lines: 95 % intervals.";
    plot(table, "Rate against the limit", note, &bars, Some(1.0), significant)
}

fn cpu(table: &Table<'_>) -> Option<String> {
    let mut bars = bars(table, |row| {
        let cpu = row.cpu_s_per_million?;
        Some((cpu.median, Some((cpu.min, cpu.max)), format!("{} s", significant(cpu.median))))
    });
    let has_bar = |row: &&Row| row.cpu_s_per_million.is_some_and(|cpu| cpu.median.is_finite());
    let rows = table.rows().into_iter().filter(|row| earned(row).is_some()).filter(has_bar);
    for (bar, row) in bars.iter_mut().zip(rows) {
        let sides = row.cpu_by_side.as_ref().map_or(&[][..], |by_side| &by_side.sides);
        let [first, second] = sides else { continue };
        bar.first = Some(first.cpu_s_per_million).filter(|seconds| seconds.is_finite());
        let [a, b] = [first, second].map(|side| significant(side.cpu_s_per_million));
        bar.words = format!("{a} + {b} s");
    }
    let note = match bars.iter().any(|bar| bar.first.is_some()) {
        true => {
            "Processor seconds for a million messages, of the side that listens and behind it of \
             the one that dials: less is better. Lines: least and most of the rounds."
        }
        false => {
            "Processor seconds for a million messages: less is better. Lines: least and most of \
             the rounds."
        }
    };
    plot(table, "What a message costs", note, &bars, None, significant)
}

fn memory(table: &Table<'_>) -> Option<String> {
    let mut bars = bars(table, |row| {
        let held = row.peak_rss_bytes?;
        Some((held as f64, None, bytes(held)))
    });
    let two = table.rows().into_iter().filter(|row| earned(row).is_some());
    let sides = two.filter(|row| row.peak_rss_bytes.is_some()).map(memory_of_sides);
    for (bar, sides) in bars.iter_mut().zip(sides) {
        let Some((server, client)) = sides else { continue };
        bar.first = Some(server as f64);
        bar.words = format!("{} + {}", bytes(server), bytes(client));
    }
    let note = match bars.iter().any(|bar| bar.first.is_some()) {
        true => {
            "The largest resident memory, of the server and behind it of the client: less is \
                 better."
        }
        false => "The largest resident memory of all processes: less is better.",
    };
    plot(table, "Memory", note, &bars, None, |size| bytes(size as u64))
}

/// A bar for each row that earned its figure and has it.
fn bars(
    table: &Table<'_>,
    figure: impl Fn(&Row) -> Option<(f64, Option<(f64, f64)>, String)>,
) -> Vec<Bar> {
    let bar = |row: &Row, label: &str| {
        earned(row)?;
        let (value, range, words) = figure(row)?;
        let range = range.filter(|(low, high)| low.is_finite() && high.is_finite());
        let (name, class) = (marked(label, row), class(row).to_owned());
        let first = None;
        value.is_finite().then_some(Bar { name, class, value, first, range, words })
    };
    table.rows().into_iter().filter_map(|row| bar(row, table.label(row))).collect()
}

/// The name of a row, with the sign of a flagged one.
pub(crate) fn marked(label: &str, row: &Row) -> String {
    match row.verdict {
        Verdict::Flagged => format!("▲ {label}"),
        _ => label.to_owned(),
    }
}

fn class(row: &Row) -> &'static str {
    match (row.participant.as_str(), row.verdict) {
        _ if is_raw(row) => "limit",
        ("wigwag", Verdict::Valid) => "ours",
        ("wigwag", _) => "ours doubt",
        (_, Verdict::Valid) => "other",
        _ => "other doubt",
    }
}

fn plot(
    table: &Table<'_>,
    title: &str,
    note: &str,
    bars: &[Bar],
    line: Option<f64>,
    word: fn(f64) -> String,
) -> Option<String> {
    let ends = bars.iter().map(|bar| bar.range.map_or(bar.value, |(_, high)| high.max(bar.value)));
    let most = ends.chain(line).fold(0.0, f64::max);
    if bars.is_empty() || most <= 0.0 {
        return None;
    }
    // Room at the right end, for the cap of the longest whisker.
    let x = |value: f64| (value / most * (WIDTH - 1.0)).max(0.0);
    let floor = STEP * bars.len() as f64;
    let mut svg = String::new();
    for share in [0.0, 0.5, 1.0] {
        let (at, anchor) = (x(most * share), ["start", "middle", "end"][(share * 2.0) as usize]);
        svg.push_str(&format!(
            "<line class=grid x1={at:.1} x2={at:.1} y1=0 y2={floor}></line>\
             <text class=tick x={at:.1} y={} text-anchor={anchor}>{}</text>\n",
            floor + 14.0,
            html(&word(most * share))
        ));
    }
    for (at, bar) in bars.iter().enumerate() {
        svg.push_str(&one_bar(bar, STEP * at as f64, &x));
    }
    if let Some(value) = line {
        let at = x(value);
        svg.push_str(&format!("<line class=one x1={at:.1} x2={at:.1} y1=0 y2={floor}></line>\n"));
    }
    // Words come last, so that no line runs through them.
    for (at, bar) in bars.iter().enumerate() {
        svg.push_str(&name_line(&bar.name, &bar.words, STEP * at as f64));
    }
    Some(figure(title, note, table, &svg, floor + 20.0))
}

fn one_bar(bar: &Bar, top: f64, x: &impl Fn(f64) -> f64) -> String {
    let class = &bar.class;
    let y = top + 19.0;
    let end = x(bar.value).max(0.75);
    let middle = bar.first.map_or(end, |first| x(first).min(end));
    let mut svg = format!("<rect class=\"{class}\" x=0 y={y} width={middle:.1} height=10></rect>");
    if middle < end {
        let width = end - middle;
        svg.push_str(&format!(
            "<rect class=\"{class} second\" x={middle:.1} y={y} width={width:.1} height=10></rect>"
        ));
    }
    if let Some((low, high)) = bar.range.filter(|(low, high)| high > low) {
        let (low, high, middle) = (x(low), x(high), top + 24.0);
        let (above, below) = (middle - 4.0, middle + 4.0);
        let path = format!(
            "M{low:.1} {above}V{below}M{low:.1} {middle}H{high:.1}M{high:.1} {above}V{below}"
        );
        svg.push_str(&format!("<path class=halo d=\"{path}\"/><path class=whisker d=\"{path}\"/>"));
    }
    svg.push('\n');
    svg
}

/// A name at the left and its figure at the right; a name that is too long is cut, and is told in
/// full to whoever points at it.
fn name_line(name: &str, words: &str, top: f64) -> String {
    let room = WIDTH - (words.chars().count() as f64 + 2.0) * LETTER_WIDTH;
    let letters = (room / LETTER_WIDTH).max(4.0) as usize;
    format!(
        "<text class=clear x=0 y={y}>{}<title>{}</title></text>\
         <text class=clear x={WIDTH} y={y} text-anchor=end>{}</text>\n",
        html(&short(name, letters)),
        html(name),
        html(words),
        y = top + 14.0
    )
}

/// Also lists the participants that are missing from the plot, and the reasons.
fn figure(title: &str, note: &str, table: &Table<'_>, svg: &str, height: f64) -> String {
    figure_with(title, note, table, svg, height, "")
}

/// A plot with something below the drawing.
pub(crate) fn figure_with(
    title: &str,
    note: &str,
    table: &Table<'_>,
    svg: &str,
    height: f64,
    below: &str,
) -> String {
    let missing: Vec<String> = table
        .rows()
        .into_iter()
        .filter(|row| earned(row).is_none())
        .map(|row| {
            let (sign, word) = verdict_word(row.verdict);
            format!("<bdi>{}</bdi> {sign} {word}", html(table.label(row)))
        })
        .collect();
    let missing = match missing.is_empty() {
        true => String::new(),
        false => format!("<small>Without a number: {}.</small>", missing.join(", ")),
    };
    let name = html(&format!("{title}: {}, {}", table.workload, table.title()));
    format!(
        "<figure><figcaption><h4>{title}</h4><small>{note}</small>{missing}</figcaption>\n\
         <svg viewBox=\"0 0 {WIDTH} {height}\" role=img aria-label=\"{name}\">\n{svg}</svg>\
         {below}</figure>\n"
    )
}

/// The percentiles of each row on a logarithmic scale, each with a mark of its own.
fn round_trips(table: &Table<'_>) -> Option<String> {
    let rows: Vec<(&Row, &RttPercentiles)> = table
        .rows()
        .into_iter()
        .filter_map(|row| Some((row, earned(row)?.row().rtt_us.as_ref()?)))
        .filter(|(_, rtt)| rtt.p50 > 0.0 && rtt.max.is_finite() && rtt.max >= rtt.p50)
        .collect();
    let least = rows.iter().map(|(_, rtt)| rtt.p50).reduce(f64::min)?.log10().floor();
    let most = rows.iter().map(|(_, rtt)| rtt.max).reduce(f64::max)?.log10().ceil();
    let decades = (most - least).max(1.0);
    // The marks at both ends are drawn whole.
    let x = |time: f64| 6.0 + (time.log10() - least) / decades * (WIDTH - 12.0);
    let floor = STEP * rows.len() as f64;
    let mut svg = String::new();
    for decade in 0..=decades as i32 {
        let time = 10f64.powi(least as i32 + decade);
        let anchor = match decade {
            0 => "start",
            last if last == decades as i32 => "end",
            _ => "middle",
        };
        let nudge = match anchor {
            "start" => -6.0,
            "end" => 6.0,
            _ => 0.0,
        };
        let at = x(time);
        svg.push_str(&format!(
            "<line class=grid x1={at:.1} x2={at:.1} y1=0 y2={floor}></line>\
             <text class=tick x={:.1} y={} text-anchor={anchor}>{}</text>\n",
            at + nudge,
            floor + 14.0,
            whole(time)
        ));
    }
    for (at, (row, rtt)) in rows.iter().enumerate() {
        let top = STEP * at as f64;
        let name = marked(table.label(row), row);
        svg.push_str(&name_line(&name, &microseconds(rtt.p50), top));
        svg.push_str(&marks(rtt, class(row), top + 24.0, &x));
    }
    let note = "● half were faster, ◆ nine of ten, ■ 99 of a hundred, ▲ the slowest. One in \
                flight: a round trip, not latency under load. Logarithmic; left is better.";
    Some(figure("Round trips", note, table, &svg, floor + 20.0))
}

/// A power of ten needs no digits after the point.
pub(crate) fn whole(time: f64) -> String {
    match time {
        time if time >= 1e6 => format!("{} s", time / 1e6),
        time if time >= 1e3 => format!("{} ms", time / 1e3),
        time => format!("{time} µs"),
    }
}

fn marks(rtt: &RttPercentiles, class: &str, y: f64, x: &impl Fn(f64) -> f64) -> String {
    let (from, to) = (x(rtt.p50), x(rtt.max));
    let mut svg = format!("<path class=\"{class} span\" d=\"M{from:.1} {y}H{to:.1}\"/>");
    svg.push_str(&format!("<circle class=\"{class}\" cx={from:.1} cy={y} r=4.5></circle>"));
    if let Some(at) = rtt.p90.map(x) {
        svg.push_str(&format!(
            "<path class=\"{class}\" d=\"M{at:.1} {}l5 5l-5 5l-5-5z\"/>",
            y - 5.0
        ));
    }
    if let Some(at) = rtt.p99.map(x) {
        let (left, above) = (at - 4.0, y - 4.0);
        svg.push_str(&format!(
            "<rect class=\"{class}\" x={left:.1} y={above} width=8 height=8></rect>"
        ));
    }
    svg.push_str(&format!(
        "<path class=\"{class} hollow\" d=\"M{to:.1} {}l5 9h-10z\"/>\n",
        y - 5.0
    ));
    svg
}
