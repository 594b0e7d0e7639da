//! The options of tcp connections.

use std::time::Duration;

use wigwag_sp::OutOfRange;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keep_alive_is_limited_to_what_the_system_accepts() {
        assert!(KeepAlive::new(Duration::from_millis(999)).is_err());
        assert!(KeepAlive::new(Duration::from_secs(32_768)).is_err());
        assert_eq!(KeepAlive::new(Duration::from_secs(1)).unwrap().silence().as_secs(), 1);
    }
}
