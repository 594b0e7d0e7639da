//! The options of a gateway.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::HeaderName;
use wigwag::access::Principal;
use wigwag::transport::TlsServerConfig;
use wigwag_net::ws::Origins;

use crate::limits::{
    ASK_TIME, ASK_TIME_MAX, BODY_BYTES, BODY_TIME, HEAD_TIME, TOKEN_BYTES_MAX, WRITE_STALL_MAX,
};

/// The options of a [`Gateway`](crate::Gateway).
///
/// ```
/// use std::time::Duration;
///
/// use wigwag_gateway::GatewayOptions;
///
/// let options = GatewayOptions::default()
///     .token("6f1c0f9b2d", "reporting")
///     .allow_origin("https://shop.example")
///     .ask_time(Duration::from_secs(5));
/// # let _ = options;
/// ```
#[derive(Clone, Default)]
pub struct GatewayOptions {
    pub(crate) tls: Option<TlsServerConfig>,
    tokens: Arc<Vec<Token>>,
    pub(crate) allows_anonymous: bool,
    pub(crate) is_insecure: bool,
    pub(crate) has_no_sessions: bool,
    pub(crate) has_live_page: bool,
    pub(crate) origins: Origins,
    pub(crate) repeated: Arc<Vec<HeaderName>>,
    hosts: Arc<Vec<String>>,
    ask_time: Option<Duration>,
    body_bytes: Option<usize>,
    head_time: Option<Duration>,
    body_time: Option<Duration>,
    stall_time: Option<Duration>,
    pub(crate) router: Option<axum::Router>,
    pub(crate) title: Option<Arc<str>>,
}

#[derive(Clone)]
struct Token {
    /// The token itself is not kept.
    digest: [u8; 32],
    principal: Principal,
}

impl GatewayOptions {
    /// The certificate for `https://` addresses; with an authority for clients, each client needs a
    /// certificate, and is identified by it. HTTP/2 needs the
    /// [application protocols](wigwag::transport::TlsServerBuilder::application_protocols) `h2` and
    /// `http/1.1` there.
    #[must_use]
    pub fn tls(mut self, config: TlsServerConfig) -> GatewayOptions {
        self.tls = Some(config);
        self
    }

    /// Accepts requests with the header `Authorization: Bearer token` as those of
    /// [`Principal::key`]`(name)`, the identity of a peer that proves the shared key of that name. With any
    /// token, a request without one is refused, unless TLS or a Unix socket identifies its client, or
    /// [anonymous](Self::allow_anonymous) ones are allowed. A token is a secret: send it over TLS only,
    /// or within one machine. An empty one, as of a variable that is not set, and one longer than 1,024
    /// bytes are never accepted.
    #[must_use]
    pub fn token(mut self, token: &str, name: &str) -> GatewayOptions {
        let principal = Principal::key(name);
        let digest = hmac_sha256::Hash::hash(token.as_bytes());
        Arc::make_mut(&mut self.tokens).push(Token { digest, principal });
        self
    }

    /// Serves clients that say nothing of who they are, as [`Principal::Anonymous`], although there are
    /// tokens.
    #[must_use]
    pub fn allow_anonymous(mut self, on: bool) -> GatewayOptions {
        self.allows_anonymous = on;
        self
    }

    /// Listens beyond this machine although nothing identifies the clients.
    #[must_use]
    pub fn insecure(mut self, on: bool) -> GatewayOptions {
        self.is_insecure = on;
        self
    }

    /// Lets pages of `origin` call, for example `https://shop.example` (CORS); may be called several
    /// times. Pages from the host and port that they call may always do so.
    #[must_use]
    pub fn allow_origin(mut self, origin: &str) -> GatewayOptions {
        self.origins.add(origin);
        self
    }

    /// Lets pages of every origin call: any page that a user of a browser opens then has the access that
    /// the user's machine has.
    #[must_use]
    pub fn allow_any_origin(mut self) -> GatewayOptions {
        self.origins.add_all();
        self
    }

