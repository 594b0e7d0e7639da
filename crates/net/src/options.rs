//! Options of one dialer or one listener.
//!
//! Numbers with bounds have types that enforce them, so an error appears where the number is given
//! and not where it is used. `docs/options.md` lists all options with the names that nanomsg, NNG
//! and mangos use.

use std::sync::Arc;
use std::time::Duration;

use wigwag_sp::{OutOfRange, Priority};

#[cfg(feature = "shm")]
use crate::shm::ShmOptions;
use crate::sync::{AtomicUsize, Ordering};
#[cfg(feature = "tls")]
use crate::tls::{TlsClientConfig, TlsServerConfig};
use crate::transport::BACKLOG;
#[cfg(feature = "ws")]
use crate::ws::{WsDialOptions, WsListenOptions};

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

/// Options of a listener. A node uses those of the transport; priorities and the receive limit are
/// for sockets, and for the SP clients of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenOptions {
    pub(crate) backlog: u32,
    pub(crate) permissions: Permissions,
    pub(crate) receive_limit: Option<usize>,
    /// The limit of the socket, which counts where this has none.
    pub(crate) socket_limit: Option<ReceiveLimit>,
    pub(crate) send_priority: Priority,
    pub(crate) receive_priority: Priority,
    pub(crate) tcp: TcpOptions,
    #[cfg(feature = "shm")]
    pub(crate) shm: ShmOptions,
    #[cfg(feature = "ws")]
    pub(crate) ws: WsListenOptions,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<TlsServerConfig>,
}

impl Default for ListenOptions {
    fn default() -> ListenOptions {
        ListenOptions {
            backlog: BACKLOG,
            permissions: Permissions::default(),
            receive_limit: None,
            socket_limit: None,
            send_priority: Priority::default(),
            receive_priority: Priority::default(),
            tcp: TcpOptions::default(),
            #[cfg(feature = "shm")]
            shm: ShmOptions::default(),
            #[cfg(feature = "ws")]
            ws: WsListenOptions::default(),
            #[cfg(feature = "tls")]
            tls: None,
        }
    }
}

impl ListenOptions {
    /// Sets how many connections may wait to be accepted. The kernel limits it to
    /// `net.core.somaxconn`, and makes 1 of 0.
    #[must_use]
    pub fn backlog(mut self, connections: u32) -> ListenOptions {
        self.backlog = connections;
        self
    }

    /// Sets the permissions of an ipc socket file, which decide which processes may connect.
    #[must_use]
    pub fn permissions(mut self, permissions: Permissions) -> ListenOptions {
        self.permissions = permissions;
        self
    }

    /// Limits the bytes of a received message, protocol header included; by default the limit of
    /// the socket. `usize::MAX` is no limit.
    #[must_use]
    pub fn receive_limit(mut self, bytes: usize) -> ListenOptions {
        self.receive_limit = Some(bytes);
        self
    }

    /// Sets the rank of these peers when the socket chooses a receiver.
    #[must_use]
    pub fn send_priority(mut self, rank: Priority) -> ListenOptions {
        self.send_priority = rank;
        self
    }

    /// Sets the rank of these peers' messages when the user receives.
    #[must_use]
    pub fn receive_priority(mut self, rank: Priority) -> ListenOptions {
        self.receive_priority = rank;
        self
    }

    /// Sets the options for tcp.
    #[must_use]
    pub fn tcp(mut self, options: TcpOptions) -> ListenOptions {
        self.tcp = options;
        self
    }

    /// Sets the options for ws.
    #[cfg(feature = "ws")]
    #[must_use]
    pub fn ws(mut self, options: WsListenOptions) -> ListenOptions {
        self.ws = options;
        self
    }

