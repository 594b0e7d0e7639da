//! Accepts connections, and keeps working when the process is out of descriptors.
//!
//! Without a descriptor the kernel keeps new connections waiting, and neither they nor the owner of
//! the listener would learn why. So the acceptor closes connections that can be spared, and holds
//! one descriptor in reserve: with it, it accepts a new connection and closes it, which tells the
//! peer at once that it is not served.

use std::fs::File;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use crate::addresses::address::Address;
use crate::error::{NetError, NetErrorKind};
use crate::transport::{Connection, Listener};

/// Pause of a listener that cannot accept: descriptors come back when connections end, and a
/// shorter pause would only burn a core.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Shortest time between two log lines of a listener about missing descriptors.
const LOG_PAUSE: Duration = Duration::from_secs(60);

/// Connections that are refused between two pauses: a full backlog.
const REFUSALS_MAX: usize = 1024;

const EMFILE: i32 = 24;
const ENFILE: i32 = 23;

/// Closes connections that can be spared when the process is out of descriptors.
pub trait ConnectionEvictor: Send + Sync {
    /// Closes one connection that can be spared; false if there is none.
    fn evict_one(&self) -> bool;

    /// Waits until a connection has been closed.
    fn freed(&self) -> crate::transport::Boxed<'_, ()>;
}

/// A listener with a descriptor in reserve.
pub struct Acceptor {
    listener: Box<dyn Listener>,
    /// Released for a moment to accept a connection that is refused.
    reserve: Option<File>,
    /// When the log last reported that no descriptors are left.
    logged: Option<Instant>,
}

impl Acceptor {
    /// Wraps `listener`.
    pub fn new(listener: Box<dyn Listener>) -> Acceptor {
        let mut acceptor = Acceptor { listener, reserve: None, logged: None };
        acceptor.keep_reserve();
        acceptor
    }

    /// The address of the listener.
    pub fn address(&self) -> &Address {
        self.listener.address()
    }

    /// True if no further connection will come, after an error.
    pub fn has_ended(&self) -> bool {
        self.listener.has_ended()
    }

    /// Accepts the next connection.
    ///
    /// # Errors
    /// The failure of one attempt, after everything possible was done about it: the caller counts
    /// it and calls again.
    pub async fn accept(
        &mut self,
        evictor: &impl ConnectionEvictor,
    ) -> Result<Connection, NetError> {
        let error = match self.listener.accept().await {
            Ok(connection) => {
                self.keep_reserve();
                return Ok(connection);
            }
            Err(error) => error,
        };
        match &error.kind {
            _ if self.listener.has_ended() => {}
            NetErrorKind::Io(system) if is_peers_doing(system) => {}
            NetErrorKind::Io(system) if is_without_descriptors(system) => {
                self.free_descriptor(evictor, &error).await;
            }
            _ => {
                tracing::warn!(at = %error.address, error = %error.kind, "cannot accept");
                sleep(ACCEPT_PAUSE).await;
            }
        }
        Err(error)
    }

    /// Frees a descriptor, or refuses all waiting connections: the process is out of descriptors.
    async fn free_descriptor(&mut self, evictor: &impl ConnectionEvictor, error: &NetError) {
        if self.logged.is_none_or(|at| at.elapsed() >= LOG_PAUSE) {
            self.logged = Some(Instant::now());
            tracing::warn!(
                at = %error.address,
                error = %error.kind,
                "no descriptors are left: connections are refused until some are free; raise the limit (ulimit -n) or close what is not needed"
            );
        }
        let freed = evictor.freed();
        if evictor.evict_one() {
            let _ = timeout(ACCEPT_PAUSE, freed).await;
            return;
        }
        drop(freed);
        for _ in 0..REFUSALS_MAX {
            if !self.refuse_one() {
                break;
            }
        }
        sleep(ACCEPT_PAUSE).await;
    }

    /// Accepts a connection with the reserved descriptor and closes it. False if no connection
    /// waits, or if the descriptor was taken by another thread.
    fn refuse_one(&mut self) -> bool {
        if self.reserve.take().is_none() {
            self.keep_reserve();
            return false;
        }
        let accepted = pin!(self.listener.accept()).poll(&mut Context::from_waker(Waker::noop()));
        let refused = match accepted {
            Poll::Ready(Ok(connection)) => {
                tracing::debug!(peer = %connection.peer, "refused for want of descriptors");
                connection.outlet.close();
                true
            }
            _ => false,
        };
        self.keep_reserve();
        refused
    }

    fn keep_reserve(&mut self) {
        if self.reserve.is_none() && self.listener.takes_descriptors() {
            self.reserve = File::open("/dev/null").ok();
        }
    }
}

/// True if the error concerns only one peer, so the next attempt may succeed.
fn is_peers_doing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}

fn is_without_descriptors(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|number| [EMFILE, ENFILE].contains(&number))
}
