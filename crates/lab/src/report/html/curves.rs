//! How long round trips took, share by share, as lines: several participants in one plot.
//!
//! To the right lie the slow ones, each step ten times rarer than the one before, because that is
//! where systems differ and where a plain scale shows nothing. A line is known by its letter and
//! its dashes as well as by its colour, and the legend below has all three.

use crate::report::columns::{earned, microseconds};
use crate::report::escape::html;
use crate::report::html::palette::LINES;
use crate::report::html::plots::{self, marked};
use crate::report::layout::{Table, is_raw};
use crate::results::Row;

/// The drawing, in units of its own; at the left stand the times, at the right the letters.
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 210.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = 25.0;

/// Two letters that stand closer than this overlap.
const LETTER: f64 = 12.0;

/// Steps of a scale within a decade.
const STEPS: [f64; 3] = [1.0, 2.0, 5.0];

/// Lines of the scale of times; with more their words would touch.
const TICKS_MAX: usize = 8;

/// A participant's line.
struct CurveLine<'a> {
    name: String,
    class: String,
    letter: char,
    points: &'a [[f64; 2]],
}

/// One plot, or several if there are more participants than can be told apart; the limit and
/// wigwag stand in each. Nothing where nobody has a curve.
pub(crate) fn of(table: &Table<'_>) -> Vec<String> {
    let rows: Vec<(&Row, &[[f64; 2]])> = table
        .rows()
        .into_iter()
        .filter_map(|row| Some((row, earned(row)?.row().rtt_us.as_ref()?.curve.points())))
        .filter(|(_, points)| points.len() > 1 && points.iter().all(|point| point[1] > 0.0))
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let common = |row: &Row| is_raw(row) || row.participant == "wigwag";
    let others: Vec<usize> = (0..rows.len()).filter(|at| !common(rows[*at].0)).collect();
    let mut groups: Vec<&[usize]> = others.chunks(LINES).collect();
    if groups.is_empty() {
        groups.push(&[]);
    }
    let (count, mut plots) = (groups.len(), Vec::new());
    for (number, group) in groups.into_iter().enumerate() {
        let shown = rows.iter().enumerate();
        let shown = shown.filter(|(at, (row, _))| common(row) || group.contains(at));
        let mut colours = 0..;
        let lines = shown.zip('a'..).map(|((_, (row, points)), letter)| {
            let class = match row.participant.as_str() {
                _ if is_raw(row) => "line-limit".to_owned(),
                "wigwag" => "line-ours".to_owned(),
                _ => format!("line{}", colours.next().unwrap_or(0)),
            };
            CurveLine { name: marked(table.label(row), row), class, letter, points }
        });
        let part = if count > 1 { format!(" ({} of {count})", number + 1) } else { String::new() };
        plots.push(plot(table, &part, &lines.collect::<Vec<_>>()));
    }
    plots
}

fn plot(table: &Table<'_>, part: &str, lines: &[CurveLine<'_>]) -> String {
    let scale = LogScale::of(lines);
    let mut svg = scale.draw();
    for line in lines {
        let points: Vec<String> = line
            .points
            .iter()
            .map(|[share, time]| format!("{:.1} {:.1}", scale.x(*share), scale.y(*time)))
            .collect();
        svg.push_str(&format!(
            "<path class=\"line {}\" d=\"M{}\"/>\n",
            line.class,
            points.join("L")
        ));
    }
    svg.push_str(&letters(lines, &scale));
    let title = format!("Round trips by share{part}");
    let note = "So many of a hundred round trips took no longer: lower is better. Both scales are \
                logarithmic. One in flight: no latency under load. The middle of the rounds, as \
                far as ten samples lie beyond.";
    plots::figure_with(&title, note, table, &svg, HEIGHT + 36.0, &legend(lines))
}

/// The line as it is drawn, its letter, its name, and where it ends.
fn legend(lines: &[CurveLine<'_>]) -> String {
    let key = |line: &CurveLine<'_>| {
        let last = line
            .points
            .last()
            .map(|[share, time]| format!("{} in {}", percent(*share), microseconds(*time)));
        format!(
            "<span><svg class=key viewBox=\"0 0 30 8\" aria-hidden=true><path class=\"line {}\" \
             d=\"M1 4H29\"/></svg> {} <bdi>{}</bdi> {}</span> ",
            line.class,
            line.letter,
            html(&line.name),
            last.unwrap_or_default()
        )
    };
    format!("<p class=legend>{}</p>", lines.iter().map(key).collect::<String>())
}