    /// Sets the certificate and the accepted clients with TLS; a listener with TLS needs it.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, config: TlsServerConfig) -> ListenOptions {
        self.tls = Some(config);
        self
    }

    /// Returns how many connections may wait to be accepted, for a transport.
    pub fn get_backlog(&self) -> u32 {
        self.backlog
    }

    /// Returns the permissions of a socket file, for a transport.
    pub fn get_permissions(&self) -> Permissions {
        self.permissions
    }

    /// Returns what is presented with TLS, if anything is.
    #[cfg(feature = "tls")]
    pub fn get_tls(&self) -> Option<&TlsServerConfig> {
        self.tls.as_ref()
    }

    /// Returns the options for tcp, for a transport.
    pub fn get_tcp(&self) -> TcpOptions {
        self.tcp
    }

    /// Sets the options for shared memory.
    #[cfg(feature = "shm")]
    #[must_use]
    pub fn shm(mut self, options: ShmOptions) -> ListenOptions {
        self.shm = options;
        self
    }
}

/// A limit of received messages that may change while connections use it.
#[derive(Clone, Debug)]
pub(crate) struct ReceiveLimit(Arc<AtomicUsize>);

impl ReceiveLimit {
    pub(crate) fn new(bytes: usize) -> ReceiveLimit {
        ReceiveLimit(Arc::new(AtomicUsize::new(bytes)))
    }

    /// The limit that applies to a connection with an option and a socket of its own.
    #[cfg(feature = "ws")]
    pub(crate) fn of(option: Option<usize>, socket: Option<&ReceiveLimit>) -> ReceiveLimit {
        let default = || ReceiveLimit::new(wigwag_sp::limits::RECEIVE_BYTES_MAX);
        option.map_or_else(|| socket.cloned().unwrap_or_else(default), ReceiveLimit::new)
    }

    pub(crate) fn bytes(&self) -> usize {
        // Pairs with the store in `set`; no other data depends on it.
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, bytes: usize) {
        // Pairs with the load in `bytes`.
        self.0.store(bytes, Ordering::Relaxed);
    }
}

/// Equal if a change of one changes the other.
impl PartialEq for ReceiveLimit {
    fn eq(&self, other: &ReceiveLimit) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ReceiveLimit {}

/// Options of tcp connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpOptions {
    pub(crate) no_delay: bool,
    pub(crate) keep_alive: Option<KeepAlive>,
}

impl Default for TcpOptions {
    fn default() -> TcpOptions {
        TcpOptions { no_delay: true, keep_alive: None }
    }
}

impl TcpOptions {
    /// Sends small segments at once (`TCP_NODELAY`), which is the default: messages that wait are
    /// already written together, so holding segments back only adds time. nanomsg has it off.
    #[must_use]
    pub fn no_delay(mut self, on: bool) -> TcpOptions {
        self.no_delay = on;
        self
    }

    /// Probes a silent peer; by default tcp never does.
    #[must_use]
    pub fn keep_alive(mut self, silence: KeepAlive) -> TcpOptions {
        self.keep_alive = Some(silence);
        self
    }

    /// Returns whether small segments are sent at once, for a transport.
    pub fn get_no_delay(&self) -> bool {
        self.no_delay
    }

    /// Returns the silence after which tcp probes the peer, for a transport.
    pub fn get_keep_alive(&self) -> Option<KeepAlive> {
        self.keep_alive
    }
}

/// The silence after which tcp probes the peer (`TCP_KEEPIDLE`). How often it probes, and how many
/// unanswered probes end the connection, are settings of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive(Duration);

impl KeepAlive {
    /// A silence of 1 to 32,767 seconds, which is what Linux accepts.
    pub const fn new(silence: Duration) -> Result<KeepAlive, OutOfRange> {
        let given = silence.as_secs();
        if given >= 1 && given <= 32_767 {
            return Ok(KeepAlive(Duration::from_secs(given)));
        }
        let what = "the silence before a keep-alive";
        Err(OutOfRange { what, given, least: 1, most: 32_767, unit: "seconds" })
    }

