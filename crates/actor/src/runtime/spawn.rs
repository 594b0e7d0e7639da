//! Starting an actor: its mailbox first, then its life.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::oneshot;

use crate::lifecycle::handle::Living;
use crate::mailbox::Mailbox;
use crate::options::{ActorOptions, Manner, Runs};
use crate::reason::Reason;
use crate::reference::{Local, Ref};
use crate::runtime::actor::Actor;
use crate::runtime::of_actor::OfActor;
use crate::runtime::worker::{Begun, Worker};
use crate::scheduler::{AtHand, Crew, Live};

/// Starts `actor`; it may be sent to before it has begun.
pub(crate) fn spawn<A: Actor>(actor: A, options: &ActorOptions) -> Ref<A> {
    let (reference, mailbox) = open::<A>(options);
    let life = Life::new(actor, mailbox.clone(), None, options.manner());
    let crew = match &options.runs {
        Runs::Here => Crew::here(),
        Runs::On(runtime) => Crew::of(runtime),
        Runs::OwnThread => {
            run(options, mailbox, life);
            return reference;
        }
    };
    if life.worker.is_idle() {
        // Nobody has sent anything yet. Without a runtime the mailbox is closed already.
        if let Some(waker) = crew.keep(OfActor::new(mailbox.clone(), life)) {
            mailbox.sleeps(waker);
        }
    } else {
        crew.run(OfActor::new(mailbox, life));
    }
    reference
}

/// Starts `actor` and waits for its `started` hook.
pub(crate) async fn start<A: Actor>(actor: A, options: &ActorOptions) -> Result<Ref<A>, Reason> {
    let (reference, mailbox) = open::<A>(options);
    let (begins, beginning) = oneshot::channel();
    let seat = mailbox.clone();
    let begun: Begun = Box::new(move |outcome| {
        // Whoever hears that a start has failed finds the actor's names free.
        if let Err(reason) = &outcome {
            seat.end(reason.clone());
        }
        // Whoever waited may have gone.
        let _ = begins.send(outcome);
    });
    let life = Life::new(actor, mailbox.clone(), Some(begun), options.manner());
    run(options, mailbox, life);
    match beginning.await {
        Ok(outcome) => outcome.map(|()| reference),
        Err(_) => Err(Reason::RuntimeGone),
    }
}

/// A mailbox, from both sides.
pub(crate) fn open<A: Actor>(options: &ActorOptions) -> (Ref<A>, Arc<Mailbox<A::Message>>) {
    let mailbox = Mailbox::new(A::SCHEMA, options.mailbox_calls.max(1), options.when_full);
    let mailbox = Arc::new(mailbox);
    (Ref::local(Local::new(mailbox.clone())), mailbox)
}

/// Runs `life`, that of the actor with this mailbox, where the options say.
pub(crate) fn run<M, F>(options: &ActorOptions, mailbox: Arc<Mailbox<M>>, life: F)
where
    M: Send + 'static,
    F: Live,
{
    let life = OfActor::new(mailbox.clone(), life);
    match &options.runs {
        Runs::Here => Crew::here().run(life),
        Runs::On(runtime) => Crew::of(runtime).run(life),
        Runs::OwnThread => {
            mailbox.has_own_thread();
            let thread = std::thread::Builder::new().name(mailbox.target().to_string());
            let body = || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                // Without one the life is dropped, which says so to everybody.
                if let Ok(runtime) = runtime {
                    runtime.block_on(life);
                }
            };
            if let Err(why) = thread.spawn(body) {
                tracing::error!(%why, "no thread for an actor");
            }
        }
    }
}

/// The mailbox of an actor that runs. However that ends, by itself or with its runtime,
/// everybody hears of it.
pub(crate) struct Seat<M: Send + 'static>(pub(crate) Arc<Mailbox<M>>);

impl<M: Send + 'static> Drop for Seat<M> {
    fn drop(&mut self) {
        self.0.clone().end(Reason::RuntimeGone);
    }
}

/// An actor that has one life.
struct Life<A: Actor> {
    worker: Worker<A>,
    seat: Seat<A::Message>,
}

impl<A: Actor> Life<A> {
    fn new(
        actor: A,
        mailbox: Arc<Mailbox<A::Message>>,
        begun: Option<Begun>,
        manner: Manner,
    ) -> Life<A> {
        let worker = Worker::new(actor, mailbox.clone(), begun, manner);
        Life { worker, seat: Seat(mailbox) }
    }
}

impl<A: Actor> Future for Life<A> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.worker).poll(context).map(|reason| self.seat.0.clone().end(reason))
    }
}

impl<A: Actor> Live for Life<A> {
    fn poll_call(&mut self, context: &mut Context<'_>, call: &mut AtHand<'_>) -> Poll<()> {
        self.worker.poll_call(context, call).map(|reason| self.seat.0.clone().end(reason))
    }
}
