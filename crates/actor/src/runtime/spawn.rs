//! Starting an actor: creates its mailbox and runs its worker.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::oneshot;

use crate::lifecycle::handle::AnyActor;
use crate::mailbox::Mailbox;
use crate::options::{ActorOptions, Placement, RunConfig};
use crate::reason::Reason;
use crate::reference::Ref;
use crate::reference::local_ref::LocalRef;
use crate::runtime::actor::Actor;
use crate::runtime::actor_scope::ActorScope;
use crate::runtime::worker::{OnStarted, Worker};
use crate::scheduler::{ActorTask, DirectCall, Scheduler};

/// Starts `actor`; messages may be sent to it before it has begun.
#[track_caller]
pub(crate) fn spawn<A: Actor>(actor: A, options: &ActorOptions) -> Ref<A> {
    let (reference, mailbox) = open::<A>(options);
    let task = ActorFuture::new(actor, mailbox.clone(), None, options.run_config());
    let scheduler = match options.get_placement() {
        Placement::Current => Scheduler::current(),
        Placement::On(runtime) => Scheduler::of_runtime(runtime),
        Placement::OwnThread => {
            run(options, mailbox, task);
            return reference;
        }
    };
    if task.worker.is_idle() {
        // Nothing has been sent yet. Without a runtime the mailbox is closed already.
        if let Some(waker) = scheduler.add_idle(ActorScope::new(mailbox.clone(), task)) {
            mailbox.sleeps(waker);
        }
    } else {
        scheduler.spawn(ActorScope::new(mailbox, task));
    }
    reference
}

/// Starts `actor` and waits for its `started` hook.
pub(crate) async fn start<A: Actor>(actor: A, options: &ActorOptions) -> Result<Ref<A>, Reason> {
    let (reference, mailbox) = open::<A>(options);
    let (begins, beginning) = oneshot::channel();
    let exit_guard = mailbox.clone();
    let begun: OnStarted = Box::new(move |outcome| {
        // The actor's names are free before the caller learns that the start has failed.
        if let Err(reason) = &outcome {
            exit_guard.end(reason.clone());
        }
        // The caller may have stopped waiting.
        let _ = begins.send(outcome);
    });
    let task = ActorFuture::new(actor, mailbox.clone(), Some(begun), options.run_config());
    run(options, mailbox, task);
    match beginning.await {
        Ok(outcome) => outcome.map(|()| reference),
        Err(_) => Err(Reason::RuntimeGone),
    }
}

/// Creates a mailbox and a reference to its actor.
pub(crate) fn open<A: Actor>(options: &ActorOptions) -> (Ref<A>, Arc<Mailbox<A::Message>>) {
    let mailbox = Mailbox::new(A::SCHEMA, options.get_mailbox_calls(), options.get_when_full());
    let mailbox = Arc::new(mailbox.bounding_remote_calls(options.bounds_remote_calls()));
    (Ref::local(LocalRef::new(mailbox.clone())), mailbox)
}

/// Runs `task`, the task of the actor with this mailbox, at the placement in the options.
pub(crate) fn run<M, F>(options: &ActorOptions, mailbox: Arc<Mailbox<M>>, task: F)
where
    M: Send + 'static,
    F: ActorTask,
{
    let task = ActorScope::new(mailbox.clone(), task);
    match options.get_placement() {
        Placement::Current => Scheduler::current().spawn(task),
        Placement::On(runtime) => Scheduler::of_runtime(runtime).spawn(task),
        Placement::OwnThread => {
            mailbox.has_own_thread();
            let thread = std::thread::Builder::new().name(mailbox.target().to_string());
            let body = || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                // Without a runtime the task is dropped, which ends the actor.
                if let Ok(runtime) = runtime {
                    runtime.block_on(task);
                }
            };
            if let Err(why) = thread.spawn(body) {
                tracing::error!(%why, "no thread for an actor");
            }
        }
    }
}

/// The mailbox of a running actor. Dropping it ends the actor for all observers, whether the actor
/// ended by itself or with its runtime.
pub(crate) struct ExitGuard<M: Send + 'static>(pub(crate) Arc<Mailbox<M>>);

impl<M: Send + 'static> Drop for ExitGuard<M> {
    fn drop(&mut self) {
        self.0.clone().end(Reason::RuntimeGone);
    }
}

/// The task of an actor that is not supervised: one worker, run once.
struct ActorFuture<A: Actor> {
    worker: Worker<A>,
    exit_guard: ExitGuard<A::Message>,
}

impl<A: Actor> ActorFuture<A> {
    fn new(
        actor: A,
        mailbox: Arc<Mailbox<A::Message>>,
        begun: Option<OnStarted>,
        run_config: RunConfig,
    ) -> ActorFuture<A> {
        let worker = Worker::new(actor, mailbox.clone(), begun, run_config);
        ActorFuture { worker, exit_guard: ExitGuard(mailbox) }
    }
}

impl<A: Actor> Future for ActorFuture<A> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.worker).poll(context).map(|reason| self.exit_guard.0.clone().end(reason))
    }
}

impl<A: Actor> ActorTask for ActorFuture<A> {
    fn poll_call(&mut self, context: &mut Context<'_>, call: &mut DirectCall<'_>) -> Poll<()> {
        self.worker.poll_call(context, call).map(|reason| self.exit_guard.0.clone().end(reason))
    }
}
