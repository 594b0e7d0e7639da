//! Splits input into lines, or passes it on as it arrives.
//!
//! Bytes are pushed as they are read, and no more are read while a piece can be split off: so the
//! splitter holds at most one line of the greatest length and one read.

use bytes::Bytes;

/// Splits pushed bytes into pieces.
#[derive(Debug)]
pub(in crate::io) struct LineSplitter {
    /// The most bytes of a line; `None` makes each read a piece.
    line_bytes_max: Option<usize>,
    bytes: Vec<u8>,
    /// The start of the next piece.
    start: usize,
    /// There is no newline between `start` and here.
    scanned: usize,
    /// The rest of an overlong line is being skipped.
    is_skipping: bool,
}

/// An item that was split off.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::io) enum SplitItem {
    /// A piece, and whether it ended with its terminator.
    Piece(Bytes, bool),
    /// A line is longer than the limit.
    TooLong,
}

impl LineSplitter {
    pub(in crate::io) fn new(line_bytes_max: Option<usize>) -> LineSplitter {
        LineSplitter { line_bytes_max, bytes: Vec::new(), start: 0, scanned: 0, is_skipping: false }
    }

    pub(in crate::io) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next complete piece.
    pub(in crate::io) fn next(&mut self) -> Option<SplitItem> {
        let Some(line_max) = self.line_bytes_max else { return self.rest() };
        loop {
            let fresh = self.bytes.get(self.scanned..).unwrap_or_default();
            let Some(at) = fresh.iter().position(|&byte| byte == b'\n') else {
                return self.keep_begun_line(line_max);
            };
            let (start, end) = (self.start, self.scanned + at);
            (self.start, self.scanned) = (end + 1, end + 1);
            if std::mem::take(&mut self.is_skipping) {
                continue;
            }
            let line = self.bytes.get(start..end).unwrap_or_default();
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            return Some(match line.len() > line_max {
                true => SplitItem::TooLong,
                false => SplitItem::Piece(Bytes::copy_from_slice(line), true),
            });
        }
    }

    /// Keeps an unfinished line, unless it is too long already.
    fn keep_begun_line(&mut self, line_max: usize) -> Option<SplitItem> {
        self.bytes.drain(..self.start);
        self.start = 0;
        // One byte more: it may be the `\r` of the terminator.
        let too_long = self.bytes.len() > line_max + 1;
        if too_long || self.is_skipping {
            self.bytes.clear();
        }
        self.scanned = self.bytes.len();
        (too_long && !std::mem::replace(&mut self.is_skipping, true)).then_some(SplitItem::TooLong)
    }

    /// The unfinished rest at the end of the input or file; a new line may begin afterwards.
    pub(in crate::io) fn rest(&mut self) -> Option<SplitItem> {
        let rest = self.bytes.get(self.start..).unwrap_or_default();
        let is_skipping = std::mem::take(&mut self.is_skipping);
        let too_long = self.line_bytes_max.is_some_and(|line_max| rest.len() > line_max);
        let item = match () {
            () if rest.is_empty() || is_skipping => None,
            () if too_long => Some(SplitItem::TooLong),
            () => Some(SplitItem::Piece(Bytes::copy_from_slice(rest), false)),
        };
        self.bytes.clear();
        (self.start, self.scanned) = (0, 0);
        item
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(splitter: &mut LineSplitter) -> Vec<SplitItem> {
        std::iter::from_fn(|| splitter.next()).collect()
    }

    fn whole(text: &'static str) -> SplitItem {
        SplitItem::Piece(Bytes::from_static(text.as_bytes()), true)
    }

    /// Bytes torn at any position give the same lines.
    #[test]
    fn lines_survive_being_torn() {
        let text = b"one\r\n\nthree\r\n123456789\n12345678\r\n1234567890123\r\nend";
        for cut in 0..=text.len() {
            let mut splitter = LineSplitter::new(Some(8));
            let (first, second) = text.split_at(cut);
            splitter.push(first);
            let mut all = items(&mut splitter);
            splitter.push(second);
            all.extend(items(&mut splitter));
            let lines = [
                whole("one"),
                whole(""),
                whole("three"),
                SplitItem::TooLong,
                whole("12345678"),
                SplitItem::TooLong,
            ];
            assert_eq!(all, lines, "torn at {cut}");
            assert_eq!(splitter.rest(), Some(SplitItem::Piece(Bytes::from_static(b"end"), false)));
            assert_eq!(splitter.rest(), None);
        }
    }

    #[test]
    fn an_overlong_line_is_reported_once_and_never_kept() {
        let mut splitter = LineSplitter::new(Some(8));
        let mut told = 0;
        for _ in 0..1000 {
            splitter.push(&[b'x'; 7]);
            told += items(&mut splitter).len();
            assert!(splitter.bytes.len() <= 9);
        }
        assert_eq!(told, 1);
        assert_eq!(splitter.rest(), None);
        splitter.push(b"next\n");
        assert_eq!(items(&mut splitter), [whole("next")]);
    }

    #[test]
    fn chunks_are_what_came() {
        let mut splitter = LineSplitter::new(None);
        splitter.push(b"a\nb");
        assert_eq!(items(&mut splitter), [SplitItem::Piece(Bytes::from_static(b"a\nb"), false)]);
        assert_eq!(splitter.rest(), None);
    }
}
