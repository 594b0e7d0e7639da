//! Options of one dialer or one listener.
//!
//! Numbers with bounds have types that enforce them, so an error appears where the number is given
//! and not where it is used. `docs/options.md` lists all options with the names that nanomsg, NNG
//! and mangos use.

use std::time::Duration;

use wigwag_sp::{OutOfRange, Priority};

use crate::transport::BACKLOG;

/// Options of a dialer.
///
/// ```
/// use std::time::Duration;
/// use wigwag_net::options::{DialOptions, Redial};
/// use wigwag_sp::Priority;
///
/// let options = DialOptions {
///     redial: Some(Redial::new(Duration::from_millis(20), Duration::from_secs(5))?),
///     send_priority: Priority::new(1)?,
///     ..DialOptions::default()
/// };
/// # assert!(options.receive_limit.is_none());
/// # Ok::<(), wigwag_sp::OutOfRange>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DialOptions {
    /// The pauses between two dials; `None`: those of the socket.
    pub redial: Option<Redial>,
    /// Dials in the background from the first attempt on, so that the peer may start later; false:
    /// the dial waits for the first attempt and returns its error.
    pub in_background: bool,
    /// Bytes that a received message may have, protocol header included; `None`: the limit of the
    /// socket. `usize::MAX` is no limit.
    pub receive_limit: Option<usize>,
    /// The rank of this peer when the socket chooses a receiver.
    pub send_priority: Priority,
    /// The rank of this peer's messages when the user receives.
    pub receive_priority: Priority,
    /// Options for tcp.
    pub tcp: TcpOptions,
}

/// Options of a listener. An actor node uses those of the transport; priorities and the receive
/// limit are for sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenOptions {
    /// Connections that may wait to be accepted. The kernel limits it to `net.core.somaxconn`, and
    /// makes 1 of 0.
    pub backlog: u32,
    /// The permissions of an ipc socket file, which decide who may connect.
    pub permissions: Permissions,
    /// Bytes that a received message may have, protocol header included; `None`: the limit of the
    /// socket. `usize::MAX` is no limit.
    pub receive_limit: Option<usize>,
    /// The rank of these peers when the socket chooses a receiver.
    pub send_priority: Priority,
    /// The rank of these peers' messages when the user receives.
    pub receive_priority: Priority,
    /// Options for tcp.
    pub tcp: TcpOptions,
}

impl Default for ListenOptions {
    fn default() -> ListenOptions {
        ListenOptions {
            backlog: BACKLOG,
            permissions: Permissions::default(),
            receive_limit: None,
            send_priority: Priority::default(),
            receive_priority: Priority::default(),
            tcp: TcpOptions::default(),
        }
    }
}

/// Options of tcp connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpOptions {
    /// Sends small segments at once (`TCP_NODELAY`). On unless set: messages that pile up are
    /// already written together, so holding segments back only adds time. nanomsg has it off.
    pub no_delay: bool,
    /// Probes a silent peer; `None`, the default: never.
    pub keep_alive: Option<KeepAlive>,
}

impl Default for TcpOptions {
    fn default() -> TcpOptions {
        TcpOptions { no_delay: true, keep_alive: None }
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
