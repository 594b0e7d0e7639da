//! Files, off the threads that run actors.
//!
//! A file is read as any other source, with `lines_of` and `chunks_of`, and written through the
//! same queue as a stream. Each call of the system runs on a thread that may block.

use std::io;
use std::path::Path;

use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncWrite;
use wigwag_actor::{Alive, CallError, Interface, Ref};

use super::limits::Limits;
use super::task::owned::{OwnedTasks, stop_with_actor};
use super::task::writer::{Output, writer};

/// Opens a file to be read.
///
/// # Errors
/// What the system says.
pub async fn open(path: impl AsRef<Path>) -> io::Result<File> {
    File::open(path).await
}

/// Makes a file to be written, empty.
///
/// # Errors
/// What the system says.
pub async fn create(path: impl AsRef<Path>) -> io::Result<File> {
    File::create(path).await
}

/// Opens a file to be written at its end; makes it if there is none.
///
/// # Errors
/// What the system says.
pub async fn append(path: impl AsRef<Path>) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path).await
}

/// Something to be written that belongs to nobody yet.
#[must_use = "nothing is written until somebody owns it"]
#[derive(Debug)]
pub struct Writing<W> {
    sink: W,
    limits: Limits,
}

/// Something to be written: a file, one half of a stream.
pub fn write_to<W>(sink: W) -> Writing<W> {
    Writing { sink, limits: Limits::default() }
}

impl<W: AsyncWrite + Unpin + Send + 'static> Writing<W> {
    /// Other limits than the usual ones.
    pub fn limits(mut self, limits: Limits) -> Writing<W> {
        self.limits = limits;
        self
    }

    /// Gives it to an actor: it is closed when the actor ends. It is no reference to the actor.
    ///
    /// # Errors
    /// `Remote` when the actor lives in another process.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn owned_by<I: Interface>(self, actor: &impl AsRef<Ref<I>>) -> Result<Output, CallError> {
        let actor = actor.handle()?;
        let (output, writing) = writer(self.sink, &self.limits);
        let writer = Some((tokio::spawn(writing), output.queue()));
        stop_with_actor(actor, OwnedTasks { reader: None, writer });
        Ok(output)
    }
}
