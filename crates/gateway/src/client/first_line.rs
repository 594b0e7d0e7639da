//! Whether a client speaks HTTP, by the first line that it sends.
//!
//! A request of HTTP/1 names its version in its first line, and so does the preface of HTTP/2. A client
//! that names none gets no answer: HTTP/2 has none for an invalid preface but the end of the connection
//! (RFC 9113, section 3.4), and a client of HTTP/2 would take an answer of HTTP/1 for broken frames.

/// The beginning of the version of HTTP in a first line.
const VERSION: &[u8] = b"HTTP/";

/// The first line of a connection, as far as it was read.
#[derive(Debug)]
pub(crate) enum FirstLine {
    /// The line goes on, and its end is so many bytes of [`VERSION`].
    Open(usize),
    NamesHttp,
    NamesNone,
}

impl Default for FirstLine {
    fn default() -> FirstLine {
        FirstLine::Open(0)
    }
}

impl FirstLine {
    /// Reads on. True if the version of HTTP is among these bytes, which happens once.
    #[inline]
    pub(crate) fn read(&mut self, bytes: &[u8]) -> bool {
        matches!(self, FirstLine::Open(_)) && self.read_on(bytes)
    }

    #[cold]
    fn read_on(&mut self, bytes: &[u8]) -> bool {
        for &byte in bytes {
            let FirstLine::Open(matched) = *self else { break };
            *self = match byte {
                b'\n' => FirstLine::NamesNone,
                _ if byte == VERSION[matched] && matched + 1 == VERSION.len() => {
                    FirstLine::NamesHttp
                }
                _ if byte == VERSION[matched] => FirstLine::Open(matched + 1),
                _ => FirstLine::Open(usize::from(byte == VERSION[0])),
            };
        }
        matches!(self, FirstLine::NamesHttp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_found_in_the_first_line_however_it_comes() {
        for (line, names_http) in [
            (&b"GET / HTTP/1.1\r\nhost: a\r\n"[..], true),
            (b"GET /HTHTTP/1.0\r\n", true),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", true),
            (b"INVALID CONNECTION PREFACE\r\n\r\n", false),
            (b"GET /\r\nvia: HTTP/1.1\r\n", false),
            (b"HTTP", false),
        ] {
            for piece in 1..=line.len() {
                let mut first_line = FirstLine::default();
                let found = line.chunks(piece).filter(|bytes| first_line.read(bytes)).count();
                assert_eq!(found, usize::from(names_http), "{line:?} in pieces of {piece}");
            }
        }
    }
}