    /// Accepts requests whose header `Host` has this name; may be called several times. Without any, a
    /// gateway on a loopback address accepts `localhost` and addresses, so that a page cannot reach it
    /// by a name that leads there (DNS rebinding), and other gateways accept every name. Requests of
    /// HTTP/1.0 may have no such header.
    #[must_use]
    pub fn host(mut self, name: &str) -> GatewayOptions {
        Arc::make_mut(&mut self.hosts).push(name.to_ascii_lowercase());
        self
    }

    /// How long an ask waits for its reply, 30 s by default and 300 s at most, if the request does not
    /// say otherwise.
    #[must_use]
    pub fn ask_time(mut self, limit: Duration) -> GatewayOptions {
        self.ask_time = Some(limit.min(ASK_TIME_MAX));
        self
    }

    /// Bytes of the body of a request, 1 MiB by default.
    #[must_use]
    pub fn body_bytes_max(mut self, bytes: usize) -> GatewayOptions {
        self.body_bytes = Some(bytes);
        self
    }

    /// The time within which the head of a request must be complete, from when the client has read the
    /// last answer, so also that of an idle connection: 60 s by default. The first head of a connection has
    /// 5 s at most.
    #[must_use]
    pub fn head_time(mut self, limit: Duration) -> GatewayOptions {
        self.head_time = Some(limit);
        self
    }

    /// The time within which the body of a request must be complete, 30 s by default.
    #[must_use]
    pub fn body_time(mut self, limit: Duration) -> GatewayOptions {
        self.body_time = Some(limit);
        self
    }

    /// How long a client may read nothing of what is sent to it, 30 s by default. Then its connection is
    /// cut. Over HTTP/2, a stream whose window is shut is not cut while the client reads its connection.
    #[must_use]
    pub fn stall_time(mut self, limit: Duration) -> GatewayOptions {
        self.stall_time = Some(limit);
        self
    }

    /// Repeats this header of a request in its answer, as `x-request-id`, by which a client tells what
    /// belongs together. May be called several times. Pages of other origins that may call may send and
    /// read it.
    ///
    /// # Panics
    /// If `name` is no name of a header.
    #[must_use]
    pub fn repeat_header(mut self, name: &str) -> GatewayOptions {
        let name = name.parse().unwrap_or_else(|_| panic!("{name:?} is no name of a header"));
        Arc::make_mut(&mut self.repeated).push(name);
        self
    }

    /// Serves this router beside the actors: it is asked first, and the gateway answers what it does not
    /// know. Its own fallback is not used.
    #[must_use]
    pub fn router(mut self, router: axum::Router) -> GatewayOptions {
        self.router = Some(router);
        self
    }

    /// Sets whether the gateway carries sessions over WebSocket and over long poll, which it does by
    /// default.
    #[must_use]
    pub fn sessions(mut self, on: bool) -> GatewayOptions {
        self.has_no_sessions = !on;
        self
    }

    /// Sets whether the gateway serves the live page at `/ui/`, which it does not by default: what the
    /// node does, once a second, and a form for each method. The page itself is for everyone that
    /// reaches the gateway, and holds nothing of the node. Its figures are for clients that may call
    /// `snapshot` of `/metrics`, as for `wigwag top`, of a node that is
    /// [observable](wigwag::NodeOptions::observable); its forms call as any other client does.
    #[must_use]
    pub fn live_page(mut self, on: bool) -> GatewayOptions {
        self.has_live_page = on;
        self
    }

    /// The title of the document `/openapi.json`.
    #[must_use]
    pub fn title(mut self, title: &str) -> GatewayOptions {
        self.title = Some(title.into());
        self
    }

    /// How long an ask waits for its reply.
    pub(crate) fn get_ask_time(&self) -> Duration {
        self.ask_time.unwrap_or(ASK_TIME)
    }

    /// The time for a head.
    pub(crate) fn get_head_time(&self) -> Duration {
        self.head_time.unwrap_or(HEAD_TIME)
    }

