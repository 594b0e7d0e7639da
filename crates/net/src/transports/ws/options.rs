//! Options of WebSocket connections.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

/// Header lines that a dialer may add.
const LINES_MAX: usize = 32;

/// Bytes of all of them: with the lines of the protocol, a head stays within the 4 KiB that nanomsg
/// accepts.
const LINE_BYTES_MAX: usize = 2048;

/// Options of a dialer at a `ws://` address. `{:?}` shows the names of the header lines only, as a value
/// may be a token.
///
/// ```
/// use wigwag_net::{DialOptions, WsDialOptions};
///
/// let ws = WsDialOptions::default().origin("https://example.org")?.header("X-Token", "secret")?;
/// let options = DialOptions::default().ws(ws);
/// # let _ = options;
/// # Ok::<(), wigwag_net::ws::BadHeader>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
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

impl fmt::Debug for WsDialOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.lines().map(|(name, _)| name).collect();
        f.debug_struct("WsDialOptions").field("headers", &names).finish_non_exhaustive()
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

/// The origins of pages that may call a server. Pages from the host and port that they call may do so
/// anyway.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    any: bool,
    allowed: Arc<Vec<String>>,
}

impl WsListenOptions {
    /// Lets pages of `origin` connect, for example `https://example.org`; may be called several
    /// times. Pages from the host and port that they connect to may do so anyway, and so may programs,
    /// which send no origin. A listener of `ws://` at a loopback address takes its own pages only by
    /// address or as `localhost`: another name may lead to this machine since a moment ago, by the
    /// doing of the page (DNS rebinding), so name the origins of pages with other names.
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
            let is_host = |authority: &[u8]| authority.eq_ignore_ascii_case(host);
            !host.is_empty() && authority.is_some_and(is_host)
        };
        let is_named =
            || self.allowed.iter().any(|allowed| allowed.as_bytes().eq_ignore_ascii_case(origin));
        self.any || is_same_host() || is_named()
    }
}

/// The pages that may connect to a listener.
#[derive(Clone, Debug, Default)]
pub(super) struct Pages {
    pub(super) origins: Origins,
    /// The listener is at a loopback address, and no certificate proves its name. Its own pages count
    /// only if their host cannot be made to lead to this machine by anybody else (DNS rebinding).
    pub(super) is_loopback: bool,
}

impl Pages {
    /// True if a page of `origin` may connect to `host`.
    pub(super) fn allow(&self, origin: &[u8], host: &[u8]) -> bool {
        let own = if self.is_loopback && !leads_here(host) { b"" } else { host };
        self.origins.allow(origin, own)
    }
}

/// True if `host`, with or without a port, is an address or `localhost`.
fn leads_here(host: &[u8]) -> bool {
    let Ok(host) = std::str::from_utf8(host) else { return false };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or("", |(address, _)| address),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
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
    fn the_value_of_a_header_is_not_shown() {
        let ws = WsDialOptions::default().header("Authorization", "Bearer 6f1c0f9b2d").unwrap();
        let shown = format!("{ws:?}");
        assert!(shown.contains("Authorization") && !shown.contains("6f1c"), "{shown}");
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

    #[test]
    fn a_name_that_may_be_made_to_lead_here_has_no_pages_at_a_loopback_address() {
        let origins = WsListenOptions::default().allow_origin("http://app.example:7").origins;
        for (host, at_loopback) in [
            ("localhost:7", true),
            ("LOCALHOST", true),
            ("127.0.0.1:7", true),
            ("[::1]:7", true),
            ("[::1]", true),
            ("app.example:7", true),
            ("app.example", false),
            ("evil.example:7", false),
            ("localhost.evil.example:7", false),
            ("[evil.example]:7", false),
        ] {
            let origin = format!("http://{host}");
            for (is_loopback, allowed) in [(true, at_loopback), (false, true)] {
                let pages = Pages { origins: origins.clone(), is_loopback };
                let answer = pages.allow(origin.as_bytes(), host.as_bytes());
                assert_eq!(answer, allowed, "{host}, at loopback: {is_loopback}");
            }
        }
        let pages = Pages { origins: Origins::default(), is_loopback: true };
        for origin in ["http://", "https://", "", "null"] {
            assert!(!pages.allow(origin.as_bytes(), b"evil.example"), "{origin:?}");
        }
        let every = WsListenOptions::default().allow_any_origin().origins;
        let pages = Pages { origins: every, is_loopback: true };
        assert!(pages.allow(b"http://evil.example", b"evil.example"));
    }
}
