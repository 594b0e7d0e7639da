//! Keeps a connection to one address: dials, serves, and dials again.
//!
//! The caller waits for the first dial and gets its error, unless the options put it in the
//! background. From then on `backoff.rs` decides how long to wait.

use std::future::Future;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

use tokio::task::JoinHandle;
use wigwag_wire::ReadBuf;

use crate::addresses::address::Address;
use crate::backoff::Backoff;
use crate::error::{NetError, NetErrorKind};
use crate::handshake::{greet, within};
use crate::options::DialOptions;
use crate::socket::core::{Core, Phase};
use crate::socket::endpoint::{Dialer, Endpoint, EndpointGuard, PipeOptions};
use crate::socket::observe::Side;
use crate::socket::pipe::OpenPipe;
use crate::socket::race::until;
use crate::{clock, transport};

impl Core {
    /// Dials `address`, and keeps it connected if the dial succeeds or is in the background.
    pub(crate) async fn dial(
        self: &Arc<Core>,
        address: &str,
        options: DialOptions,
    ) -> Result<Dialer, NetError> {
        let address: Address = address.parse()?;
        let core = self.clone();
        let place = address.clone();
        self.on_runtime(&place, async move {
            // An address without a transport will not have one later either.
            transport::transport(&address)?;
            let pipe_options = PipeOptions {
                receive_limit: options.receive_limit,
                send_priority: options.send_priority,
                receive_priority: options.receive_priority,
            };
            let guard = core.add_endpoint(Side::Dialled, address, pipe_options)?;
            let dialer = Dialer::new(&core, &guard.endpoint);
            let first = match options.in_background {
                true => None,
                false => Some(core.connect(&guard.endpoint, &options).await?),
            };
            core.spawn(core.clone().keep_dialled(guard, options, first));
            Ok(dialer)
        })
        .await
    }

    /// Connects once, completes the handshake, and opens a pipe.
    async fn connect(
        self: &Arc<Core>,
        endpoint: &Arc<Endpoint>,
        options: &DialOptions,
    ) -> Result<OpenPipe, NetError> {
        let text = endpoint.address.to_string();
        let mut options = options.clone();
        // A transport that assembles messages must bound them as the socket does.
        options.socket_limit = Some(self.with(|state| state.receive_limit.clone()));
        let (connection, input) = within(&text, async {
            let mut connection = transport::dial_with(&endpoint.address, options).await?;
            let mut input = ReadBuf::new();
            greet(&mut connection, &mut input, self.number).await?;
            Ok((connection, input))
        })
        .await?;
        self.admit(connection, input, endpoint, clock::now())
            .map_err(|kind| NetError::new(&text, kind))
    }

    async fn keep_dialled(
        self: Arc<Core>,
        guard: EndpointGuard,
        options: DialOptions,
        first: Option<OpenPipe>,
    ) {
        let endpoint = &guard.endpoint;
        let redials = transport::transport(&endpoint.address).is_ok_and(|of| of.redials());
        let redial = options.redial.unwrap_or_else(|| self.with(|state| state.redial));
        let mut backoff = match first {
            Some(_) => Backoff::new(redial),
            None => Backoff::immediate(redial),
        };
        let mut dialled = first.is_some();
        let mut open = first;
        loop {
            if let Some(pipe) = open.take() {
                let since = clock::now();
                pipe.run().await;
                backoff.connected_for(clock::now() - since);
            }
            if dialled && !redials {
                return;
            }
            let next = async {
                tokio::time::sleep(backoff.next(random())).await;
                let again = std::mem::replace(&mut dialled, true);
                self.with(|state| state.statistics.redials += u64::from(again));
                self.connect(endpoint, &options).await
            };
            match until(self.endpoint_closed(endpoint), next).await {
                None => return,
                Some(Ok(pipe)) => open = Some(pipe),
                Some(Err(error)) => self.note_failure(endpoint, &error),
            }
        }
    }

    fn note_failure(self: &Arc<Core>, endpoint: &Endpoint, error: &NetError) {
        let address = &endpoint.address;
        tracing::debug!(%address, error = %error.kind, "dial failed");
        self.with(|state| {
            state.statistics.dials_failed += 1;
            state.last_failure = Some(format!("{address}: {}", error.kind));
        });
    }

    /// Runs `work` on the socket's runtime, whichever executor waits for it. Dropping the future
    /// stops the work.
    pub(crate) async fn on_runtime<T: Send + 'static>(
        self: &Arc<Core>,
        address: &Address,
        work: impl Future<Output = Result<T, NetError>> + Send + 'static,
    ) -> Result<T, NetError> {
        let closed = || NetError::new(address, NetErrorKind::ClosedHere);
        if self.with(|state| state.closing) {
            return Err(closed());
        }
        let runtime =
            self.runtime().map_err(|error| NetError::new(address, NetErrorKind::Io(error)))?;
        let mut task = AbortOnDrop(runtime.spawn(work));
        match until(self.reached(Phase::Lingering), &mut task.0).await {
            Some(Ok(outcome)) => outcome,
            Some(Err(_)) | None => Err(closed()),
        }
    }
}

struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A random number: the standard library seeds its hash maps with one.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::options::{ListenOptions, Redial};

    /// A pull socket is there, gone for long, there again for a while, and gone: the pause after a
    /// connection that held is the shortest again.
    #[tokio::test(start_paused = true)]
    async fn a_connection_that_held_resets_the_backoff() {
        let address = Address::new("inproc", "redialled");
        let listen = || transport::listen(&address, ListenOptions::default());
        let core = Core::new(Box::new(wigwag_sp::Push::new()));
        let options = DialOptions::default().in_background(true);
        let longest = Redial::default().most();
        let _dialer = core.dial("inproc://redialled", options).await.unwrap();
        // Without a listener for so long, the pauses have become the longest.
        tokio::time::sleep(20 * longest).await;
        let listener = listen().await.unwrap();
        let accept = async || {
            let mut connection = listener.accept().await.unwrap();
            let number = wigwag_wire::ProtocolNumber::PULL;
            greet(&mut connection, &mut ReadBuf::new(), number).await.unwrap();
            connection
        };
        let connection = accept().await;
        tokio::time::sleep(longest).await;
        connection.outlet.close();
        let gone = clock::now();
        drop(connection);
        drop(accept().await);
        let pause = clock::now() - gone;
        assert!(pause <= Redial::default().least(), "it was dialled again after {pause:?}");
        core.begin_close();
    }

    #[tokio::test(start_paused = true)]
    async fn a_dialer_has_the_pauses_of_its_own_options() {
        let core = Core::new(Box::new(wigwag_sp::Push::new()));
        let minute = Duration::from_secs(60);
        let redial = Redial::new(minute, minute).unwrap();
        let options = DialOptions::default().in_background(true).redial(redial);
        let _dialer = core.dial("inproc://nobody-there", options).await.unwrap();
        tokio::time::sleep(10 * minute).await;
        let failed = core.with(|state| state.statistics.dials_failed);
        // Each pause is shortened by up to a half.
        assert!((10..=21).contains(&failed), "{failed} dials in ten minutes");
        core.begin_close();
    }

    #[test]
    fn random_numbers_differ() {
        assert_ne!(random(), random());
    }
}
