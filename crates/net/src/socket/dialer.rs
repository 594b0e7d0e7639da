//! Keeps a connection to one address: dials, serves, and dials again.
//!
//! The first dial belongs to the caller, who hears its error. From then on the pause between two
//! dials doubles from 100 ms to 1 s, each shortened at random so that many clients of a restarted
//! server do not come at once. A connection that lived longer than the longest pause starts over.

use std::future::Future;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use wigwag_wire::ReadBuf;

use super::core::{Core, Phase};
use super::pipe::OpenPipe;
use super::race::until;
use super::{REDIAL_DELAY_MAX, REDIAL_DELAY_MIN};
use crate::address::Address;
use crate::error::{NetError, NetErrorKind};
use crate::handshake::{greet, within};
use crate::{clock, transport};

impl Core {
    /// Dials `address`, and keeps it dialled if that succeeds.
    pub(super) async fn dial(self: &Arc<Core>, address: &str) -> Result<(), NetError> {
        let address: Address = address.parse()?;
        let core = self.clone();
        let place = address.clone();
        self.on_runtime(&place, async move {
            let first = core.connect(&address).await?;
            core.with(|state| state.places.push(format!("dials {address}")));
            core.spawn(core.clone().keep_dialled(address, first));
            Ok(())
        })
        .await
    }

    /// One connection with its handshake, made a pipe.
    async fn connect(self: &Arc<Core>, address: &Address) -> Result<OpenPipe, NetError> {
        let text = address.to_string();
        let (connection, input) = within(&text, async {
            let mut connection = transport::dial(address).await?;
            let mut input = ReadBuf::new();
            greet(&mut connection, &mut input, self.number).await?;
            Ok((connection, input))
        })
        .await?;
        self.adopt(connection, input, clock::now())
            .map_err(|reason| NetError::new(&text, NetErrorKind::Io(io::Error::other(reason))))
    }

    async fn keep_dialled(self: Arc<Core>, address: Address, first: OpenPipe) {
        let mut pauses = Pauses::new();
        let mut open = Some(first);
        loop {
            if let Some(pipe) = open.take() {
                let since = clock::now();
                pipe.run().await;
                if clock::now() - since > REDIAL_DELAY_MAX {
                    pauses = Pauses::new();
                }
            }
            let next = async {
                tokio::time::sleep(pauses.next(random())).await;
                self.connect(&address).await
            };
            match until(self.reached(Phase::Lingering), next).await {
                None => return,
                Some(Ok(pipe)) => open = Some(pipe),
                Some(Err(error)) => {
                    tracing::debug!(%address, error = %error.kind, "dial failed");
                    self.with(|state| {
                        state.statistics.dials_failed += 1;
                        state.trouble = Some(format!("{address}: {}", error.kind));
                    });
                }
            }
        }
    }

    /// Runs `work` on the socket's runtime, whichever executor waits for it. Dropping the future
    /// ends the work.
    pub(super) async fn on_runtime<T: Send + 'static>(
        self: &Arc<Core>,
        address: &Address,
        work: impl Future<Output = Result<T, NetError>> + Send + 'static,
    ) -> Result<T, NetError> {
        let closed = || {
            let error = io::Error::new(io::ErrorKind::NotConnected, "the socket is closed");
            NetError::new(address, NetErrorKind::Io(error))
        };
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

/// The pauses between dials.
struct Pauses {
    longest: Duration,
}

impl Pauses {
    fn new() -> Pauses {
        Pauses { longest: REDIAL_DELAY_MIN }
    }

    /// The next pause: between half and all of what it may be.
    fn next(&mut self, random: u64) -> Duration {
        let longest = self.longest;
        self.longest = (longest * 2).min(REDIAL_DELAY_MAX);
        let half = longest / 2;
        half + half.mul_f64(random as f64 / u64::MAX as f64)
    }
}

/// A random number: the standard library seeds its hash maps with one.
pub(super) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_second_and_vary_by_half() {
        let milliseconds = |random| {
            let mut pauses = Pauses::new();
            [(); 6].map(|()| pauses.next(random).as_millis())
        };
        assert_eq!(milliseconds(u64::MAX), [100, 200, 400, 800, 1000, 1000]);
        assert_eq!(milliseconds(0), [50, 100, 200, 400, 500, 500]);
    }

    #[test]
    fn random_numbers_differ() {
        assert_ne!(random(), random());
    }
}
