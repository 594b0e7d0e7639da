//! A terminal that is drawn anew in place.

use crate::print;

/// Hides the cursor, and clears what is there.
const OPEN: &str = "\x1b[?25l\x1b[2J";
/// Shows the cursor again.
const CLOSE: &str = "\x1b[?25h";
/// To the first place; to be followed by lines.
const HOME: &str = "\x1b[H";
/// Clears the rest of the line, which ends there.
const LINE_END: &str = "\x1b[K\r\n";
/// Clears everything below.
const CLEAR_BELOW: &str = "\x1b[J";

/// The terminal on standard output, until it is dropped.
pub(super) struct Screen(());

impl Screen {
    pub(super) fn open() -> Screen {
        print::text(OPEN);
        Screen(())
    }

    /// Shows as many lines as fit, each with as many letters as fit.
    pub(super) fn show(&mut self, lines: &[String]) {
        let (columns, rows) = size();
        print::text(&frame(lines, columns, rows));
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        print::text(CLOSE);
    }
}

/// A whole picture, written at once so that it does not flicker.
fn frame(lines: &[String], columns: usize, rows: usize) -> String {
    let mut text = HOME.to_owned();
    // The last row stays free, since a line end there would move everything up.
    for line in lines.iter().take(rows.saturating_sub(1)) {
        text.extend(line.chars().take(columns));
        text.push_str(LINE_END);
    }
    text + CLEAR_BELOW
}

/// Columns and rows of the terminal; those of the oldest ones if it does not say.
fn size() -> (usize, usize) {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    let size = size.filter(|size| size.ws_col > 0 && size.ws_row > 0);
    size.map_or((80, 24), |size| (size.ws_col.into(), size.ws_row.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_do_not_fit_are_left_out_and_the_old_screen_is_cleared() {
        let lines = ["ünf letters", "b", "c"].map(str::to_owned);
        let expected = "\x1b[Hünf\x1b[K\r\nb\x1b[K\r\n\x1b[J";
        assert_eq!(frame(&lines, 3, 3), expected);
        assert_eq!(frame(&[], 3, 0), "\x1b[H\x1b[J");
    }
}
