//! A child process: its output as lines, its exit as the last message.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncRead;
use tokio::process::Command;
use tokio::sync::{Notify, watch};
use wigwag_actor::{Call, CallError, Interface, Ref};

use super::event::{End, Event, Line, not_serializable};
use super::limits::Limits;
use super::task::credit::Credit;
use super::task::owned::{OwnedTasks, stop_with_actor};
use super::task::reader::Reader;
use super::task::recipient::{ActorRecipient, Recipient};
use super::task::writer::{Output, writer};

/// An event of a child process.
#[derive(Debug)]
pub enum ChildEvent {
    /// A line of its output. Lines of both pipes are in order each, but not with each other.
    Line(Pipe, Line),
    /// A line was longer than it may be, and is skipped.
    TooLong(Pipe),
    /// It has exited, and all of its output was delivered: the last message.
    Exited(ExitStatus),
    /// The system cannot say how it ended: the last message.
    Lost(End),
}

/// Where a child has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pipe {
    /// Its standard output.
    Output,
    /// Its standard error.
    Error,
}

not_serializable!(() ChildEvent);

/// A child could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The system refused.
    #[error("{program} was not started: {error}\n mend: look at the path and its rights")]
    Refused {
        /// The command that was to be run.
        program: String,
        /// The error of the operating system.
        error: io::Error,
    },
    /// It has no owner.
    #[error("{0}")]
    Owner(#[from] CallError),
}

/// A child that was not started yet.
#[must_use = "nothing is started until it is delivered"]
#[derive(Debug)]
pub struct Launch {
    command: std::process::Command,
    limits: Limits,
}

/// A process whose output is to be messages. It gets pipes for all three streams, whatever the
/// command says, and a process group of its own, with which it is killed.
pub fn child(command: std::process::Command) -> Launch {
    Launch { command, limits: Limits::default() }
}

/// A running child, or one that has exited. Dropping this changes nothing but that its input ends,
/// unless somebody else holds its [`stdin`](Child::stdin).
#[derive(Debug)]
pub struct Child {
    id: u32,
    stdin: Output,
    credit: Credit,
    kill: Arc<Notify>,
}

impl Child {
    /// The number of the process. After its exit the system may give it to another one.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Returns the child's standard input. [Close](Output::close) it to signal the end of input.
    pub fn stdin(&self) -> &Output {
        &self.stdin
    }

    /// As [`Input::grant`](super::Input::grant).
    pub fn grant(&self, pieces: usize) {
        self.credit.grant(pieces);
    }

    /// Kills the child and the processes in its group. Output that was written before is still
    /// delivered, and then the exit. Does nothing if the child has exited.
    pub fn kill(&self) {
        self.kill.notify_one();
    }
}

impl Launch {
    /// Other limits than the usual ones; what waits is counted for both pipes together.
    pub fn limits(mut self, limits: Limits) -> Launch {
        self.limits = limits;
        self
    }

    /// Starts the child and gives it to an actor: what it says is told to the actor by `call`, one of
    /// its methods. Until its exit it counts as a reference to the actor; when the actor ends, it is
    /// killed. It is not killed when this process is killed itself, but finds its pipes closed.
    ///
    /// # Errors
    /// When the system does not start it, and when the actor lives in another process.
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
        let (stdin, writing) = writer(stdin, &self.limits);
        let task =
            ChildTask { process, limits: self.limits, credit: credit.clone(), kill: kill.clone() };
        let reader = crate::spawn(task.run(stdout, stderr, to));
        let writer = Some((tokio::spawn(writing), stdin.queue()));
        stop_with_actor(actor, OwnedTasks { reader: Some(reader), writer });
        Ok(Child { id, stdin, credit, kill })
    }
}

/// A process that is killed with its group, unless it has exited before.
struct ProcessGuard {
    child: tokio::process::Child,
}

impl ProcessGuard {
    fn kill(&self) {
        // Nothing, when its exit was taken: the number may be another's then.
        let id = self.child.id().and_then(|id| i32::try_from(id).ok());
        if let Some(group) = id.and_then(Pid::from_raw) {
            // The only error is that nobody is left.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for ProcessGuard {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The task of a child.
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
        // An actor that has ended needs no end.
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
    // Its end is the exit's to say.
    let _ = reader.run(to, event).await;
}
