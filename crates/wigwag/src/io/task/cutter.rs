//! Cuts what was read into lines, or leaves it as it came.
//!
//! Bytes go in as they are read, and no more are read before all that can be cut off is: so there
//! is never more here than one line of the greatest length and one read.

use bytes::Bytes;

/// Bytes that wait for the rest of their line.
#[derive(Debug)]
pub(in crate::io) struct Cutter {
    /// Bytes of a line at most; `None`: whatever came is a piece.
    line_bytes_max: Option<usize>,
    bytes: Vec<u8>,
    /// Where the next piece begins.
    start: usize,
    /// No newline stands between `start` and here.
    seen: usize,
    /// Within a line that was too long.
    skips: bool,
}

/// What was cut off.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::io) enum Cut {
    /// A piece, and whether it ended where it should.
    Piece(Bytes, bool),
    /// A line is longer than it may be.
    TooLong,
}

impl Cutter {
    pub(in crate::io) fn new(line_bytes_max: Option<usize>) -> Cutter {
        Cutter { line_bytes_max, bytes: Vec::new(), start: 0, seen: 0, skips: false }
    }

    pub(in crate::io) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next piece, if it is whole.
    pub(in crate::io) fn next(&mut self) -> Option<Cut> {
        let Some(most) = self.line_bytes_max else { return self.rest() };
        loop {
            let fresh = self.bytes.get(self.seen..).unwrap_or_default();
            let Some(at) = fresh.iter().position(|&byte| byte == b'\n') else {
                return self.wait(most);
            };
            let (start, end) = (self.start, self.seen + at);
            (self.start, self.seen) = (end + 1, end + 1);
            if std::mem::take(&mut self.skips) {
                continue;
            }
            let line = self.bytes.get(start..end).unwrap_or_default();
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            return Some(match line.len() > most {
                true => Cut::TooLong,
                false => Cut::Piece(Bytes::copy_from_slice(line), true),
            });
        }
    }

    /// There is no newline: keeps the begun line, unless it is too long already.
    fn wait(&mut self, most: usize) -> Option<Cut> {
        self.bytes.drain(..self.start);
        self.start = 0;
        // One more, because it may be the first half of the line's end.
        let too_long = self.bytes.len() > most + 1;
        if too_long || self.skips {
            self.bytes.clear();
        }
        self.seen = self.bytes.len();
        (too_long && !std::mem::replace(&mut self.skips, true)).then_some(Cut::TooLong)
    }

    /// What is left at the end; a next line may begin behind it.
    pub(in crate::io) fn rest(&mut self) -> Option<Cut> {
        let rest = self.bytes.get(self.start..).unwrap_or_default();
        let skips = std::mem::take(&mut self.skips);
        let too_long = self.line_bytes_max.is_some_and(|most| rest.len() > most);
        let cut = match () {
            () if rest.is_empty() || skips => None,
            () if too_long => Some(Cut::TooLong),
            () => Some(Cut::Piece(Bytes::copy_from_slice(rest), false)),
        };
        self.bytes.clear();
        (self.start, self.seen) = (0, 0);
        cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuts(cutter: &mut Cutter) -> Vec<Cut> {
        std::iter::from_fn(|| cutter.next()).collect()
    }

    fn whole(text: &'static str) -> Cut {
        Cut::Piece(Bytes::from_static(text.as_bytes()), true)
    }

    /// The same bytes, torn at every place, are the same lines.
    #[test]
    fn lines_survive_being_torn() {
        let text = b"one\r\n\nthree\r\n123456789\n12345678\r\n1234567890123\r\nend";
        for cut in 0..=text.len() {
            let mut cutter = Cutter::new(Some(8));
            let (first, second) = text.split_at(cut);
            cutter.push(first);
            let mut all = cuts(&mut cutter);
            cutter.push(second);
            all.extend(cuts(&mut cutter));
            let lines = [
                whole("one"),
                whole(""),
                whole("three"),
                Cut::TooLong,
                whole("12345678"),
                Cut::TooLong,
            ];
            assert_eq!(all, lines, "torn at {cut}");
            assert_eq!(cutter.rest(), Some(Cut::Piece(Bytes::from_static(b"end"), false)));
            assert_eq!(cutter.rest(), None);
        }
    }

    #[test]
    fn a_line_without_end_is_told_once_and_held_never() {
        let mut cutter = Cutter::new(Some(8));
        let mut told = 0;
        for _ in 0..1000 {
            cutter.push(&[b'x'; 7]);
            told += cuts(&mut cutter).len();
            assert!(cutter.bytes.len() <= 9);
        }
        assert_eq!(told, 1);
        assert_eq!(cutter.rest(), None);
        cutter.push(b"next\n");
        assert_eq!(cuts(&mut cutter), [whole("next")]);
    }

    #[test]
    fn chunks_are_what_came() {
        let mut cutter = Cutter::new(None);
        cutter.push(b"a\nb");
        assert_eq!(cuts(&mut cutter), [Cut::Piece(Bytes::from_static(b"a\nb"), false)]);
        assert_eq!(cutter.rest(), None);
    }
}
