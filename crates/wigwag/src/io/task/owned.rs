//! Ends what an actor owns together with the actor, or with the life in which the actor has opened
//! it.
//!
//! One task per owned thing waits for the end of its owner or of the thing. It is polled only at
//! these ends, so an actor with many streams pays nothing while they live. It holds the end of the
//! owner until the thing is gone, which the next life of the actor waits for.

use std::sync::Arc;

use tokio::task::JoinHandle;
use tokio::time::timeout;
use wigwag_actor::{Handle, OwnerEnd};

use super::writer::Queue;
use crate::io::limits::LINGER_MAX;

/// The tasks of an owned thing: a reader, a writer, or both.
pub(in crate::io) struct OwnedTasks {
    pub(in crate::io) reader: Option<JoinHandle<()>>,
    pub(in crate::io) writer: Option<(JoinHandle<()>, Arc<Queue>)>,
}

/// Ends both tasks when the actor ends, or its life that calls this.
pub(in crate::io) fn stop_with_actor(actor: Handle, owned: OwnedTasks) {
    let mut owner_end = OwnerEnd::of(actor);
    tokio::spawn(async move {
        let OwnedTasks { mut reader, mut writer } = owned;
        let both_end = async {
            // A panic is an end too.
            if let Some(reader) = &mut reader {
                let _ = reader.await;
            }
            if let Some((writer, _)) = &mut writer {
                let _ = writer.await;
            }
        };
        let reason = tokio::select! {
            reason = &mut owner_end => reason,
            () = both_end => return,
        };
        // A task that has ended may have been awaited above, and must not be awaited again.
        let reader = reader.filter(|reader| !reader.is_finished());
        if let Some(reader) = &reader {
            reader.abort();
        }
        if let Some((mut writer, queue)) = writer {
            queue.close();
            if !reason.is_wanted() || timeout(LINGER_MAX, &mut writer).await.is_err() {
                writer.abort();
                let _ = writer.await;
            }
        }
        if let Some(reader) = reader {
            let _ = reader.await;
        }
    });
}