    /// The time for a body.
    pub(crate) fn get_body_time(&self) -> Duration {
        self.body_time.unwrap_or(BODY_TIME)
    }

    /// The time for which a client may not read.
    pub(crate) fn get_stall_time(&self) -> Duration {
        self.stall_time.unwrap_or(WRITE_STALL_MAX)
    }

    /// Bytes of the body of a request.
    pub(crate) fn get_body_bytes(&self) -> usize {
        self.body_bytes.unwrap_or(BODY_BYTES)
    }

    pub(crate) fn has_tokens(&self) -> bool {
        !self.tokens.is_empty()
    }

    /// The identity of a client with this token.
    pub(crate) fn principal_of(&self, token: &[u8]) -> Option<&Principal> {
        if token.is_empty() || token.len() > TOKEN_BYTES_MAX {
            return None;
        }
        // The time that this takes tells an observer about digests, which are of no use to it.
        let digest = hmac_sha256::Hash::hash(token);
        let found = self.tokens.iter().find(|known| known.digest == digest);
        found.map(|known| &known.principal)
    }

    /// True if a request for `host`, as the header `Host` has it, is for this gateway.
    pub(crate) fn accepts_host(&self, host: &str, is_loopback: bool) -> bool {
        let name = match host.strip_prefix('[') {
            Some(rest) => rest.split_once(']').map_or("", |(address, _)| address),
            None => host.rsplit_once(':').map_or(host, |(name, _)| name),
        };
        if self.hosts.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            return true;
        }
        let is_here =
            || name.eq_ignore_ascii_case("localhost") || name.parse::<std::net::IpAddr>().is_ok();
        self.hosts.is_empty() && (!is_loopback || is_here())
    }
}

impl fmt::Debug for GatewayOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayOptions")
            .field("tls", &self.tls.is_some())
            .field("tokens", &self.tokens.len())
            .field("origins", &self.origins)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_lead_here_are_accepted() {
        let open = GatewayOptions::default();
        let named = GatewayOptions::default().host("shop.example");
        for (host, loopback, everywhere, by_name) in [
            ("localhost:80", true, true, false),
            ("127.0.0.1", true, true, false),
            ("[::1]:8080", true, true, false),
            ("evil.example:80", false, true, false),
            ("SHOP.example:443", false, true, true),
            ("", false, true, false),
        ] {
            assert_eq!(open.accepts_host(host, true), loopback, "{host}");
            assert_eq!(open.accepts_host(host, false), everywhere, "{host}");
            assert_eq!(named.accepts_host(host, true), by_name, "{host}");
        }
    }

    #[test]
    fn an_ask_waits_for_the_longest_time_at_most() {
        let of = |limit| GatewayOptions::default().ask_time(limit).get_ask_time();
        assert_eq!(of(Duration::from_secs(5)), Duration::from_secs(5));
        assert_eq!(of(2 * ASK_TIME_MAX), ASK_TIME_MAX);
    }

    #[test]
    fn a_token_is_accepted_up_to_its_longest_length() {
        for (bytes, is_accepted) in [(TOKEN_BYTES_MAX, true), (TOKEN_BYTES_MAX + 1, false)] {
            let token = "x".repeat(bytes);
            let options = GatewayOptions::default().token(&token, "a");
            assert_eq!(options.principal_of(token.as_bytes()).is_some(), is_accepted, "{bytes}");
        }
    }

    #[test]
    fn a_token_stands_for_its_identity_only() {
        let options = GatewayOptions::default().token("secret", "a");
        assert_eq!(options.principal_of(b"secret"), Some(&Principal::key("a")));
        let options = options.token("", "b");
        for wrong in [&b""[..], b"Secret", b"secret ", &[b'x'; 2000]] {
            assert_eq!(options.principal_of(wrong), None);
        }
        assert!(!format!("{options:?}").contains("secret"));
    }
}
