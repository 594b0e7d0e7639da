//! Files, read and written off the threads that run actors.
//!
//! A file is read like any other source, with `lines_of` and `chunks_of`, and written through the
//! same queue as a stream. Each system call runs on a thread that may block.

use std::io;
use std::path::Path;

use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncWrite;
use wigwag_actor::{Alive, CallError, Interface, Ref};

use super::limits::Limits;
use super::task::owned::{OwnedTasks, stop_with_actor};
use super::task::writer::{Output, writer};

/// Opens a file for reading; see [`Writing`] for an example.
///
/// # Errors
/// The errors of the system.
pub async fn open(path: impl AsRef<Path>) -> io::Result<File> {
    File::open(path).await
}

/// Creates a file for writing, or truncates it; see [`Writing`] for an example.
///
/// # Errors
/// The errors of the system.
pub async fn create(path: impl AsRef<Path>) -> io::Result<File> {
    File::create(path).await
}

/// Opens a file for appending, and creates it if it does not exist.
///
/// # Errors
/// The errors of the system.
pub async fn append(path: impl AsRef<Path>) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path).await
}

/// A file or one half of a stream to write to, before an actor owns it; from [`write_to`].
///
/// ```
/// use tokio::sync::oneshot;
/// use wigwag::Actor;
/// use wigwag::io::{self, Event, Line};
///
/// struct Counter {
///     lines: u64,
///     done: Option<oneshot::Sender<u64>>,
/// }
///
/// #[wigwag::actor]
/// impl Counter {
///     pub fn event(&mut self, event: Event<Line>) {
///         match event {
///             Event::Got(_) => self.lines += 1,
///             Event::TooLong { .. } => {}
///             Event::End(_) => {
///                 if let Some(done) = self.done.take() {
///                     let _ = done.send(self.lines);
///                 }
///             }
///         }
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let path = std::env::temp_dir().join(format!("wigwag-doc-write-{}", std::process::id()));
/// let (done, lines) = oneshot::channel();
/// let counter = Counter { lines: 0, done: Some(done) }.spawn();
///
/// let output = io::write_to(io::create(&path).await?).owned_by(&counter)?;
/// output.write("one\ntwo\n").await?;
/// output.close();
/// output.ended().await;
///
/// let _input = io::lines_of(io::open(&path).await?).deliver(&counter, CounterRef::event)?;
/// assert_eq!(lines.await?, 2);
/// # std::fs::remove_file(&path)?;
/// # Ok(()) }
/// ```
#[must_use = "nothing is written until somebody owns it"]
#[derive(Debug)]
pub struct Writing<W> {
    sink: W,
    limits: Limits,
}

/// Prepares writing to a file or one half of a stream; see [`Writing`] for an example.
pub fn write_to<W>(sink: W) -> Writing<W> {
    Writing { sink, limits: Limits::default() }
}

impl<W: AsyncWrite + Unpin + Send + 'static> Writing<W> {
    /// Sets limits other than the defaults.
    pub fn limits(mut self, limits: Limits) -> Writing<W> {
        self.limits = limits;
        self
    }

    /// Gives it to an actor: it is closed when the actor ends. It does not count as a reference to
    /// the actor.
    ///
    /// # Errors
    /// `Remote` when the actor lives in another process.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn owned_by<I: Interface>(self, actor: &impl AsRef<Ref<I>>) -> Result<Output, CallError> {
        let actor = actor.handle()?;
        let (output, writing) = writer(self.sink, &self.limits, false);
        let writer = Some((tokio::spawn(writing), output.queue()));
        stop_with_actor(actor, OwnedTasks { reader: None, writer });
        Ok(output)
    }
}
