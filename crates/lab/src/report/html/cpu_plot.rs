//! Processor time over a window, thread by thread, as stacked areas.
//!
//! Where a row is two programs the server stands above the line and the client below it, so that
//! one sees whether they worked together or took turns. Letters and colours are those of the bar
//! above and of the legend below. All rows of a table have one scale.

use crate::report::columns::{earned, significant};
use crate::report::html::palette::THREADS;
use crate::report::html::threads::ThreadBand;
use crate::report::layout::Table;
use crate::results::{Row, Run};

/// The drawing, in units of its own; at the left stand the processors.
const WIDTH: f64 = 359.0;
const LEFT: f64 = 22.0;
const TOP: f64 = 6.0;

/// A processor, and all of them, are at most so high.
const PROCESSOR: f64 = 56.0;
const HEIGHT: f64 = 112.0;

/// Room for the words for server and client at the right end.
const SIDE_WORDS: f64 = 48.0;

/// An area that is nowhere so high has no room for its letter.
const LETTER_ROOM: f64 = 12.0;

/// Processors at work above the line and below it: the most in any stretch of any row.
#[derive(Clone, Copy, Default)]
pub(crate) struct TimeAxis {
    above: f64,
    below: f64,
}

impl TimeAxis {
    /// The axis that all rows of `table` need, in whole halves of a processor.
    pub(crate) fn of(table: &Table<'_>) -> TimeAxis {
        let mut reach = TimeAxis::default();
        for run in table.rows().into_iter().filter_map(last) {
            let most = |is_below: bool| {
                let stretches = 0..run.moments.len();
                let sum = |stretch: usize| {
                    let threads = run.threads.iter().filter(|it| (it.side == Some(1)) == is_below);
                    threads.filter_map(|it| it.over_time.get(stretch)).sum::<f64>()
                };
                stretches.map(sum).fold(0.0, f64::max)
            };
            reach.above = reach.above.max(most(false));
            reach.below = reach.below.max(most(true));
        }
        // A hair over a half, by the kernel's ticks, needs no half more.
        let halves = |most: f64| ((most - 0.02) * 2.0).ceil().max(0.0) / 2.0;
        TimeAxis { above: halves(reach.above).max(0.5), below: halves(reach.below) }
    }

    /// The height of a processor.
    fn unit(self) -> f64 {
        (HEIGHT / (self.above + self.below)).min(PROCESSOR)
    }
}

/// The run of a row that was followed; it is the last one.
fn last(row: &Row) -> Option<&Run> {
    let run = earned(row)?.row().runs.last()?;
    let end = run.moments.last()?;
    let ascends = run.moments.is_sorted() && run.moments.first()? > &0.0 && end.is_finite();
    ascends.then_some(run)
}

/// The areas of a row, if it was followed.
pub(crate) fn of(row: &Row, parts: &[ThreadBand], reach: TimeAxis) -> Option<String> {
    let run = last(row)?;
    let unit = reach.unit();
    let axis = TOP + reach.above * unit;
    let floor = axis + reach.below * unit;
    let end = run.moments.last().copied().unwrap_or(1.0);
    let x = |at: f64| LEFT + at / end * (WIDTH - LEFT);
    let mut svg = grid(reach, unit, axis, end, floor + 13.0);
    let mut words = String::new();
    for (below, sign) in [(false, -1.0), (true, 1.0)] {
        let mut inner = vec![0.0; run.moments.len()];
        for (at, part) in bands(run, parts, below) {
            let outer: Vec<f64> =
                inner.iter().zip(&part).map(|(inner, more)| inner + more).collect();
            let edge = |values: &[f64]| -> Vec<f64> {
                values.iter().map(|value| axis + sign * value * unit).collect()
            };
            let (near, far) = (edge(&inner), edge(&outer));
            let colour = at.min(THREADS);
            svg.push_str(&format!(
                "<path class=\"area part{colour}\" d=\"{}\"/>\n",
                area(&run.moments, &near, &far, &x)
            ));
            words.push_str(&letter(at, &run.moments, &near, &far, &x));
            inner = outer;
        }
    }
    svg.push_str(&format!(
        "<line class=axis x1={LEFT} x2={WIDTH} y1={axis:.1} y2={axis:.1}></line>\n"
    ));
    svg.push_str(&words);
    if reach.below > 0.0 && run.sides.len() == 2 {
        svg.push_str(&sides(axis));
    }
    Some(format!(
        "<svg viewBox=\"-0.5 0 360 {:.0}\" role=img aria-label=\"processors at work over time\">\
         {svg}</svg>",
        floor + 18.0
    ))
}

