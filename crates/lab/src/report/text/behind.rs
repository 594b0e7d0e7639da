//! The cells in which another system is ahead, behind all tables: on a terminal the end is what one sees.

use super::{Grid, name, section};
use crate::report::behind::behind;
use crate::report::columns::interval;
use crate::report::escape::terminal;
use crate::report::layout::Layout;

/// Appends them, if wigwag took part and there are any.
pub(super) fn cells(text: &mut String, layout: &Layout<'_>) {
    let all = behind(layout).unwrap_or_default();
    if all.is_empty() {
        return;
    }
    section(text, "where others are ahead");
    let mut grid = Grid::default();
    let head = ["cell", "figure", "wigwag", "ahead", "its figure", "wigwag ÷ it"];
    grid.line(head.map(str::to_owned).to_vec());
    for it in &all {
        grid.line(vec![
            terminal(&format!("{} / {}", it.table.workload, it.table.title())),
            it.measure.title().to_owned(),
            it.measure.figure(it.ours),
            name(&it.best.participant),
            it.measure.figure(it.best),
            interval(it.ratio).line(),
        ]);
    }
    grid.write(text);
}
