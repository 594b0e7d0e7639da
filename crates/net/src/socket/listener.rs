//! Takes in whoever comes.
//!
//! The accept loop does nothing but accept: each handshake runs in a task of its own, and so many
//! at most as there are places. A stranger who says nothing loses its place after the handshake
//! time.

use std::io;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wigwag_wire::ReadBuf;

use super::core::{Core, Phase};
use super::race::until;
use super::{ACCEPT_PAUSE, UNAUTHENTICATED_MAX};
use crate::address::Address;
use crate::clock;
use crate::error::{NetError, NetErrorKind};
use crate::handshake::{greet, within};
use crate::transport::{self, Connection, ListenOptions, Listener};

impl Core {
    /// Listens at `address`; gives the address where it really does.
    pub(super) async fn listen(self: &Arc<Core>, address: &str) -> Result<Address, NetError> {
        let address: Address = address.parse()?;
        let core = self.clone();
        let place = address.clone();
        self.on_runtime(&place, async move {
            let listener = transport::listen(&address, ListenOptions::default()).await?;
            let bound = listener.address().clone();
            core.with(|state| state.places.push(format!("listens at {bound}")));
            core.spawn(core.clone().accept_all(listener));
            Ok(bound)
        })
        .await
    }

    async fn accept_all(self: Arc<Core>, listener: Box<dyn Listener>) {
        let places = Arc::new(Semaphore::new(UNAUTHENTICATED_MAX));
        until(self.reached(Phase::Lingering), async {
            loop {
                let Ok(place) = places.clone().acquire_owned().await else {
                    return;
                };
                match listener.accept().await {
                    Ok(connection) => self.spawn(self.clone().welcome(connection, place)),
                    Err(error) => self.bear(&error).await,
                }
            }
        })
        .await;
    }

    /// An accept failed: if by the peer's doing, the next one may succeed; if by the system's, only
    /// time helps.
    async fn bear(self: &Arc<Core>, error: &NetError) {
        self.with(|state| state.statistics.accepts_failed += 1);
        let by_peer = matches!(
            &error.kind,
            NetErrorKind::Io(error) if matches!(
                error.kind(),
                io::ErrorKind::ConnectionAborted
                    | io::ErrorKind::ConnectionReset
                    | io::ErrorKind::Interrupted
            )
        );
        if !by_peer {
            tracing::warn!(at = %error.address, error = %error.kind, "cannot accept");
            tokio::time::sleep(ACCEPT_PAUSE).await;
        }
    }

    async fn welcome(self: Arc<Core>, mut connection: Connection, place: OwnedSemaphorePermit) {
        let peer = connection.peer.clone();
        let mut input = ReadBuf::new();
        let greeting = within(&peer, greet(&mut connection, &mut input, self.number));
        let greeted = until(self.reached(Phase::Lingering), greeting).await;
        drop(place);
        match greeted {
            Some(Ok(_)) => {
                if let Ok(pipe) = self.adopt(connection, input, clock::now()) {
                    pipe.run().await;
                }
            }
            Some(Err(error)) => {
                connection.outlet.close();
                tracing::debug!(%peer, error = %error.kind, "handshake failed");
                self.with(|state| {
                    state.statistics.handshakes_failed += 1;
                    state.trouble = Some(format!("{peer}: {}", error.kind));
                });
            }
            None => connection.outlet.close(),
        }
    }
}
