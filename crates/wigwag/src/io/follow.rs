//! Follows a file while it grows.
//!
//! The file is read to its end, and further whenever it may have changed. A file that has become
//! shorter is read from its beginning again; if another file takes its path, the old one is read to
//! its end first.

use std::io::{self, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use wigwag_actor::{Call, CallError, Interface, Ref};

use super::event::{End, Event, Line, not_serializable};
use super::limits::Limits;
use super::task::credit::Credit;
use super::task::owned::{OwnedTasks, stop_with_actor};
use super::task::reader::{Input, run_to_end, split_event};
use super::task::recipient::{ActorGone, ActorRecipient, Recipient};
use super::task::splitter::{LineSplitter, SplitItem};
use super::task::watch::FolderWatch;

/// A piece of a followed file, in an [`Event`]; see [`Follow`] for an example.
#[derive(Debug)]
pub enum Followed {
    /// The next line.
    Line(Line),
    /// The file was truncated to less than what was read of it. The next line is its first.
    Truncated {
        /// Bytes that were read before.
        read: u64,
    },
    /// Another file has taken the path. The next line is the first of that file.
    Replaced,
}

not_serializable!(() Followed);

/// A file that is not followed yet, from [`follow`].
///
/// ```
/// use std::fs::OpenOptions;
/// use std::io::Write;
///
/// use tokio::sync::mpsc;
/// use wigwag::Actor;
/// use wigwag::io::{self, Event, Followed};
///
/// struct Tail {
///     lines: mpsc::UnboundedSender<String>,
/// }
///
/// #[wigwag::actor]
/// impl Tail {
///     pub fn event(&mut self, event: Event<Followed>) {
///         if let Event::Got(Followed::Line(line)) = event {
///             let _ = self.lines.send(String::from_utf8_lossy(line.bytes()).into_owned());
///         }
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let path = std::env::temp_dir().join(format!("wigwag-doc-follow-{}", std::process::id()));
/// std::fs::write(&path, "first\n")?;
/// let (sender, mut lines) = mpsc::unbounded_channel();
/// let input = io::follow(&path).deliver(&Tail { lines: sender }.spawn(), TailRef::event)?;
/// assert_eq!(lines.recv().await.as_deref(), Some("first"));
///
/// OpenOptions::new().append(true).open(&path)?.write_all(b"second\n")?;
/// assert_eq!(lines.recv().await.as_deref(), Some("second"));
/// input.close();
/// # std::fs::remove_file(&path)?;
/// # Ok(()) }
/// ```
#[must_use = "nothing is read until it is delivered"]
#[derive(Debug)]
pub struct Follow {
    path: PathBuf,
    limits: Limits,
    from_end: bool,
}

/// Prepares following a file: its lines, present and future ones, become messages. See [`Follow`]
/// for an example.
///
/// The input ends when it is closed, with its actor, or at an error of the system. If the file is
/// moved away or deleted, the next file at the path is waited for.
///
/// # Limits
/// The system reports changes of a file in its folder; behind a symbolic link and on network file
/// systems they are noticed within [`LOOK_EVERY`](super::limits::LOOK_EVERY). A truncation is
/// missed if the file has outgrown its old length before the next look.
pub fn follow(path: impl Into<PathBuf>) -> Follow {
    Follow { path: path.into(), limits: Limits::default(), from_end: false }
}

impl Follow {
    /// Sets limits other than the defaults.
    pub fn limits(mut self, limits: Limits) -> Follow {
        self.limits = limits;
        self
    }

    /// Skips what is in the file already.
    pub fn from_end(mut self) -> Follow {
        self.from_end = true;
        self
    }

    /// Delivers the file to an actor: each event becomes a tell by `call`, one of the actor's
    /// methods. Until its end the input counts as a reference to the actor. If the file cannot be
    /// opened, the event is an [`End::Failed`].
    ///
    /// # Errors
    /// `Remote` when the actor lives in another process.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn deliver<I, R, F>(self, to: &impl AsRef<Ref<I>>, call: F) -> Result<Input, CallError>
    where
        I: Interface,
        R: 'static,
        F: for<'a> Fn(&'a I::Ref, Event<Followed>) -> Call<'a, I, R> + Send + Sync + 'static,
    {
        let (to, actor) = ActorRecipient::new(to, call)?;
        let credit = Credit::new(&self.limits);
        let input = Input::new(credit.clone());
        let stop = input.clone();
        let reader = crate::spawn(async move {
            run_to_end(self.run(credit, &to), stop, &to, Event::End).await;
        });
        stop_with_actor(actor, OwnedTasks { reader: Some(reader), writer: None });
        Ok(input)
    }

    async fn run(
        self,
        credit: Credit,
        to: &impl Recipient<Event<Followed>>,
    ) -> Result<End, ActorGone> {
        let (path, line_bytes_max) = (self.path, self.limits.line_bytes);
        // Watch before the first look at the file, so that no change falls in between.
        let watch = FolderWatch::around(&path);
        let mut position = match FilePosition::open(path, self.from_end).await {
            Ok(position) => position,
            Err(error) => return Ok(error.into()),
        };
        let mut splitter = LineSplitter::new(Some(line_bytes_max));
        let mut scratch = vec![0; self.limits.chunk_bytes];
        let mut change = None;
        loop {
            let held = credit.piece().await;
            let next = loop {
                if let Some(item) = splitter.next() {
                    break Ok(item);
                }
                if let Some(change) = change.take() {
                    break Err(change);
                }
                match position.step(&mut scratch).await {
                    Ok(ReadStep::Read(read)) => {
                        splitter.push(scratch.get(..read).unwrap_or_default())
                    }
                    Ok(ReadStep::Nothing) => watch.change().await,
                    Ok(ReadStep::Changed(found)) => match splitter.rest() {
                        // The unfinished line goes first.
                        Some(rest) => {
                            change = Some(found);
                            break Ok(rest);
                        }
                        None => break Err(found),
                    },
                    Err(error) => return Ok(error.into()),
                }
            };
            to.deliver(event(&credit, held, next, line_bytes_max).await).await?;
        }
    }
}

