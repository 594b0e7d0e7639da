//! Bounds how much may wait for the actor.
//!
//! A piece carries a part of the credit, which returns when the piece is dropped: pieces in the
//! mailbox, or held by the actor, keep theirs. With grants by hand, a piece uses its part up.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::io::limits::{GRANTED_MAX, Limits};

/// The credit of one input.
#[derive(Clone, Debug)]
pub(in crate::io) struct Credit {
    pieces: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    bytes_max: usize,
    by_hand: bool,
}

/// The credit of one piece; empty if a grant was used up for it.
#[derive(Debug, Default)]
pub struct PieceCredit {
    _piece: Option<OwnedSemaphorePermit>,
    _bytes: Option<OwnedSemaphorePermit>,
}

impl Credit {
    pub(in crate::io) fn new(limits: &Limits) -> Credit {
        let pieces = if limits.by_hand { 0 } else { limits.waiting };
        Credit {
            pieces: Arc::new(Semaphore::new(pieces)),
            bytes: Arc::new(Semaphore::new(limits.waiting_bytes)),
            bytes_max: limits.waiting_bytes,
            by_hand: limits.by_hand,
        }
    }

    /// Waits for the credit of one more piece.
    pub(in crate::io) async fn piece(&self) -> PieceCredit {
        // The semaphore is never closed.
        let permit = self.pieces.clone().acquire_owned().await.ok();
        match permit {
            Some(permit) if self.by_hand => {
                permit.forget();
                PieceCredit::default()
            }
            permit => PieceCredit { _piece: permit, _bytes: None },
        }
    }

    /// Waits for the credit of that many bytes.
    pub(in crate::io) async fn bytes(&self, held: &mut PieceCredit, bytes: usize) {
        let bytes = u32::try_from(bytes.min(self.bytes_max)).unwrap_or(u32::MAX);
        held._bytes = self.bytes.clone().acquire_many_owned(bytes).await.ok();
    }

    /// Grants further pieces.
    pub(in crate::io) fn grant(&self, pieces: usize) {
        let room = GRANTED_MAX.saturating_sub(self.pieces.available_permits());
        self.pieces.add_permits(pieces.min(room));
    }
}
