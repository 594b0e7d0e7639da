//! The words of a peer, for people: what failed there, and why it has gone.
//!
//! They reach logs, terminals and the text of errors. A terminal would obey control characters, and a
//! line end would forge a line of a log, so both are replaced where the bytes come in.

use alloc::string::String;

/// Bytes of a peer as one line of text. Invalid UTF-8 becomes replacement characters, and each control
/// character a space, so that a message of several lines, as those of panics are, can still be read.
pub fn line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_replaced_and_all_else_stays() {
        for (bytes, shown) in [
            (&b""[..], ""),
            ("no ü \u{1F375}".as_bytes(), "no ü \u{1F375}"),
            (b"\x1b[2J\r\nno\tway\0", " [2J  no way "),
            ("\u{9B}\u{85}\u{7F}".as_bytes(), "   "),
            (b"a\xFFb", "a\u{FFFD}b"),
        ] {
            assert_eq!(line(bytes), shown);
        }
    }
}
