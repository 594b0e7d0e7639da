//! An answer, read as RFC 9112 has it: nothing is taken from where it stands, only from what it is
//! called.
//!
//! No allocation while the answer is right. Waiting for more bytes is `None`.

use super::faults::{Violation, shown};

/// Bytes that a head may have: what common clients grant.
pub(super) const HEAD_BYTES_MAX: usize = 8 * 1024;
/// Bytes that a body may have: a page of errors fits.
pub(super) const BODY_BYTES_MAX: usize = 64 * 1024;

/// The way in which the end of a body is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// The connection stays, so a length must be given.
    Kept,
    /// HTTP/1.0: without a length the body ends with the connection.
    Closed {
        /// It has ended.
        already: bool,
    },
}

/// An answer that is whole.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Response<'a> {
    /// The x of HTTP/1.x.
    pub(super) minor: u8,
    pub(super) status: u16,
    /// Status and reason as they came.
    pub(super) said: &'a [u8],
    pub(super) content_type: Option<&'a [u8]>,
    pub(super) token: Option<&'a [u8]>,
    pub(super) date: Option<&'a [u8]>,
    length: Option<usize>,
    /// Whether the answer closes the connection.
    pub(super) closes: bool,
    pub(super) body: &'a [u8],
    /// Bytes that it has in all.
    pub(super) bytes: usize,
}

/// The answer at the front of `bytes`; `None` when it is not whole.
pub(super) fn read(bytes: &[u8], framing: Framing) -> Result<Option<Response<'_>>, Violation> {
    let Some(end) = end_of_head(bytes) else {
        // Bytes that cannot begin an answer are refused at once: nothing better will come.
        let begins = bytes.len().min(7);
        if bytes[..begins] != b"HTTP/1."[..begins] {
            return Err(Violation::new("no status line of HTTP/1.x", shown(bytes)));
        }
        if bytes.len() > HEAD_BYTES_MAX {
            return Err(Violation::new("a head without an end", format!("{} bytes", bytes.len())));
        }
        return Ok(None);
    };
    let mut answer = head(&bytes[..end])?;
    let begins = end + 4;
    let length = match (answer.length, framing) {
        (Some(length), _) => length,
        (None, Framing::Closed { already: true }) => bytes.len() - begins,
        (None, Framing::Closed { already: false }) => return Ok(None),
        (None, Framing::Kept) => {
            return Err(Violation::new("no Content-Length", shown(answer.said)));
        }
    };
    if length > BODY_BYTES_MAX {
        return Err(Violation::new("a body too long to be true", format!("{length} bytes")));
    }
    let Some(body) = bytes.get(begins..begins + length) else {
        return Ok(None);
    };
    answer.body = body;
    answer.bytes = begins + length;
    Ok(Some(answer))
}

fn end_of_head(bytes: &[u8]) -> Option<usize> {
    let most = bytes.len().min(HEAD_BYTES_MAX);
    bytes[..most].windows(4).position(|four| four == b"\r\n\r\n")
}

fn head(head: &[u8]) -> Result<Response<'_>, Violation> {
    let mut lines = head.split(|byte| *byte == b'\n');
    let line = |line: &'_ [u8]| line.len() - usize::from(line.ends_with(b"\r"));
    let first = lines.next().unwrap_or_default();
    let mut answer = status_line(&first[..line(first)])?;
    for field in lines {
        let field = &field[..line(field)];
        let Some(colon) = field.iter().position(|byte| *byte == b':') else {
            return Err(Violation::new("a header line without a colon", shown(field)));
        };
        let (name, value) = (&field[..colon], field[colon + 1..].trim_ascii());
        // SPEC RFC 9112 5.1: there is no white space between a name and its colon.
        if name.is_empty() || name.iter().any(u8::is_ascii_whitespace) {
            return Err(Violation::new("a header line with a bad name", shown(field)));
        }
        take_field(&mut answer, name, value)?;
    }
    Ok(answer)
}

