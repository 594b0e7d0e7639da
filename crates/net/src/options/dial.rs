//! The options of a dialer.

use wigwag_sp::Priority;

use super::receive_limit::ReceiveLimit;
use super::redial::Redial;
use super::tcp::TcpOptions;
#[cfg(feature = "shm")]
use crate::transports::shm::ShmOptions;
#[cfg(feature = "tls")]
use crate::transports::tls::TlsClientConfig;
#[cfg(feature = "ws")]
use crate::transports::ws::WsDialOptions;

/// Options of a dialer.
///
/// ```
/// use std::time::Duration;
/// use wigwag_net::options::{DialOptions, Redial};
/// use wigwag_sp::Priority;
///
/// let options = DialOptions::default()
///     .redial(Redial::new(Duration::from_millis(20), Duration::from_secs(5))?)
///     .send_priority(Priority::new(1)?);
/// # let _ = options;
/// # Ok::<(), wigwag_sp::OutOfRange>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DialOptions {
    pub(crate) redial: Option<Redial>,
    pub(crate) in_background: bool,
    pub(crate) receive_limit: Option<usize>,
    /// The limit of the socket, which counts where this has none.
    pub(crate) socket_limit: Option<ReceiveLimit>,
    pub(crate) send_priority: Priority,
    pub(crate) receive_priority: Priority,
    pub(crate) tcp: TcpOptions,
    #[cfg(feature = "shm")]
    pub(crate) shm: ShmOptions,
    #[cfg(feature = "ws")]
    pub(crate) ws: WsDialOptions,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<TlsClientConfig>,
}

impl DialOptions {
    /// Sets the pauses between two dials; by default those of the socket.
    #[must_use]
    pub fn redial(mut self, pauses: Redial) -> DialOptions {
        self.redial = Some(pauses);
        self
    }

    /// Dials in the background from the first attempt on, so that the peer may start later. By
    /// default the dial waits for the first attempt and returns its error.
    #[must_use]
    pub fn in_background(mut self, on: bool) -> DialOptions {
        self.in_background = on;
        self
    }

    /// Limits the bytes of a received message, protocol header included; by default the limit of
    /// the socket. `usize::MAX` is no limit.
    #[must_use]
    pub fn receive_limit(mut self, bytes: usize) -> DialOptions {
        self.receive_limit = Some(bytes);
        self
    }

    /// Sets the rank of this peer when the socket chooses a receiver.
    #[must_use]
    pub fn send_priority(mut self, rank: Priority) -> DialOptions {
        self.send_priority = rank;
        self
    }

    /// Sets the rank of this peer's messages when the user receives.
    #[must_use]
    pub fn receive_priority(mut self, rank: Priority) -> DialOptions {
        self.receive_priority = rank;
        self
    }

    /// Sets the options for tcp.
    #[must_use]
    pub fn tcp(mut self, options: TcpOptions) -> DialOptions {
        self.tcp = options;
        self
    }

    /// Sets the options for ws.
    #[cfg(feature = "ws")]
    #[must_use]
    pub fn ws(mut self, options: WsDialOptions) -> DialOptions {
        self.ws = options;
        self
    }

    /// The same options without the header lines of ws, which may have a token: for an address that
    /// somebody else has named.
    #[must_use]
    pub fn without_headers(self) -> DialOptions {
        #[cfg(feature = "ws")]
        let without = self.ws(WsDialOptions::default());
        #[cfg(not(feature = "ws"))]
        let without = self;
        without
    }

    /// Sets what is trusted and presented with TLS; by default the authorities of the system are
    /// trusted, and nothing is presented.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, config: TlsClientConfig) -> DialOptions {
        self.tls = Some(config);
        self
    }

    /// Returns the options for tcp, for a transport.
    pub fn get_tcp(&self) -> TcpOptions {
        self.tcp
    }

    /// Sets the options for shared memory.
    #[cfg(feature = "shm")]
    #[must_use]
    pub fn shm(mut self, options: ShmOptions) -> DialOptions {
        self.shm = options;
        self
    }
}
