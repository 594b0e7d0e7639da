//! The HTTP heads that open a WebSocket connection (RFC 6455, section 4).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1_smol::Sha1;
use wigwag_wire::{Header, ProtocolNumber};

use super::error::WsError;
use super::frame::random;
use super::options::{Pages, WsDialOptions};

/// Bytes of a head: of a request or of an answer to one.
pub(super) const HEAD_BYTES_MAX: usize = 16 * 1024;

/// Header lines of a head.
const HEADERS_MAX: usize = 64;

/// Bytes of a refusal's text that are kept.
const TEXT_BYTES_MAX: usize = 256;

/// The suffix of the protocol's name in `Sec-WebSocket-Protocol`.
const SP_SUFFIX: &str = ".sp.nanomsg.org";

/// The name by which a dialer introduces itself.
const AGENT: &str = concat!("wigwag/", env!("CARGO_PKG_VERSION"));

/// From RFC 6455: proves that a server understood the request.
const ACCEPT_GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The subprotocol of a server whose protocol is `number`.
fn subprotocol(number: ProtocolNumber) -> Option<String> {
    Some(number.name()?.to_ascii_lowercase() + SP_SUFFIX)
}

/// The protocol of the server that a subprotocol names.
fn protocol(subprotocol: &str) -> Option<ProtocolNumber> {
    ProtocolNumber::from_name(subprotocol.strip_suffix(SP_SUFFIX)?)
}

/// A key of 16 random bytes in base64.
fn key() -> String {
    STANDARD.encode([random().to_ne_bytes(), random().to_ne_bytes()].as_flattened())
}

fn accept_of(key: &[u8]) -> String {
    let mut hash = Sha1::new();
    hash.update(key);
    hash.update(ACCEPT_GUID);
    STANDARD.encode(hash.digest().bytes())
}

/// The place of the empty line that ends a head, searched from `from` on, which a search of fewer
/// bytes has returned: a head that comes byte by byte takes linear time.
pub(super) fn end_of_head(bytes: &[u8], from: &mut usize) -> Option<usize> {
    let begin = from.saturating_sub(3);
    *from = bytes.len();
    let found = bytes[begin..].windows(4).position(|end| end == b"\r\n\r\n");
    found.map(|place| begin + place + 4)
}

/// True if `bytes` are the whole lines of a refusal that was sent without the end of its head.
pub(super) fn is_endless_refusal(bytes: &[u8]) -> bool {
    bytes.ends_with(b"\r\n") && bytes.starts_with(b"HTTP/1.1 4")
}

