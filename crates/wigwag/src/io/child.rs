//! A child process: its output as lines, its exit as the last message.

use std::error::Error;
use std::fmt;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncRead;
use tokio::process::Command;
use tokio::sync::{Notify, watch};
use wigwag_actor::{Call, CallError, Interface, Ref};
use wigwag_wire::hint::{write_debug, write_hint};

use super::event::{End, Event, Line, not_serializable};
use super::limits::Limits;
use super::task::credit::Credit;
use super::task::owned::{OwnedTasks, stop_with_actor};
use super::task::reader::Reader;
use super::task::recipient::{ActorRecipient, Recipient};
use super::task::writer::{Output, writer};

/// An event of a child process; see [`Launch`] for an example.
#[derive(Debug)]
pub enum ChildEvent {
    /// A line of the child's output. The lines of each pipe are in order, but not relative to the
    /// other pipe.
    Line(Pipe, Line),
    /// A line was longer than the limit and is skipped.
    TooLong(Pipe),
    /// The child has exited, and all of its output was delivered: the last event.
    Exited(ExitStatus),
    /// The system cannot report how the child ended: the last event.
    Lost(End),
}

/// A pipe that a child writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pipe {
    /// The standard output.
    Output,
    /// The standard error.
    Error,
}

not_serializable!(() ChildEvent);

/// The error of [`Launch::deliver`]: the child was not started.
#[non_exhaustive]
pub enum LaunchError {
    /// The system has refused to start it.
    Refused {
        /// The program that was to be started.
        program: String,
        /// The error of the system.
        error: io::Error,
    },
    /// The actor cannot own a child.
    Owner(CallError),
}

impl LaunchError {
    /// A hint how to fix it; names in backticks are those of the API.
    pub fn hint(&self) -> &'static str {
        match self {
            LaunchError::Refused { .. } => "look at the path and its rights",
            LaunchError::Owner(error) => error.hint(),
        }
    }
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LaunchError::Refused { program, error } => {
                write!(f, "{program} was not started: {error}")?;
                write_hint(f, self.hint())
            }
            LaunchError::Owner(error) => error.fmt(f),
        }
    }
}

impl fmt::Debug for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LaunchError::Refused { error, .. } => {
                write_debug(f, "LaunchError", Some(&error.kind()), self, self.hint())
            }
            LaunchError::Owner(error) => error.fmt(f),
        }
    }
}

impl Error for LaunchError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            LaunchError::Refused { error, .. } => Some(error),
            LaunchError::Owner(_) => None,
        }
    }
}

impl From<CallError> for LaunchError {
    fn from(error: CallError) -> LaunchError {
        LaunchError::Owner(error)
    }
}

/// A child process that is not started yet, from [`child`].
///
/// ```
/// use std::process::Command;
///
/// use wigwag::io::{self, ChildEvent, Pipe};
/// use wigwag::{Actor, Life, Reason, This};
///
/// /// Sorts words with the program `sort`.
/// #[derive(Default)]
/// struct Sorter {
///     words: Vec<String>,
///     child: Option<io::Child>,
///     done: Option<tokio::sync::oneshot::Sender<Vec<String>>>,
/// }
///
/// #[wigwag::actor(life)]
/// impl Sorter {
///     pub fn event(&mut self, event: ChildEvent) {
///         match event {
///             ChildEvent::Line(Pipe::Output, line) => {
///                 self.words.extend(line.text().map(str::to_owned));
///             }
///             ChildEvent::Exited(status) if status.success() => {
///                 if let Some(done) = self.done.take() {
///                     let _ = done.send(std::mem::take(&mut self.words));
///                 }
///             }
///             other => eprintln!("sort: {other:?}"),
///         }
///     }
/// }
///
/// impl Life for Sorter {
///     async fn started(&mut self, this: &This<Self>) -> Result<(), Reason> {
///         let launch = io::child(Command::new("sort"));
///         let child = launch.deliver(&this.reference(), SorterRef::event).map_err(Reason::failed)?;
///         child.stdin().write("pear\napple\nfig\n").await.map_err(Reason::failed)?;
///         child.stdin().close();
///         self.child = Some(child);
///         Ok(())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (done, words) = tokio::sync::oneshot::channel();
/// let _sorter = Sorter { done: Some(done), ..Sorter::default() }.spawn();
/// assert_eq!(words.await?, ["apple", "fig", "pear"]);
/// # Ok(()) }
/// ```
#[must_use = "nothing is started until it is delivered"]
#[derive(Debug)]
pub struct Launch {
    command: std::process::Command,
    limits: Limits,
}

/// Prepares a child process whose output lines become messages. The child gets pipes for all three
/// streams, whatever `command` says, and a process group of its own, which is killed with it.
///
/// See [`Launch`] for an example.
pub fn child(command: std::process::Command) -> Launch {
    Launch { command, limits: Limits::default() }
}

/// A child process that runs or has exited; see [`Launch`] for an example.
///
/// Dropping it closes the child's input, unless a clone of its [`stdin`](Child::stdin) is left, and
/// changes nothing else.
#[derive(Debug)]
pub struct Child {
    id: u32,
    stdin: Output,
    credit: Credit,
    kill: Arc<Notify>,
}

