//! The task of a child, which runs its lives one after the other.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::sync::oneshot;

use super::child::{SupervisorLink, Verdict};
use super::message::ChildEvent;
use crate::lifecycle::handle::AnyActor;
use crate::options::RunConfig;
use crate::reason::Reason;
use crate::runtime::actor::Actor;
use crate::runtime::spawn::ExitGuard;
use crate::runtime::worker::{OnStarted, Worker};
use crate::scheduler::{ActorTask, DirectCall};

/// Sends the result of a start to the task that waits for it.
type StartSender = oneshot::Sender<Result<(), Reason>>;

/// A child from its first start to its final end.
pub(super) struct ChildTask<A: Actor, F> {
    make: Arc<F>,
    exit_guard: ExitGuard<A::Message>,
    supervisor: SupervisorLink,
    number: u64,
    run_config: RunConfig,
    /// Set until the first start.
    start_sender: Option<StartSender>,
    is_first: bool,
    at: TaskPhase<A>,
}

/// The phase of a child's task.
enum TaskPhase<A: Actor> {
    /// Before a life.
    Start,
    /// In a life; the receiver tells whether its start succeeded.
    Life(Worker<A>, oneshot::Receiver<bool>),
    /// After a life: the supervisor's verdict is pending.
    Judged(Pin<Box<dyn Future<Output = Verdict> + Send>>, Reason),
    /// Before a further life: what belonged to the lives before is going.
    Alone,
    Over,
}

impl<A: Actor, F: Fn() -> A + Send + Sync + 'static> ChildTask<A, F> {
    pub(super) fn new(
        make: Arc<F>,
        exit_guard: ExitGuard<A::Message>,
        supervisor: SupervisorLink,
        number: u64,
        start_sender: StartSender,
        run_config: RunConfig,
    ) -> ChildTask<A, F> {
        let start_sender = Some(start_sender);
        ChildTask {
            make,
            exit_guard,
            supervisor,
            number,
            run_config,
            start_sender,
            is_first: true,
            at: TaskPhase::Start,
        }
    }

    /// Begins a life; false when the factory panicked.
    fn start(&mut self) {
        let first = self.start_sender.take();
        match catch_unwind(AssertUnwindSafe(&*self.make)) {
            Err(payload) => {
                let reason = Reason::panicked(payload);
                if let Some(start_sender) = first {
                    let _ = start_sender.send(Err(reason.clone()));
                }
                self.ended(reason, true);
            }
            Ok(actor) => {
                let (starts, started) = oneshot::channel();
                let begun = self.begun(first, starts);
                let worker =
                    Worker::new(actor, self.exit_guard.0.clone(), Some(begun), self.run_config);
                self.at = TaskPhase::Life(worker, started);
            }
        }
    }

    /// Creates the hook that reports the outcome of a start.
    fn begun(&self, first: Option<StartSender>, starts: oneshot::Sender<bool>) -> OnStarted {
        let (mailbox, above, child) =
            (self.exit_guard.0.clone(), self.supervisor.clone(), self.number);
        Box::new(move |outcome| {
            let _ = starts.send(outcome.is_ok());
            match first {
                Some(start_sender) => {
                    // A caller that is told of the failed start must find the names free.
                    if let Err(reason) = &outcome {
                        mailbox.end(reason.clone());
                    }
                    let _ = start_sender.send(outcome);
                }
                None if outcome.is_ok() => above.tell(ChildEvent::Started { child }),
                // Reported together with the end.
                None => {}
            }
        })
    }

    /// A life has ended, or could not begin.
    fn ended(&mut self, reason: Reason, in_start: bool) {
        let is_last = std::mem::take(&mut self.is_first) && in_start;
        if is_last || *self.supervisor.ending.borrow() || self.exit_guard.0.control().has_ended() {
            return self.end(reason);
        }
        if !reason.is_wanted() {
            self.exit_guard.0.control().failed(&reason);
        }
        // The next life sets its own, and could not cancel these: their `Timer`s went with the
        // state. A message whose destructor panics must not end the child.
        let cancels = || self.exit_guard.0.cancel_timers();
        let _ = catch_unwind(AssertUnwindSafe(cancels));
        self.exit_guard.0.control().life_ended(&reason);
        let verdict = self.supervisor.clone().verdict(self.number, reason.clone(), in_start);
        self.at = TaskPhase::Judged(Box::pin(verdict), reason);
    }

    fn end(&mut self, reason: Reason) {
        self.at = TaskPhase::Over;
        self.exit_guard.0.clone().end(reason);
    }
}

impl<A: Actor, F: Fn() -> A + Send + Sync + 'static> ActorTask for ChildTask<A, F> {
    fn poll_call(&mut self, context: &mut Context<'_>, call: &mut DirectCall<'_>) -> Poll<()> {
        loop {
            match &mut self.at {
                TaskPhase::Start => self.start(),
                TaskPhase::Life(worker, started) => {
                    let reason = ready!(worker.poll_call(context, call));
                    let has_started = started.try_recv().unwrap_or(false);
                    self.at = TaskPhase::Start;
                    self.ended(reason, !has_started);
                }
                TaskPhase::Judged(verdict, reason) => {
                    let verdict = ready!(verdict.as_mut().poll(context));
                    let reason = reason.clone();
                    match verdict {
                        Verdict::Again => self.at = TaskPhase::Alone,
                        Verdict::Over => self.end(reason),
                    }
                }
                TaskPhase::Alone => {
                    let control = self.exit_guard.0.control();
                    ready!(control.poll_alone(context));
                    if control.has_ended() {
                        self.at = TaskPhase::Over;
                        continue;
                    }
                    control.restarted();
                    self.at = TaskPhase::Start;
                }
                TaskPhase::Over => return Poll::Ready(()),
            }
        }
    }
}

impl<A: Actor, F: Fn() -> A + Send + Sync + 'static> Future for ChildTask<A, F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.poll_call(context, &mut DirectCall::None)
    }
}

impl<A: Actor, F> Unpin for ChildTask<A, F> {}
