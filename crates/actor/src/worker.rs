//! The task that delivers an actor's mail.
//!
//! It takes a chunk, handles its calls one after the other, and takes the next. After
//! [`TURN_RUNS_MAX`] chunks it lets the other tasks of its thread have their turn. A panic ends the
//! actor: the asker hears `Panicked`, everybody else `ActorStopped`.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use crate::error::CallErrorKind;
use crate::interface::{Actor, Interface};
use crate::lane::LaneOwner;
use crate::limits::{ActorOptions, TURN_RUNS_MAX};
use crate::mailbox::Mailbox;
use crate::queue::{Chunk, Queue};
use crate::reference::{Local, Ref};
use crate::reply::{Gathered, Reply};
use crate::run::{Arrived, Run, Source};
use crate::turn;

/// Starts `actor` on the current runtime.
pub(crate) fn spawn<A: Actor>(actor: A, options: ActorOptions) -> Ref<A> {
    let mailbox = Arc::new(Mailbox::new(options.mailbox_calls.max(1)));
    let closing = CloseOnDrop::<A>(mailbox.clone());
    tokio::spawn(turn::run(deliver(actor, closing), true));
    Ref::local(Arc::new(Local { mailbox, target: A::SCHEMA.name.into() }))
}

/// Closes the mailbox however the task ends: by itself, by a panic, or with its runtime.
struct CloseOnDrop<I: Interface>(Arc<Mailbox<I::Message>>);

impl<I: Interface> Drop for CloseOnDrop<I> {
    fn drop(&mut self) {
        self.0.close();
    }
}

async fn deliver<A: Actor>(mut actor: A, mailbox: CloseOnDrop<A>) {
    // Runs since the actor last slept: when it does, the others have their turn.
    let mut runs = 0;
    let mut gathered = Gathered::default();
    loop {
        let next = poll_fn(|context| {
            let chunk = mailbox.0.poll_chunk(context);
            if chunk.is_pending() {
                runs = 0;
                gathered.rest();
            }
            chunk
        });
        let Some((chunk, queue)) = next.await else {
            return;
        };
        if !handle_chunk(&mut actor, chunk, &queue, &mut gathered).await {
            tracing::error!(actor = A::SCHEMA.name, "a handler panicked, the actor has stopped");
            return;
        }
        runs += 1;
        if runs == TURN_RUNS_MAX {
            runs = 0;
            yield_now().await;
        }
    }
}

/// False when a handler has panicked.
async fn handle_chunk<A: Actor>(
    actor: &mut A,
    mut chunk: Chunk<A::Message>,
    queue: &Queue<A::Message>,
    gathered: &mut Gathered,
) -> bool {
    let owner = queue.owner.as_ref();
    let sound = match (&mut chunk, owner) {
        (Chunk::Frames(frames), Some(owner)) => {
            owner.freed(frames.units);
            let run = Run::new(Arrived::new(frames, owner), frames.calls, Some(owner));
            handle_run(actor, run, Some(owner), gathered).await
        }
        (Chunk::Frames(_), None) => true,
        (Chunk::Mails(mails), owner) => {
            let calls = mails.len();
            handle_run(actor, Run::new(mails.drain(), calls, owner), owner, gathered).await
        }
    };
    if sound {
        queue.give_back(chunk);
    }
    sound
}

async fn handle_run<A: Actor>(
    actor: &mut A,
    mut run: Run<'_, A, impl Source<A>>,
    owner: Option<&Arc<dyn LaneOwner>>,
    gathered: &mut Gathered,
) -> bool {
    let mut reply = Reply::of_run(owner, std::mem::take(gathered));
    loop {
        let ended = catch_unwind(AssertUnwindSafe(|| run.source.handle(actor, &mut reply)));
        // Here, because an `async` handler may end the turn.
        reply.hand_over();
        let sound = match ended {
            Ok(None) => break,
            Ok(Some(message)) => unwound(actor.handle_later(message, reply.take_owned())).await,
            Err(_) => {
                reply.fail(CallErrorKind::Panicked, "");
                false
            }
        };
        if !sound {
            return false;
        }
    }
    run.finish();
    *gathered = reply.into_gathered();
    true
}

/// Runs a future to its end; false when it panicked.
async fn unwound(future: impl Future<Output = ()>) -> bool {
    let mut future = pin!(future);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(poll) => poll.map(|()| true),
        Err(_) => Poll::Ready(false),
    })
    .await
}

async fn yield_now() {
    let mut yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}