/// A header's values, in which names have no case.
struct Headers<'a>(&'a [httparse::Header<'a>]);

impl<'a> Headers<'a> {
    fn all(&self, name: &'static str) -> impl Iterator<Item = &'a [u8]> {
        let named = self.0.iter().filter(move |header| header.name.eq_ignore_ascii_case(name));
        named.map(|header| header.value)
    }

    /// The value of a header that must be there once.
    fn one(&self, name: &'static str) -> Option<&'a [u8]> {
        let mut values = self.all(name);
        values.next().filter(|_| values.next().is_none())
    }

    fn has(&self, name: &'static str) -> bool {
        self.all(name).next().is_some()
    }

    /// The words of a list, which may be spread over several headers.
    fn words(&self, name: &'static str) -> impl Iterator<Item = &'a str> {
        let texts = self.all(name).filter_map(|value| std::str::from_utf8(value).ok());
        texts.flat_map(|text| text.split(',')).map(str::trim)
    }

    fn names(&self, name: &'static str, word: &str) -> bool {
        self.words(name).any(|named| named.eq_ignore_ascii_case(word))
    }
}

/// The request of a dialer.
#[derive(Debug)]
pub(super) struct Asked {
    server: ProtocolNumber,
    subprotocol: String,
    key: String,
}

impl Asked {
    /// Appends the request of a dialer whose SP header is `header`. `None` if that names no known
    /// protocol.
    pub(super) fn write(
        header: [u8; 8],
        (authority, target): (&str, &str),
        options: &WsDialOptions,
        out: &mut Vec<u8>,
    ) -> Option<Asked> {
        let server = Header::parse(header).ok()?.protocol.partner()?;
        let (subprotocol, key) = (subprotocol(server)?, key());
        let mut text = format!(
            "GET {target} HTTP/1.1\r\nHost: {authority}\r\nUpgrade: websocket\r\n\
             Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Protocol: {subprotocol}\r\nUser-Agent: {AGENT}\r\n"
        );
        for (name, value) in options.lines() {
            text.extend([name, ": ", value, "\r\n"]);
        }
        out.extend_from_slice(text.as_bytes());
        out.extend_from_slice(b"\r\n");
        Some(Asked { server, subprotocol, key })
    }

    /// Reads the answer's head; `behind` is what has come with it. Returns the server's protocol,
    /// and whether the connection is open: a server of SP that refuses says what it speaks.
    pub(super) fn answer(&self, head: &[u8], behind: &[u8]) -> Result<(Header, bool), WsError> {
        let invalid = |rule| WsError::BadAnswer { rule };
        let mut lines = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut answer = httparse::Response::new(&mut lines);
        // nanomsg does not end the head of a refusal, so that one is parsed as far as it goes.
        let parsed = answer.parse(head);
        let is_refusal = parsed.is_ok() && answer.code.is_some_and(|code| code != 101);
        if !is_refusal && !parsed.is_ok_and(|parsed| parsed.is_complete()) {
            return Err(invalid("it is no HTTP head of at most 64 lines"));
        }
        let status = answer.code.unwrap_or_default();
        let headers = Headers(answer.headers);
        let named =
            headers.one("Sec-WebSocket-Protocol").and_then(|of| std::str::from_utf8(of).ok());
        if status != 101 {
            let other = named.and_then(protocol).filter(|named| *named != self.server);
            let body = String::from_utf8_lossy(&behind[..behind.len().min(TEXT_BYTES_MAX)]);
            let text = format!("{} {body}", answer.reason.unwrap_or_default());
            let text = text.trim().replace(|letter: char| letter.is_control(), " ");
            let refused = WsError::Refused { status, text };
            return other.map(|protocol| (Header { protocol }, false)).ok_or(refused);
        }
        if !headers.names("Upgrade", "websocket") || !headers.names("Connection", "Upgrade") {
            return Err(invalid("it does not upgrade to WebSocket"));
        }
        let accept = headers.one("Sec-WebSocket-Accept").map(<[u8]>::trim_ascii);
        if accept != Some(accept_of(self.key.as_bytes()).as_bytes()) {
            return Err(invalid("its Sec-WebSocket-Accept does not fit the key"));
        }
        if headers.has("Sec-WebSocket-Extensions") {
            return Err(invalid("it has an extension that was not asked for"));
        }
        if named != Some(&self.subprotocol) {
            return Err(invalid("its Sec-WebSocket-Protocol is not the one that was asked for"));
        }
        Ok((Header { protocol: self.server }, true))
    }
}

/// A valid request for an upgrade.
#[derive(Debug)]
pub(super) struct Request {
    accept: String,
    /// The protocols that the client would talk to.
    wanted: Vec<ProtocolNumber>,
    /// The client says what it is, which nanomsg does not: its dialers never dial again after a close
    /// frame, and do so if the connection just ends.
    pub(super) is_named: bool,
}

/// A request that is refused: its status, further header lines, and what is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    lines: &'static str,
    pub(super) rule: &'static str,
}

impl Refusal {
    const fn new(status: u16, rule: &'static str) -> Refusal {
        Refusal { status, lines: "", rule }
    }

    pub(super) const HEAD_TOO_LONG: Refusal =
        Refusal::new(431, "the head of a request may have 16 KiB and 64 lines");
    pub(super) const TIMED_OUT: Refusal = Refusal::new(408, "the request did not come in time");
    pub(super) const NOT_HTTP: Refusal = Refusal::new(400, "this is no HTTP/1.1 request");
    pub(super) const EARLY: Refusal =
        Refusal::new(400, "a request may have no body, and frames must wait for the answer");

    /// Appends the answer.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        write_refusal(self.status, self.lines, self.rule, out);
    }
}

impl From<Refusal> for WsError {
    fn from(refusal: Refusal) -> WsError {
        WsError::BadRequest { status: refusal.status, rule: refusal.rule }
    }
}

fn write_refusal(status: u16, lines: &str, text: &str, out: &mut Vec<u8>) {
    let reason = match status {
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        426 => "Upgrade Required",
        _ => "Request Header Fields Too Large",
    };
    let answer = format!(
        "HTTP/1.1 {status} {reason}\r\n{lines}Content-Type: text/plain; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{text}\n",
        text.len() + 1
    );
    out.extend_from_slice(answer.as_bytes());
}

impl Request {
    /// Reads the head of a request to a listener at `path`.
    pub(super) fn parse(head: &[u8], path: &str, pages: &Pages) -> Result<Request, Refusal> {
        let mut lines = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut lines);
        match request.parse(head) {
            Ok(httparse::Status::Complete(_)) => {}
            Err(httparse::Error::TooManyHeaders) => return Err(Refusal::HEAD_TOO_LONG),
            _ => return Err(Refusal::NOT_HTTP),
        }
        let headers = Headers(request.headers);
        if request.version != Some(1) {
            return Err(Refusal::NOT_HTTP);
        }
        if request.method != Some("GET") {
            let rule = "only GET can be upgraded to WebSocket";
            return Err(Refusal { status: 405, lines: "Allow: GET\r\n", rule });
        }
        let Some(host) = headers.one("Host") else {
            return Err(Refusal::new(400, "the request needs one Host"));
        };
        if headers.has("Transfer-Encoding")
            || headers.all("Content-Length").any(|length| length.trim_ascii() != b"0")
        {
            return Err(Refusal::EARLY);
        }
        // The authority of an absolute target counts, and Host is ignored (RFC 9112, section 3.2.2).
        let (authority, target) = target(request.path.unwrap_or_default());
        let host = authority.map_or(host.trim_ascii(), str::as_bytes);
        let asked = target.split(['?', '#']).next().unwrap_or_default();
        if !bytes_of_path(asked).eq(bytes_of_path(path)) {
            return Err(Refusal::new(404, "nothing listens at this path: check the address"));
        }
        upgrade_of(&headers)?;
        let mut origin = headers.all("Origin").map(<[u8]>::trim_ascii);
        if !origin.all(|origin| pages.allow(origin, host)) {
            let rule = "the page's origin is not allowed: name it in the listener's options, or call a \
                        loopback address by number";
            return Err(Refusal::new(403, rule));
        }
        let Some(key) = headers.one("Sec-WebSocket-Key").map(<[u8]>::trim_ascii) else {
            return Err(Refusal::new(400, "the request needs one Sec-WebSocket-Key"));
        };
        if STANDARD.decode(key).map_or(0, |key| key.len()) != 16 {
            return Err(Refusal::new(400, "Sec-WebSocket-Key is not 16 bytes in base64"));
        }
        let wanted: Vec<_> = headers.words("Sec-WebSocket-Protocol").filter_map(protocol).collect();
        if wanted.is_empty() {
            let rule = "Sec-WebSocket-Protocol must name the protocol of this end, for example \
                        rep.sp.nanomsg.org";
            return Err(Refusal::new(400, rule));
        }
        let is_named = headers.has("User-Agent") || headers.has("Origin");
        Ok(Request { accept: accept_of(key), wanted, is_named })
    }

    /// The header of a client that wants this, for the protocol above. If `ours` is known and among
    /// what it wants, that counts, otherwise what it names first.
    pub(super) fn header(&self, ours: Option<ProtocolNumber>) -> Option<Header> {
        let server =
            ours.filter(|ours| self.wanted.contains(ours)).or(self.wanted.first().copied());
        Some(Header { protocol: server?.partner()? })
    }

    /// Appends the answer of a listener whose protocol is `ours`. False if it is a refusal.
    pub(super) fn answer(&self, ours: ProtocolNumber, out: &mut Vec<u8>) -> bool {
        let name = subprotocol(ours).unwrap_or_default();
        let is_wanted = self.wanted.contains(&ours);
        if is_wanted {
            let accept = &self.accept;
            let answer = format!(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                 Sec-WebSocket-Accept: {accept}\r\nSec-WebSocket-Protocol: {name}\r\n\r\n"
            );
            out.extend_from_slice(answer.as_bytes());
        } else {
            // A dialer of ours reads the name, and says which protocols do not fit.
            let lines = format!("Sec-WebSocket-Protocol: {name}\r\n");
            let text = format!("{name} listens here: ask for it, or use the partner of this end");
            write_refusal(400, &lines, &text, out);
        }
        is_wanted
    }
}

/// Splits the target of a request, which may be absolute, into its authority, if it has one, and the
/// path with its query.
fn target(text: &str) -> (Option<&str>, &str) {
    let absolute = text.split_once("://").filter(|(scheme, _)| {
        ["http", "https", "ws", "wss"].iter().any(|known| known.eq_ignore_ascii_case(scheme))
    });
    let Some((_, rest)) = absolute else { return (None, text) };
    let (authority, target) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    (Some(authority), if target.starts_with('/') { target } else { "/" })
}

/// The bytes of a path, each with whether `%` stands for it. Letters, digits and `-._~` are the same
/// with and without (RFC 3986, section 6.2.2).
fn bytes_of_path(path: &str) -> impl Iterator<Item = (u8, bool)> {
    let mut rest = path.as_bytes();
    std::iter::from_fn(move || {
        let digit = |byte: u8| char::from(byte).to_digit(16);
        if let [b'%', high, low, behind @ ..] = rest
            && let Some(byte) = digit(*high).zip(digit(*low)).map(|(high, low)| high << 4 | low)
        {
            rest = behind;
            let byte = u8::try_from(byte).ok()?;
            return Some((byte, !byte.is_ascii_alphanumeric() && !b"-._~".contains(&byte)));
        }
        let (byte, behind) = rest.split_first()?;
        rest = behind;
        Some((*byte, false))
    })
}

/// Checks that the request asks for WebSocket, version 13.
fn upgrade_of(headers: &Headers<'_>) -> Result<(), Refusal> {
    if !headers.names("Upgrade", "websocket") {
        let lines = "Upgrade: websocket\r\n";
        let rule = "this is a WebSocket endpoint: the request needs Upgrade: websocket";
        return Err(Refusal { status: 426, lines, rule });
    }
    if !headers.names("Connection", "Upgrade") {
        return Err(Refusal::new(400, "the request needs Connection: Upgrade"));
    }
    if headers.one("Sec-WebSocket-Version").map(<[u8]>::trim_ascii) != Some(b"13") {
        let lines = "Sec-WebSocket-Version: 13\r\nUpgrade: websocket\r\n";
        return Err(Refusal { status: 426, lines, rule: "Sec-WebSocket-Version must be 13" });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
