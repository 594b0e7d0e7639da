//! Starting an actor: its mailbox first, then its task.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::interface::Actor;
use crate::mailbox::Mailbox;
use crate::options::{ActorOptions, Runs};
use crate::reason::Reason;
use crate::reference::{Local, Ref};
use crate::turn;
use crate::worker::{Seat, Worker};

/// Starts `actor`; it may send before it has begun.
pub(crate) fn spawn<A: Actor>(actor: A, options: &ActorOptions) -> Ref<A> {
    let (reference, seat) = open::<A>(options);
    run(options, seat, async move |seat| live(actor, seat, None).await);
    reference
}

/// Starts `actor` and waits for its `started` hook.
pub(crate) async fn start<A: Actor>(actor: A, options: &ActorOptions) -> Result<Ref<A>, Reason> {
    let (reference, seat) = open::<A>(options);
    let (begun, beginning) = oneshot::channel();
    run(options, seat, async move |seat| live(actor, seat, Some(begun)).await);
    match beginning.await {
        Ok(outcome) => outcome.map(|()| reference),
        Err(_) => Err(Reason::RuntimeGone),
    }
}

/// A mailbox, from both sides.
pub(crate) fn open<A: Actor>(options: &ActorOptions) -> (Ref<A>, Seat<A::Message>) {
    let mailbox = Mailbox::new(A::SCHEMA, options.mailbox_calls.max(1), options.when_full);
    let mailbox = Arc::new(mailbox);
    (Ref::local(Arc::new(Local::new(mailbox.clone()))), Seat::new(mailbox))
}

/// Runs what `life` makes of the seat where the options say.
pub(crate) fn run<M, F, L>(options: &ActorOptions, seat: Seat<M>, life: L)
where
    M: Send + 'static,
    F: Future<Output = ()>,
    L: FnOnce(Seat<M>) -> F + Send + 'static,
    F: Send + 'static,
{
    let own = seat.mailbox().clone();
    match &options.runs {
        Runs::Here => drop(tokio::spawn(turn::of_actor(own, life(seat)))),
        Runs::On(runtime) => drop(runtime.spawn(turn::of_actor(own, life(seat)))),
        Runs::OwnThread => {
            let name = seat.mailbox().target().to_string();
            let thread = std::thread::Builder::new().name(name);
            let body =
                move || match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                    Ok(runtime) => runtime.block_on(turn::of_actor(own, life(seat))),
                    Err(why) => seat.end(Reason::failed(why)),
                };
            // Without a thread the seat is dropped, which says so to everybody.
            if let Err(why) = thread.spawn(body) {
                tracing::error!(%why, "no thread for an actor");
            }
        }
    }
}

async fn live<A: Actor>(
    actor: A,
    seat: Seat<A::Message>,
    begun: Option<oneshot::Sender<Result<(), Reason>>>,
) {
    let mut worker = Worker::new(actor, &seat);
    let started = worker.start().await;
    if let Err(reason) = &started {
        seat.end(reason.clone());
    }
    let goes_on = started.is_ok();
    if let Some(begun) = begun {
        // Whoever waited may have gone.
        let _ = begun.send(started);
    }
    if goes_on {
        let reason = worker.run().await;
        seat.end(reason);
    }
}