async fn event(
    credit: &Credit,
    held: super::task::credit::PieceCredit,
    next: Result<SplitItem, Followed>,
    line_bytes_max: usize,
) -> Event<Followed> {
    match next {
        Err(change) => Event::Got(change),
        Ok(item) => match split_event(credit, held, item, line_bytes_max).await {
            Event::Got(line) => Event::Got(Followed::Line(line)),
            Event::TooLong { line_bytes_max } => Event::TooLong { line_bytes_max },
            Event::End(end) => Event::End(end),
        },
    }
}

/// A file and how far it is read.
struct FilePosition {
    path: PathBuf,
    file: File,
    /// Device and inode number of the file.
    identity: (u64, u64),
    read: u64,
}

enum ReadStep {
    Read(usize),
    Nothing,
    Changed(Followed),
}

impl FilePosition {
    async fn open(path: PathBuf, from_end: bool) -> io::Result<FilePosition> {
        let mut file = File::open(&path).await?;
        let identity = identity(&file.metadata().await?);
        let read = if from_end { file.seek(SeekFrom::End(0)).await? } else { 0 };
        Ok(FilePosition { path, file, identity, read })
    }

    /// Reads on, or finds out how the file has changed.
    async fn step(&mut self, into: &mut [u8]) -> io::Result<ReadStep> {
        let read = self.read_on(into).await?;
        if read > 0 {
            return Ok(ReadStep::Read(read));
        }
        let now = match tokio::fs::metadata(&self.path).await {
            Ok(now) => Some(now),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let Some(now) = now else { return Ok(ReadStep::Nothing) };
        if identity(&now) != self.identity {
            return self.replace(into).await;
        }
        if now.len() >= self.read {
            return Ok(ReadStep::Nothing);
        }
        let read = std::mem::take(&mut self.read);
        self.file.seek(SeekFrom::Start(0)).await?;
        Ok(ReadStep::Changed(Followed::Truncated { read }))
    }

    async fn replace(&mut self, into: &mut [u8]) -> io::Result<ReadStep> {
        // Read what was written to the old file between the last look and its end.
        let read = self.read_on(into).await?;
        if read > 0 {
            return Ok(ReadStep::Read(read));
        }
        match FilePosition::open(self.path.clone(), false).await {
            Ok(position) => *self = position,
            // It is gone again: wait for the next one.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ReadStep::Nothing),
            Err(error) => return Err(error),
        }
        Ok(ReadStep::Changed(Followed::Replaced))
    }

    async fn read_on(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(into).await?;
        self.read += read as u64;
        Ok(read)
    }
}

fn identity(file: &std::fs::Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}