/// A letter at the right end of each line, moved apart where lines end together.
fn letters(lines: &[CurveLine<'_>], scale: &LogScale) -> String {
    let end =
        |line: &CurveLine<'_>| line.points.last().map(|last| (scale.x(last[0]), scale.y(last[1])));
    let mut ends: Vec<(f64, f64, char)> =
        lines.iter().filter_map(|line| end(line).map(|(x, y)| (x, y, line.letter))).collect();
    ends.sort_by(|one, two| one.1.total_cmp(&two.1));
    let near = |one: f64, two: f64| (one - two).abs() < LETTER;
    let mut placed: Vec<(f64, f64)> = Vec::new();
    let mut svg = String::new();
    for (x, mut y, letter) in ends {
        // The ones placed are those above, so what is in the way is below them.
        for (_, above) in placed.iter().filter(|other| near(other.0, x)) {
            y = y.max(above + LETTER);
        }
        placed.push((x, y));
        svg.push_str(&format!(
            "<text class=clear x={:.1} y={:.1}>{letter}</text>\n",
            x + 6.0,
            y + 4.0
        ));
    }
    svg
}

/// From shares and times to places.
struct LogScale {
    /// Powers of ten of what is beyond the last share.
    decades: f64,
    fastest: f64,
    slowest: f64,
}

impl LogScale {
    fn of(lines: &[CurveLine<'_>]) -> LogScale {
        let all = || lines.iter().flat_map(|line| line.points);
        let decades = all().map(|point| beyond(point[0])).fold(1.0, f64::max);
        let fastest = all().map(|point| point[1]).fold(f64::INFINITY, f64::min);
        let slowest = all().map(|point| point[1]).fold(fastest, f64::max);
        let steps = steps(fastest / 10.0, slowest * 10.0);
        // The steps that enclose all points, and at least one apart.
        let below = steps.iter().rev().copied().find(|step| *step <= fastest);
        let above = steps.iter().copied().find(|step| *step >= slowest && *step > fastest);
        LogScale {
            decades,
            fastest: below.unwrap_or(fastest),
            slowest: above.unwrap_or(slowest * 2.0),
        }
    }

    fn x(&self, share: f64) -> f64 {
        LEFT + beyond(share) / self.decades * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, time: f64) -> f64 {
        let whole = (self.slowest / self.fastest).log10();
        8.0 + (self.slowest / time).log10() / whole * HEIGHT
    }

    /// Both scales with their words.
    fn draw(&self) -> String {
        let (floor, mut svg) = (8.0 + HEIGHT, String::new());
        let mut times = steps(self.fastest, self.slowest);
        if times.len() > TICKS_MAX {
            times.retain(|time| is_decade(*time));
        }
        for time in times {
            let y = self.y(time);
            svg.push_str(&format!(
                "<line class=grid x1={LEFT} x2={:.1} y1={y:.1} y2={y:.1}></line>\
                 <text class=tick x={} y={:.1} text-anchor=end>{}</text>\n",
                WIDTH - RIGHT,
                LEFT - 5.0,
                y + 4.0,
                plots::whole(time)
            ));
        }
        for share in [0.5, 0.9, 0.99, 0.999, 0.9999] {
            if beyond(share) > self.decades + 1e-6 {
                break;
            }
            let x = self.x(share);
            svg.push_str(&format!(
                "<line class=grid x1={x:.1} x2={x:.1} y1=8 y2={floor}></line>\
                 <text class=tick x={x:.1} y={} text-anchor=middle>{}</text>\n",
                floor + 15.0,
                percent(share)
            ));
        }
        svg
    }
}

/// How many powers of ten rarer than all the trips beyond `share` are.
fn beyond(share: f64) -> f64 {
    -(1.0 - share).log10()
}

/// 1, 2, 5, 10, … from `low` to `high`.
fn steps(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let decades = (first..=last).map(|decade| 10f64.powi(decade));
    let all = decades.flat_map(|decade| STEPS.map(|step| step * decade));
    let hair = 1e-9;
    all.filter(|step| *step >= low * (1.0 - hair) && *step <= high * (1.0 + hair)).collect()
}

fn is_decade(time: f64) -> bool {
    let power = time.log10();
    (power - power.round()).abs() < 1e-9
}

/// `99.9 %`, with the digits that the share has.
fn percent(share: f64) -> String {
    let digits = format!("{:.4}", share * 100.0);
    format!("{} %", digits.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_has_round_steps_and_encloses_all_points() {
        assert_eq!(steps(1.0, 60.0), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0]);
        let points = [[0.5, 17.9], [0.999, 220.0]];
        let line =
            |points| CurveLine { name: String::new(), class: String::new(), letter: 'a', points };
        let scale = LogScale::of(&[line(&points)]);
        assert_eq!((scale.fastest, scale.slowest), (10.0, 500.0));
        assert!((scale.decades - 3.0).abs() < 1e-9);
        assert!(scale.y(17.9) < 8.0 + HEIGHT && scale.y(220.0) > 8.0);
        // One time for all shares is a line too.
        let flat = [[0.5, 10.0], [0.9, 10.0]];
        let scale = LogScale::of(&[line(&flat)]);
        assert!(scale.y(10.0).is_finite() && scale.slowest > scale.fastest);
    }

    #[test]
    fn a_share_has_its_own_digits() {
        assert_eq!([0.5, 0.985, 0.9999].map(percent), ["50 %", "98.5 %", "99.99 %"]);
    }

    #[test]
    fn letters_of_lines_that_end_together_stand_apart() {
        let points = [[0.5, 10.0], [0.9, 20.0]];
        let lines: Vec<CurveLine<'_>> = ('a'..'e')
            .map(|letter| CurveLine {
                name: String::new(),
                class: String::new(),
                letter,
                points: &points,
            })
            .collect();
        let svg = letters(&lines, &LogScale::of(&lines));
        let places = svg.split("y=").skip(1).map(|rest| rest.split('>').next().unwrap());
        let places: Vec<f64> = places.map(|place| place.parse().unwrap()).collect();
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= LETTER - 0.1), "{places:?}");
    }
}
