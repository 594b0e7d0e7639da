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
use std::vec::Drain;

use crate::error::CallErrorKind;
use crate::interface::{Actor, Handled, Interface};
use crate::lane::LaneOwner;
use crate::limits::{ActorOptions, TURN_RUNS_MAX};
use crate::mailbox::{Mailbox, refuse};
use crate::queue::{Chunk, Mail, Queue};
use crate::reference::{Local, Ref};
use crate::reply::{Reply, ReplySlot};
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
    let mut runs = 0;
    while let Some((chunk, queue)) = poll_fn(|context| mailbox.0.poll_chunk(context)).await {
        if !handle_chunk(&mut actor, chunk, &queue).await {
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
) -> bool {
    let owner = queue.owner.as_ref();
    if let Some(owner) = owner {
        owner.freed(chunk.units);
    }
    let mut run = Run::new(&mut chunk, owner);
    let mut reply = Reply::new(ReplySlot::Nobody, owner);
    loop {
        let ended = catch_unwind(AssertUnwindSafe(|| {
            for mail in run.mails.by_ref() {
                reply.renew(mail.reply);
                if let Handled::Later(message) = actor.handle(mail.message, &mut reply) {
                    return Some(message);
                }
                if reply.is_wanted() {
                    reply.fail(CallErrorKind::ReplyDropped, "");
                }
            }
            None
        }));
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
    run.unfinished = 0;
    drop(run);
    queue.give_back(chunk);
    true
}

/// The calls of one chunk while they are handled. However that ends, by a panic or because the
/// runtime goes while a handler waits, those who wait for an answer hear of it.
struct Run<'a, M> {
    mails: Drain<'a, Mail<M>>,
    calls: usize,
    /// The call that was taken out of `mails` last, until its handler has ended.
    unfinished: usize,
    owner: Option<&'a Arc<dyn LaneOwner>>,
}

impl<'a, M> Run<'a, M> {
    fn new(chunk: &'a mut Chunk<M>, owner: Option<&'a Arc<dyn LaneOwner>>) -> Run<'a, M> {
        Run { calls: chunk.mails.len(), mails: chunk.mails.drain(..), unfinished: 1, owner }
    }
}

impl<M> Drop for Run<'_, M> {
    fn drop(&mut self) {
        if let Some(owner) = self.owner {
            let begun = self.calls - self.mails.len();
            owner.handled(begun.saturating_sub(self.unfinished) as u64);
        }
        refuse(self.mails.by_ref(), self.owner);
    }
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
