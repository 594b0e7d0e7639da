//! Hints from the system that something in a folder has changed.
//!
//! A hint only says that a look is worthwhile, so its contents do not matter, and a missing one
//! costs at most [`LOOK_EVERY`].

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::sleep;

use crate::io::limits::LOOK_EVERY;

/// A watched folder.
#[derive(Debug)]
pub(in crate::io) struct FolderWatch {
    /// `None` if the system has no watch left: a user has 128.
    hints: Option<AsyncFd<OwnedFd>>,
}

impl FolderWatch {
    /// Watches the folder of `file`.
    pub(in crate::io) fn around(file: &Path) -> FolderWatch {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let hints = match watch(folder.unwrap_or(Path::new("."))) {
            Ok(hints) => Some(hints),
            Err(error) => {
                tracing::debug!(%error, ?file, "no watch for a folder, its file is looked at instead");
                None
            }
        };
        FolderWatch { hints }
    }

    /// Waits for a reason to look at the file; changes since the last call are one.
    pub(in crate::io) async fn change(&self) {
        let hint = async {
            match &self.hints {
                Some(hints) => drain(hints).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = hint => {}
            () = sleep(LOOK_EVERY) => {}
        }
    }
}

fn watch(folder: &Path) -> io::Result<AsyncFd<OwnedFd>> {
    let hints = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    let changes = WatchFlags::MODIFY
        | WatchFlags::CREATE
        | WatchFlags::MOVED_TO
        | WatchFlags::MOVED_FROM
        | WatchFlags::DELETE;
    add_watch(&hints, folder, changes)?;
    #[expect(
        deprecated,
        reason = "the way that replaces it asks for `unsafe`, because a type may give out a descriptor \
                  that is not its own; an `OwnedFd` does not"
    )]
    AsyncFd::with_interest(hints, Interest::READABLE)
}

/// Waits for a hint and discards all that are there.
async fn drain(hints: &AsyncFd<OwnedFd>) {
    let mut bytes = [0; 4096];
    let mut any = false;
    while !any {
        // An error means that the runtime ends; nothing waits any more then.
        let Ok(mut ready) = hints.readable().await else { return std::future::pending().await };
        let read = |hints: &AsyncFd<OwnedFd>| Ok(rustix::io::read(hints.get_ref(), &mut bytes)?);
        let mut read = read;
        while let Ok(Ok(1..)) = ready.try_io(&mut read) {
            any = true;
        }
    }
}