    /// The silence, in whole seconds.
    pub const fn silence(self) -> Duration {
        self.0
    }
}

/// The pauses between two dials to one address: they double from the shortest to the longest, each
/// shortened at random by up to a half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redial {
    least: Duration,
    most: Duration,
}

impl Redial {
    /// Pause before the first redial unless set, as in nanomsg and mangos.
    pub const LEAST: Duration = Duration::from_millis(100);
    /// Longest pause unless set: a peer that comes back is found within a second.
    pub const MOST: Duration = Duration::from_secs(1);

    /// Pauses from `least`, at least 1 ms so that a refused dial does not become a busy loop, to
    /// `most`, at least `least` and at most a day. Equal ones mean no growth.
    pub const fn new(least: Duration, most: Duration) -> Result<Redial, OutOfRange> {
        const DAY_MS: u64 = 24 * 3600 * 1000;
        let (low, high) = (milliseconds(least), milliseconds(most));
        let unit = "milliseconds";
        if low < 1 || low > DAY_MS {
            let what = "the shortest pause between dials";
            return Err(OutOfRange { what, given: low, least: 1, most: DAY_MS, unit });
        }
        if high < low || high > DAY_MS {
            let what = "the longest pause between dials";
            return Err(OutOfRange { what, given: high, least: low, most: DAY_MS, unit });
        }
        Ok(Redial { least, most })
    }

    /// The pause before the first redial.
    pub const fn least(self) -> Duration {
        self.least
    }

    /// The longest pause.
    pub const fn most(self) -> Duration {
        self.most
    }
}

impl Default for Redial {
    fn default() -> Redial {
        Redial { least: Redial::LEAST, most: Redial::MOST }
    }
}

const fn milliseconds(time: Duration) -> u64 {
    let whole = time.as_millis();
    if whole > u64::MAX as u128 { u64::MAX } else { whole as u64 }
}

/// The permissions of an ipc socket file: a process that may write to it may connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permissions(u32);

impl Permissions {
    /// Bits as for `chmod`, at most 0o777.
    pub const fn new(mode: u32) -> Result<Permissions, OutOfRange> {
        if mode <= 0o777 {
            return Ok(Permissions(mode));
        }
        let (what, given) = ("the permissions of a socket file", mode as u64);
        Err(OutOfRange { what, given, least: 0, most: 0o777, unit: "(in decimal)" })
    }

    /// The bits.
    pub const fn mode(self) -> u32 {
        self.0
    }

    /// True if processes of other users may connect.
    #[cfg(feature = "shm")]
    pub(crate) fn admit_others(self) -> bool {
        self.0 & 0o077 != 0
    }
}

impl Default for Permissions {
    /// The owner alone: 0o600. nanomsg, NNG and mangos leave it to the umask.
    fn default() -> Permissions {
        Permissions(0o600)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redial_pauses_have_an_order_and_bounds() {
        let ms = Duration::from_millis;
        assert!(Redial::new(ms(1), ms(1)).is_ok());
        for (least, most) in [(0, 1), (2, 1), (1, 86_400_001)] {
            let refused = Redial::new(ms(least), ms(most)).unwrap_err();
            assert_eq!(refused.unit, "milliseconds", "{refused}");
        }
        assert_eq!(Redial::new(Redial::LEAST, Redial::MOST), Ok(Redial::default()));
    }

    #[test]
    fn keep_alive_and_permissions_are_limited_to_what_the_system_accepts() {
        assert!(KeepAlive::new(Duration::from_millis(999)).is_err());
        assert!(KeepAlive::new(Duration::from_secs(32_768)).is_err());
        assert_eq!(KeepAlive::new(Duration::from_secs(1)).unwrap().silence().as_secs(), 1);
        assert!(Permissions::new(0o1000).is_err());
        assert_eq!(Permissions::new(0o777).unwrap().mode(), 0o777);
        assert_eq!(ListenOptions::default().permissions.mode(), 0o600);
    }
}