/// The parts that have something on this side of the line, each with its letter's place and its
/// processors by stretch; what has no part of its own is the rest.
fn bands(run: &Run, parts: &[ThreadBand], below: bool) -> Vec<(usize, Vec<f64>)> {
    let mut bands: Vec<(usize, Vec<f64>)> = Vec::new();
    for thread in run.threads.iter().filter(|it| (it.side == Some(1)) == below) {
        let own = parts.iter().position(|part| part.is(thread)).unwrap_or(THREADS);
        let at = match bands.iter().position(|band| band.0 == own) {
            Some(at) => at,
            None => {
                bands.push((own, vec![0.0; run.moments.len()]));
                bands.len() - 1
            }
        };
        for (sum, share) in bands[at].1.iter_mut().zip(&thread.over_time) {
            *sum += share;
        }
    }
    bands.sort_by_key(|band| band.0);
    bands
}

/// From the near edge to the far one, a step for each stretch.
fn area(moments: &[f64], near: &[f64], far: &[f64], x: &impl Fn(f64) -> f64) -> String {
    let mut path = format!("M{:.1} {:.1}", x(0.0), near[0]);
    for (end, y) in moments.iter().zip(far) {
        path.push_str(&format!("V{y:.1}H{:.1}", x(*end)));
    }
    let starts = [0.0].iter().chain(moments);
    let back: Vec<(f64, f64)> = starts.copied().zip(near.iter().copied()).collect();
    for (start, y) in back.into_iter().rev() {
        path.push_str(&format!("V{y:.1}H{:.1}", x(start)));
    }
    path.push('z');
    path
}

/// The letter of a part where its area is highest, if there is room for it.
fn letter(
    at: usize,
    moments: &[f64],
    near: &[f64],
    far: &[f64],
    x: &impl Fn(f64) -> f64,
) -> String {
    let height = |stretch: &usize| (far[*stretch] - near[*stretch]).abs();
    // Not at the edge, where half of it would be cut.
    let inside = 1..moments.len().saturating_sub(1);
    let free = inside.filter(|stretch| x(moments[*stretch]) < WIDTH - SIDE_WORDS);
    let highest = free.max_by(|one, two| height(one).total_cmp(&height(two)));
    let Some(stretch) = highest.filter(|stretch| height(stretch) >= LETTER_ROOM) else {
        return String::new();
    };
    let middle = f64::midpoint(x(moments[stretch - 1]), x(moments[stretch]));
    let y = f64::midpoint(near[stretch], far[stretch]) + 4.0;
    let letter = super::threads::letter(at);
    format!("<text x={middle:.1} y={y:.1} text-anchor=middle>{letter}</text>\n")
}

/// Halves of a processor if there are few, else whole ones, else as many as there is room for.
fn grid(reach: TimeAxis, unit: f64, axis: f64, end: f64, floor: f64) -> String {
    let mut step = 0.5;
    while step * unit < 16.0 {
        step *= 2.0;
    }
    let mut svg = String::new();
    let (first, last) = (-(reach.below / step) as i32, (reach.above / step) as i32);
    for tick in first..=last {
        let value = f64::from(tick) * step;
        let y = axis - value * unit;
        svg.push_str(&format!(
            "<line class=grid x1={LEFT} x2={WIDTH} y1={y:.1} y2={y:.1}></line>\
             <text class=tick x={} y={:.1} text-anchor=end>{}</text>\n",
            LEFT - 4.0,
            y + 4.0,
            value.abs()
        ));
    }
    svg.push_str(&format!(
        "<text class=tick x={LEFT} y={floor:.1}>0 s</text>\
         <text class=tick x={WIDTH} y={floor:.1} text-anchor=end>{} s</text>\n",
        significant(end)
    ));
    svg
}

/// Which program is above and which below.
fn sides(axis: f64) -> String {
    let word = |y: f64, word: &str| {
        format!("<text class=side x={:.1} y={y:.1} text-anchor=end>{word}</text>\n", WIDTH - 3.0)
    };
    word(axis - 5.0, "server") + &word(axis + 12.0, "client")
}