impl Child {
    /// The process id. After the child's exit the system may reuse it.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The child's standard input. [Close](Output::close) it to signal the end of the input.
    pub fn stdin(&self) -> &Output {
        &self.stdin
    }

    /// Allows that many more pieces; see [`Input::grant`](super::Input::grant).
    pub fn grant(&self, pieces: usize) {
        self.credit.grant(pieces);
    }

    /// Kills the child and all processes in its group. Its output so far is still delivered, and
    /// then its exit. No effect after the exit.
    pub fn kill(&self) {
        self.kill.notify_one();
    }
}

impl Launch {
    /// Sets limits other than the defaults. Both pipes share the limits for waiting pieces.
    pub fn limits(mut self, limits: Limits) -> Launch {
        self.limits = limits;
        self
    }

    /// Starts the child and delivers its events to an actor by `call`, one of the actor's methods.
    ///
    /// Until its exit the child counts as a reference to the actor.
    ///
    /// # Errors
    /// When the system does not start it, and when the actor lives in another process.
    ///
    /// # Shutdown
    /// The child is killed when the actor ends. It is not killed when this process is killed
    /// itself, but finds its pipes closed.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn deliver<I, R, F>(self, to: &impl AsRef<Ref<I>>, call: F) -> Result<Child, LaunchError>
    where
        I: Interface,
        R: 'static,
        F: for<'a> Fn(&'a I::Ref, ChildEvent) -> Call<'a, I, R> + Send + Sync + 'static,
    {
        let (to, actor) = ActorRecipient::new(to, call)?;
        let program = self.command.get_program().to_string_lossy().into_owned();
        let mut child = Command::from(self.command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| LaunchError::Refused { program, error })?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let stdin = stdin.expect("it was made with a pipe");
        let (id, process) = (child.id().unwrap_or_default(), ProcessGuard { child });
        let credit = Credit::new(&self.limits);
        let kill = Arc::new(Notify::new());
        let (stdin, writing) = writer(stdin, &self.limits, false);
        let task =
            ChildTask { process, limits: self.limits, credit: credit.clone(), kill: kill.clone() };
        let reader = crate::spawn(task.run(stdout, stderr, to));
        let writer = Some((tokio::spawn(writing), stdin.queue()));
        stop_with_actor(actor, OwnedTasks { reader: Some(reader), writer });
        Ok(Child { id, stdin, credit, kill })
    }
}

/// A process that is killed with its group on drop, unless it has exited.
struct ProcessGuard {
    child: tokio::process::Child,
}

impl ProcessGuard {
    fn kill(&self) {
        // No id after the exit was collected: it may belong to another process by then.
        let id = self.child.id().and_then(|id| i32::try_from(id).ok());
        if let Some(group) = id.and_then(Pid::from_raw) {
            // The only error is that no process is left.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for ProcessGuard {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The task of a child process.
struct ChildTask {
    process: ProcessGuard,
    limits: Limits,
    credit: Credit,
    kill: Arc<Notify>,
}

impl ChildTask {
    async fn run(
        mut self,
        stdout: Option<impl AsyncRead + Unpin + Send + 'static>,
        stderr: Option<impl AsyncRead + Unpin + Send + 'static>,
        to: impl Recipient<ChildEvent>,
    ) {
        let (exits, exited) = watch::channel(false);
        let (limits, credit) = (self.limits, self.credit.clone());
        let output_and_error = async {
            let output = read_pipe(stdout, Pipe::Output, &limits, &credit, exited.clone(), &to);
            let error = read_pipe(stderr, Pipe::Error, &limits, &credit, exited.clone(), &to);
            tokio::join!(output, error);
        };
        let exit = async {
            let status = self.exit().await;
            exits.send_replace(true);
            status
        };
        let ((), status) = tokio::join!(output_and_error, exit);
        let last = match status {
            Ok(status) => ChildEvent::Exited(status),
            Err(error) => ChildEvent::Lost(error.into()),
        };
        // An actor that has ended needs no last event.
        let _ = to.deliver(last).await;
    }

    async fn exit(&mut self) -> io::Result<ExitStatus> {
        loop {
            tokio::select! {
                status = self.process.child.wait() => return status,
                () = self.kill.notified() => self.process.kill(),
            }
        }
    }
}

async fn read_pipe(
    source: Option<impl AsyncRead + Unpin>,
    from: Pipe,
    limits: &Limits,
    credit: &Credit,
    exited: watch::Receiver<bool>,
    to: &impl Recipient<ChildEvent>,
) {
    let Some(source) = source else { return };
    let (limits, credit) = (*limits, credit.clone());
    let reader = Reader { source, limits, credit, exited: Some(exited) };
    let event = move |event| match event {
        Event::Got(line) => ChildEvent::Line(from, line),
        Event::TooLong { .. } | Event::End(_) => ChildEvent::TooLong(from),
    };
    // The end of a pipe is reported by the exit.
    let _ = reader.run(to, event).await;
}
