//! A request, read as RFC 9112 has it.

/// Bytes that a head may have.
const HEAD_BYTES_MAX: usize = 8 * 1024;
/// Bytes that a body may have; none is used.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// A request that is whole.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Request<'a> {
    pub(super) method: &'a [u8],
    /// Without what follows a question mark.
    pub(super) path: &'a [u8],
    pub(super) token: Option<&'a [u8]>,
    /// The connection stays open behind the answer.
    pub(super) stays: bool,
    /// Bytes that it has in all.
    pub(super) bytes: usize,
}

/// The reason why a request is malformed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestError {
    Malformed,
    HeadTooLong,
    BodyTooLong,
    NoSuchVersion,
    NoSuchCoding,
}

impl RequestError {
    pub(super) fn status(&self) -> &'static str {
        match self {
            RequestError::Malformed => "400 Bad Request",
            RequestError::HeadTooLong => "431 Request Header Fields Too Large",
            RequestError::BodyTooLong => "413 Content Too Large",
            RequestError::NoSuchVersion => "505 HTTP Version Not Supported",
            RequestError::NoSuchCoding => "501 Not Implemented",
        }
    }
}

/// The request at the front of `bytes`; `None` when it is not whole.
pub(super) fn read(bytes: &[u8]) -> Result<Option<Request<'_>>, RequestError> {
    let most = bytes.len().min(HEAD_BYTES_MAX);
    let Some(end) = bytes[..most].windows(4).position(|four| four == b"\r\n\r\n") else {
        return if bytes.len() > HEAD_BYTES_MAX {
            Err(RequestError::HeadTooLong)
        } else {
            Ok(None)
        };
    };
    let mut lines = bytes[..end].split(|byte| *byte == b'\n');
    let trimmed = |line: &'_ [u8]| line.len() - usize::from(line.ends_with(b"\r"));
    let first = lines.next().unwrap_or_default();
    let (mut request, minor) = request_line(&first[..trimmed(first)])?;
    let (mut length, mut hosts, mut closes, mut keeps) = (0, 0, false, false);
    for line in lines {
        let line = &line[..trimmed(line)];
        let colon = line.iter().position(|byte| *byte == b':').ok_or(RequestError::Malformed)?;
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.is_empty() || name.iter().any(u8::is_ascii_whitespace) {
            return Err(RequestError::Malformed);
        }
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        let has = |option: &[u8]| {
            value.split(|byte| *byte == b',').any(|it| it.trim_ascii().eq_ignore_ascii_case(option))
        };
        if is("token") {
            request.token = Some(value);
        } else if is("host") {
            hosts += 1;
        } else if is("connection") {
            closes |= has(b"close");
            keeps |= has(b"keep-alive");
        } else if is("content-length") {
            let text = std::str::from_utf8(value).map_err(|_| RequestError::Malformed)?;
            length = text.parse::<usize>().map_err(|_| RequestError::Malformed)?;
        } else if is("transfer-encoding") {
            return Err(RequestError::NoSuchCoding);
        }
    }
    // SPEC RFC 9112 3.2: HTTP/1.1 without just one Host is refused.
    if minor == 1 && hosts != 1 {
        return Err(RequestError::Malformed);
    }
    if length > BODY_BYTES_MAX {
        return Err(RequestError::BodyTooLong);
    }
    request.stays = !closes && (minor == 1 || keeps);
    request.bytes = end + 4 + length;
    Ok((request.bytes <= bytes.len()).then_some(request))
}

/// Method and path, and the x of HTTP/1.x.
fn request_line(line: &[u8]) -> Result<(Request<'_>, u8), RequestError> {
    let mut words = line.split(|byte| *byte == b' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(RequestError::Malformed);
    };
    if method.is_empty() || target.first() != Some(&b'/') {
        return Err(RequestError::Malformed);
    }
    let minor = match version {
        b"HTTP/1.1" => 1,
        b"HTTP/1.0" => 0,
        _ if version.starts_with(b"HTTP/") => return Err(RequestError::NoSuchVersion),
        _ => return Err(RequestError::Malformed),
    };
    let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
    Ok((Request { method, path, ..Request::default() }, minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &[u8] = b"GET /a?b HTTP/1.1\r\nhost:x\r\ntoKEN:  12\t\r\n\r\n";

    #[test]
    fn a_request_is_read_by_its_names() {
        let request = read(GOOD).unwrap().unwrap();
        assert_eq!((request.method, request.path), (&b"GET"[..], &b"/a"[..]));
        assert_eq!((request.token, request.stays), (Some(&b"12"[..]), true));
        for cut in 0..GOOD.len() {
            assert_eq!(read(&GOOD[..cut]).unwrap(), None, "{cut}");
        }
    }

    #[test]
    fn a_connection_stays_as_its_version_says() {
        for (text, stays) in [
            ("GET / HTTP/1.0\r\n\r\n", false),
            ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true),
            ("GET / HTTP/1.1\r\nHost: x\r\nConnection: x, close\r\n\r\n", false),
        ] {
            assert_eq!(read(text.as_bytes()).unwrap().unwrap().stays, stays, "{text}");
        }
    }

    #[test]
    fn a_body_belongs_to_its_request() {
        let text = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nab";
        assert_eq!(read(text).unwrap(), None);
        let whole = [text.as_slice(), b"cGET"].concat();
        assert_eq!(read(&whole).unwrap().unwrap().bytes, whole.len() - 3);
    }

    #[test]
    fn bytes_that_are_no_request_are_refused() {
        for (text, refused) in [
            ("GET /\r\n\r\n", RequestError::Malformed),
            ("GET x HTTP/1.1\r\nHost: x\r\n\r\n", RequestError::Malformed),
            ("GET / HTTP/1.1\r\n\r\n", RequestError::Malformed),
            ("GET / HTTP/1.1\r\nHost : x\r\n\r\n", RequestError::Malformed),
            ("GET / HTTP/2\r\nHost: x\r\n\r\n", RequestError::NoSuchVersion),
            ("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", RequestError::NoSuchCoding),
            ("GET / HTTP/1.0\r\nContent-Length: 99999\r\n\r\n", RequestError::BodyTooLong),
        ] {
            assert_eq!(read(text.as_bytes()).unwrap_err(), refused, "{text}");
        }
        assert_eq!(read(&[b'a'; HEAD_BYTES_MAX + 1]).unwrap_err(), RequestError::HeadTooLong);
    }
}
