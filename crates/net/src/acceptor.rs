//! Accepts connections, and goes on when the process has no descriptor left.
//!
//! Without a descriptor the kernel keeps newcomers waiting, and neither they nor the listener's owner
//! would ever learn why. So the acceptor frees what can be spared, and holds one descriptor in reserve:
//! with it a newcomer is accepted and closed, which tells it at once that it is not served.

use std::fs::File;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use crate::address::Address;
use crate::error::{NetError, NetErrorKind};
use crate::transport::{Connection, Listener};

/// Pause of a listener that cannot accept: descriptors come back when connections end, and a shorter
/// pause would only burn a core.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long a listener that said that it has no descriptors says nothing more of it.
const LOG_PAUSE: Duration = Duration::from_secs(60);

/// Newcomers that are turned away between two pauses: a full backlog.
const REFUSALS_MAX: usize = 1024;

const EMFILE: i32 = 24;
const ENFILE: i32 = 23;

/// Connections that an acceptor can do without when there are no descriptors.
pub trait ConnectionEvictor: Send + Sync {
    /// Closes a connection that can be spared. False when there is none.
    fn evict_one(&self) -> bool;

    /// Waits until a connection has gone.
    fn freed(&self) -> crate::transport::Boxed<'_, ()>;
}

/// A listener and its descriptor in reserve.
pub struct Acceptor {
    listener: Box<dyn Listener>,
    /// Given up for a moment to accept a connection that is refused.
    reserve: Option<File>,
    /// When the log was told last that no descriptors are left.
    logged: Option<Instant>,
}

impl Acceptor {
    /// An acceptor for `listener`.
    pub fn new(listener: Box<dyn Listener>) -> Acceptor {
        let mut acceptor = Acceptor { listener, reserve: None, logged: None };
        acceptor.keep_reserve();
        acceptor
    }

    /// Where it listens.
    pub fn address(&self) -> &Address {
        self.listener.address()
    }

    /// The next connection.
    ///
    /// # Errors
    /// What went wrong with one attempt, after everything was done about it that can be done: the
    /// caller counts it and goes on.
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

    /// There are no descriptors: frees one, or turns away all newcomers that wait.
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

    /// Accepts a newcomer with the descriptor in reserve and closes it. False when none waits, or
    /// somebody else has taken the descriptor.
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

/// The next attempt may succeed.
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