fn take_field<'a>(
    answer: &mut Response<'a>,
    name: &[u8],
    value: &'a [u8],
) -> Result<(), Violation> {
    let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
    if is("content-length") {
        let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
        let length = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
        let Some(length) = length.filter(|_| digits) else {
            return Err(Violation::new("a Content-Length that is no number", shown(value)));
        };
        if answer.length.is_some_and(|other| other != length) {
            return Err(Violation::new("two Content-Lengths that differ", shown(value)));
        }
        answer.length = Some(length);
    } else if is("transfer-encoding") {
        return Err(Violation::new("a Transfer-Encoding where a length is due", shown(value)));
    } else if is("content-type") {
        answer.content_type = Some(value);
    } else if is("token") {
        answer.token = Some(value);
    } else if is("date") {
        answer.date = Some(value);
    } else if is("connection") {
        let mut options = value.split(|byte| *byte == b',');
        answer.closes |= options.any(|it| it.trim_ascii().eq_ignore_ascii_case(b"close"));
    }
    Ok(())
}

fn status_line(line: &[u8]) -> Result<Response<'_>, Violation> {
    let bad = || Violation::new("no status line of HTTP/1.x", shown(line));
    let rest = line.strip_prefix(b"HTTP/1.").ok_or_else(bad)?;
    let [minor @ (b'0' | b'1'), b' ', said @ ..] = rest else {
        return Err(bad());
    };
    let (status, reason) = said.split_at_checked(3).ok_or_else(bad)?;
    if !status.iter().all(u8::is_ascii_digit) || !(reason.is_empty() || reason[0] == b' ') {
        return Err(bad());
    }
    let status = status.iter().fold(0, |status, digit| status * 10 + u16::from(digit - b'0'));
    Ok(Response { minor: minor - b'0', status, said, ..Response::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-TYPE:application/json\r\nToken: \t12 \r\n\
                          Content-Length: 9\r\n\r\n{\"id\": 1}";

    #[test]
    fn an_answer_is_read_by_its_names() {
        let with_more = [GOOD, b"HTTP"].concat();
        let answer = read(&with_more, Framing::Kept).unwrap().unwrap();
        assert_eq!((answer.minor, answer.status, answer.said), (1, 200, &b"200 OK"[..]));
        assert_eq!(answer.content_type, Some(&b"application/json"[..]));
        assert_eq!((answer.token, answer.date), (Some(&b"12"[..]), None));
        assert_eq!((answer.body, answer.bytes), (&b"{\"id\": 1}"[..], GOOD.len()));
        assert!(!answer.closes);
    }

    /// Torn at every possible byte it is never taken for whole, and never for wrong.
    #[test]
    fn an_answer_that_is_not_whole_is_waited_for() {
        for cut in 0..GOOD.len() {
            assert_eq!(read(&GOOD[..cut], Framing::Kept).unwrap(), None, "{cut}");
        }
    }

    #[test]
    fn without_a_length_only_the_end_of_the_connection_ends_a_body() {
        let bytes = b"HTTP/1.0 200 OK\r\nConnection: x, Close\r\n\r\nabc";
        assert_eq!(read(bytes, Framing::Kept).unwrap_err().what, "no Content-Length");
        assert_eq!(read(bytes, Framing::Closed { already: false }).unwrap(), None);
        let answer = read(bytes, Framing::Closed { already: true }).unwrap().unwrap();
        assert_eq!((answer.minor, answer.closes, answer.body), (0, true, &b"abc"[..]));
    }

    #[test]
    fn input_that_is_not_http_is_reported() {
        for (bytes, what) in [
            ("hello", "no status line of HTTP/1.x"),
            ("HTTP/2.0 200 OK\r\n\r\n", "no status line of HTTP/1.x"),
            ("HTTP/1.1 2000\r\n\r\n", "no status line of HTTP/1.x"),
            ("HTTP/1.1 200 OK\r\nDate\r\n\r\n", "a header line without a colon"),
            ("HTTP/1.1 200 OK\r\nDate : x\r\n\r\n", "a header line with a bad name"),
            ("HTTP/1.1 200 OK\r\nContent-Length: +9\r\n\r\n", "a Content-Length that is no number"),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 9\r\ncontent-length: 8\r\n\r\n",
                "two Content-Lengths that differ",
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                "a Transfer-Encoding where a length is due",
            ),
            ("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", "a body too long to be true"),
        ] {
            assert_eq!(read(bytes.as_bytes(), Framing::Kept).unwrap_err().what, what, "{bytes:?}");
        }
        let endless = [b"HTTP/1.1 200 OK\r\n".as_slice(), &[b'a'; HEAD_BYTES_MAX]].concat();
        assert_eq!(read(&endless, Framing::Kept).unwrap_err().what, "a head without an end");
    }
}
