//! Dialers and listeners: the options of their pipes, and how they close on their own.
//!
//! A socket keeps a table of the active ones. An endpoint that leaves the table has ended: its
//! pipes are closed, and none of its connections becomes a pipe any more.

pub(crate) mod accepted;
pub(crate) mod dialer;
pub(crate) mod listener;

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use tokio::sync::watch;
use wigwag_sp::Priority;

use crate::addresses::address::Address;
use crate::error::{NetError, NetErrorKind};
use crate::options::ListenOptions;
use crate::socket::core::{Core, Phase};
use crate::socket::observe::{PipeEnd, Side};
use crate::socket::race::until;

/// Dialers and listeners of one socket. Each is a task; for more connections than this, one
/// listener is better.
pub const ENDPOINTS_MAX: usize = if cfg!(test) { 8 } else { 4096 };

/// The options of a dialer or listener for its pipes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PipeOptions {
    pub(crate) receive_limit: Option<usize>,
    pub(crate) send_priority: Priority,
    pub(crate) receive_priority: Priority,
}

impl PipeOptions {
    /// The part of a listener's options that is for its pipes.
    pub(crate) fn of(options: &ListenOptions) -> PipeOptions {
        PipeOptions {
            receive_limit: options.receive_limit,
            send_priority: options.send_priority,
            receive_priority: options.receive_priority,
        }
    }
}

/// A dialer or a listener in the table of its socket.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) number: u64,
    pub(crate) side: Side,
    pub(crate) address: Address,
    pub(crate) options: PipeOptions,
    phase: watch::Sender<Phase>,
}

impl Endpoint {
    /// Waits until the shutdown of this endpoint has reached `phase`.
    async fn reached(&self, phase: Phase) {
        // The sender lives as long as `self`, so there is no error.
        let _ = self.phase.subscribe().wait_for(|now| *now >= phase).await;
    }

    fn advance(&self, phase: Phase) {
        self.phase.send_if_modified(|now| {
            let further = *now < phase;
            *now = phase.max(*now);
            further
        });
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.side {
            Side::Dialled => write!(f, "dials {}", self.address),
            Side::Accepted => write!(f, "listens at {}", self.address),
        }
    }
}

/// The entry of an endpoint in the table; its task holds it, so the entry is removed when the task
/// ends, however it ends.
pub(crate) struct EndpointGuard {
    core: Arc<Core>,
    pub(crate) endpoint: Arc<Endpoint>,
}

impl Drop for EndpointGuard {
    fn drop(&mut self) {
        self.core.close_endpoint(&self.endpoint);
        self.endpoint.advance(Phase::Gone);
    }
}

impl Core {
    /// Adds an endpoint to the table.
    pub(crate) fn add_endpoint(
        self: &Arc<Core>,
        side: Side,
        address: Address,
        options: PipeOptions,
    ) -> Result<EndpointGuard, NetError> {
        let phase = watch::Sender::new(Phase::Open);
        let endpoint = self.with(|state| {
            if state.closing {
                return Err(NetError::new(&address, NetErrorKind::ClosedHere));
            }
            if state.endpoints.len() >= ENDPOINTS_MAX {
                let what = "dialers and listeners of this socket";
                let kind = NetErrorKind::TooMany { what, most: ENDPOINTS_MAX };
                return Err(NetError::new(&address, kind));
            }
            state.last_endpoint += 1;
            let number = state.last_endpoint;
            let endpoint = Arc::new(Endpoint { number, side, address, options, phase });
            state.endpoints.insert(number, endpoint.clone());
            Ok(endpoint)
        })?;
        Ok(EndpointGuard { core: self.clone(), endpoint })
    }

    /// Removes an endpoint from the table and closes its pipes. When the whole socket closes, they
    /// go on for as long as it lingers.
    fn close_endpoint(self: &Arc<Core>, endpoint: &Endpoint) {
        let number = endpoint.number;
        let alone = self.with(|state| {
            state.endpoints.remove(&number);
            state.refusals.forget(number);
            !state.closing
        });
        endpoint.advance(Phase::Closed);
        if alone {
            self.end_pipes(PipeEnd::ClosedHere, |entry| entry.pipe.endpoint == number);
        }
    }

    /// Waits until no more connections of `endpoint` are wanted.
    pub(crate) async fn endpoint_closed(&self, endpoint: &Endpoint) {
        until(self.reached(Phase::Lingering), endpoint.reached(Phase::Closed)).await;
    }

    /// Waits until no task of `endpoint` runs any more.
    async fn endpoint_gone(&self, endpoint: &Endpoint) {
        until(self.reached(Phase::Gone), endpoint.reached(Phase::Gone)).await;
    }
}

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident, $closes:literal) => {
        $(#[$doc])*
        ///
        /// Dropping the handle changes nothing.
        #[derive(Clone)]
        pub struct $name {
            core: Arc<Core>,
            endpoint: Arc<Endpoint>,
        }

        impl $name {
            pub(crate) fn new(core: &Arc<Core>, endpoint: &Arc<Endpoint>) -> $name {
                $name { core: core.clone(), endpoint: endpoint.clone() }
            }

            /// The address that it dials or listens at.
            pub fn address(&self) -> &Address {
                &self.endpoint.address
            }

            /// False once it was closed, alone or with its socket.
            pub fn is_open(&self) -> bool {
                *self.endpoint.phase.borrow() == Phase::Open
            }

            #[doc = $closes]
            ///
            /// Unsent messages for its peers are handled as for any peer that leaves: they go to
            /// others, or are dropped and counted. Waits until no task of it runs; dropping the
            /// future does not undo the close. Closing it again has no effect.
            pub async fn close(&self) {
                self.core.close_endpoint(&self.endpoint);
                self.core.endpoint_gone(&self.endpoint).await;
            }

            /// [`close`](Self::close) on the calling thread.
            pub fn blocking_close(&self) {
                self.core.close_endpoint(&self.endpoint);
                // Without a runtime no task of it ever ran.
                let _ = self.core.block_on(self.core.endpoint_gone(&self.endpoint));
            }
        }

        impl Deref for $name {
            type Target = Address;

            fn deref(&self) -> &Address {
                self.address()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.address().fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.address().to_string()).finish()
            }
        }
    };
}

handle! {
    /// A connection that is kept: its address is dialled again whenever the connection breaks.
    Dialer, "Stops dialling, and closes the current connection."
}

handle! {
    /// An address that accepts peers; it can be used as that [`Address`].
    Listener, "Stops accepting peers and closes the connections that came through it; the address is free when this is ready."
}

impl From<Listener> for Address {
    fn from(listener: Listener) -> Address {
        listener.address().clone()
    }
}
