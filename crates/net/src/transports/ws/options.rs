//! Options of WebSocket connections.

use std::sync::Arc;

/// Header lines that a dialer may add.
const LINES_MAX: usize = 32;

/// Bytes of all of them: with the lines of the protocol, a head stays within the 4 KiB that nanomsg
/// accepts.
const LINE_BYTES_MAX: usize = 2048;

/// Options of a dialer at a `ws://` address.
///
/// ```
/// use wigwag_net::{DialOptions, WsDialOptions};
///
/// let ws = WsDialOptions::default().origin("https://example.org")?.header("X-Token", "secret")?;
/// let options = DialOptions::default().ws(ws);
/// # let _ = options;
/// # Ok::<(), wigwag_net::ws::BadHeader>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WsDialOptions {
    lines: Option<Arc<Vec<(String, String)>>>,
}

/// Why a header line cannot be added to a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the header {name:?} cannot be sent: {rule}")]
pub struct BadHeader {
    /// The header's name.
    pub name: String,
    /// The rule that it breaks.
    pub rule: &'static str,
}

impl WsDialOptions {
    /// Sends `Origin`, which a browser sends for its page; by default there is none.
    ///
    /// # Errors
    /// As [`header`](Self::header).
    pub fn origin(self, origin: &str) -> Result<WsDialOptions, BadHeader> {
        self.header("Origin", origin)
    }

    /// Adds a line to the request, for example a token that a proxy asks for.
    ///
    /// # Errors
    /// If the name or value cannot be part of a head, if the line belongs to the protocol, or if the
    /// head would become too long.
    pub fn header(mut self, name: &str, value: &str) -> Result<WsDialOptions, BadHeader> {
        let bad = |rule| Err(BadHeader { name: name.to_owned(), rule });
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_token) {
            return bad("a name is letters, digits and a few signs");
        }
        if !value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
            return bad("a value is printable ASCII");
        }
        let lower = name.to_ascii_lowercase();
        let own = ["host", "upgrade", "connection", "content-length", "transfer-encoding"];
        if own.contains(&&*lower) || lower.starts_with("sec-websocket-") {
            return bad("the protocol sets it");
        }
        let lines = Arc::make_mut(self.lines.get_or_insert_default());
        let bytes: usize = lines.iter().map(|(name, value)| name.len() + value.len()).sum();
        if lines.len() >= LINES_MAX || bytes + name.len() + value.len() > LINE_BYTES_MAX {
            return bad("a request may have 32 such lines and 2 KiB");
        }
        lines.push((name.to_owned(), value.to_owned()));
        Ok(self)
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = (&str, &str)> {
        let lines = self.lines.iter().flat_map(|lines| lines.iter());
        lines.map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// Options of a listener at a `ws://` address.
///
/// ```
/// use wigwag_net::{ListenOptions, WsListenOptions};
///
/// let ws = WsListenOptions::default().allow_origin("https://example.org");
/// let options = ListenOptions::default().ws(ws);
/// # let _ = options;
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WsListenOptions {
    pub(super) origins: Origins,
}

/// The origins of pages that may call a server. Pages from the host and port that they call always may.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    any: bool,
    allowed: Arc<Vec<String>>,
}

impl WsListenOptions {
    /// Lets pages of `origin` connect, for example `https://example.org`; may be called several
    /// times. Pages from the host and port that they connect to may always do so, and so may
    /// programs, which send no origin.
    #[must_use]
    pub fn allow_origin(mut self, origin: &str) -> WsListenOptions {
        self.origins.add(origin);
        self
    }

    /// Lets pages of every origin connect: any page that a user of the browser opens can then talk
    /// to this listener, with the access that the user's machine has.
    #[must_use]
    pub fn allow_any_origin(mut self) -> WsListenOptions {
        self.origins.add_all();
        self
    }
}

impl Origins {
    /// Allows pages of `origin`, for example `https://example.org`.
    pub fn add(&mut self, origin: &str) {
        Arc::make_mut(&mut self.allowed).push(origin.to_owned());
    }

    /// Allows pages of every origin.
    pub fn add_all(&mut self) {
        self.any = true;
    }

    /// True if no origin was added.
    pub fn is_empty(&self) -> bool {
        !self.any && self.allowed.is_empty()
    }

    /// True if a page of `origin` may call `host`.
    pub fn allow(&self, origin: &[u8], host: &[u8]) -> bool {
        let is_same_host = || {
            let authority = origin.strip_prefix(b"http://").or(origin.strip_prefix(b"https://"));
            authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
        };
        let is_named =
            || self.allowed.iter().any(|allowed| allowed.as_bytes().eq_ignore_ascii_case(origin));
        self.any || is_same_host() || is_named()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_would_break_the_request_is_refused() {
        let refused = |name, value| WsDialOptions::default().header(name, value).unwrap_err().rule;
        for (name, value) in
            [("", "x"), ("a b", "x"), ("a:", "x"), ("a", "x\r\ny: z"), ("a", "\u{e4}")]
        {
            assert!(refused(name, value).contains("is "), "{name} {value}");
        }
        for name in ["Host", "UPGRADE", "Sec-WebSocket-Key", "connection", "Content-Length"] {
            assert_eq!(refused(name, "x"), "the protocol sets it", "{name}");
        }
        assert!(refused("a", &"x".repeat(LINE_BYTES_MAX)).contains("2 KiB"));
        let mut many = WsDialOptions::default();
        for _ in 0..LINES_MAX {
            many = many.header("a", "").unwrap();
        }
        assert!(many.clone().header("a", "").is_err());
        assert_eq!(many.lines().count(), LINES_MAX);
    }

    #[test]
    fn pages_of_the_same_host_and_named_ones_may_connect() {
        let origins = WsListenOptions::default().allow_origin("https://Page.example").origins;
        for (origin, host, allowed) in [
            ("http://h:1", "h:1", true),
            ("https://H", "h", true),
            ("http://h:2", "h:1", false),
            ("http://h", "h:1", false),
            ("null", "null", false),
            ("https://page.example", "h", true),
            ("https://page.example.evil", "h", false),
        ] {
            assert_eq!(origins.allow(origin.as_bytes(), host.as_bytes()), allowed, "{origin}");
        }
        assert!(WsListenOptions::default().allow_any_origin().origins.allow(b"null", b"h"));
    }
}
