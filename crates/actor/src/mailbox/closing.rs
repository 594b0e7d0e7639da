//! Sealing and closing of a mailbox: which mail is refused, which is still handled, and which
//! askers are notified.

use std::task::Waker;

use wigwag_wire::call::Calls;

use super::Mailbox;
use crate::error::CallErrorKind;
use crate::letters::{Loss, Origin};
use crate::mailbox::backlog::chunk::Chunk;
use crate::mailbox::ready_queues::{Provenance, Source};
use crate::mailbox::sending::mail_batch::MailDrain;
use crate::reason::Reason;
use crate::reply::Reply;

impl<M> Mailbox<M> {
    /// Stops accepting mail; mail that waits is still handled. Timers that are not due are dropped.
    pub(crate) fn seal(&self)
    where
        M: Send + 'static,
    {
        let mut state = self.lock();
        state.sealed = true;
        let timers = state.ready.timers();
        drop(state);
        if let Some(timers) = timers {
            timers.close();
        }
        self.seal_queues();
    }

    fn seal_queues(&self) {
        let mut state = self.lock();
        let actor = state.collect();
        let senders = state.local.seal();
        let (session_queues, urgent) =
            (state.ready.session_queues(), state.ready.urgent().cloned());
        drop(state);
        actor.into_iter().for_each(Waker::wake);
        senders.into_iter().for_each(Waker::wake);
        for session_queue in &session_queues {
            session_queue.queue.seal();
        }
        if let Some(urgent) = urgent {
            urgent.seal();
        }
    }

    pub(crate) fn is_sealed(&self) -> bool {
        self.lock().sealed
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().local.is_closed()
    }

    /// Stops accepting mail because the actor ends; [`close`](Self::close) refuses the mail that
    /// waits.
    pub(super) fn shut(&self) {
        self.lock().closed = true;
        self.seal_queues();
    }

    /// Shuts the mailbox after a call has ended its actor and before the asker is notified, so that
    /// the asker finds it shut. A mailbox that another life of the actor may continue stays open.
    pub(crate) fn failed(&self) {
        if !self.lock().succeeded {
            self.shut();
        }
    }

    /// Notes that the actor is supervised: after a failure another life of it may continue with the
    /// mailbox, so [`failed`](Self::failed) leaves it open.
    pub(crate) fn set_succeeded(&self) {
        self.lock().succeeded = true;
    }

    /// Closes all queues after the actor's end, refuses the calls that wait, notifies the sessions,
    /// and wakes the senders that wait for room. The caller has shut the mailbox before and
    /// notifies the watchers afterwards.
    pub(super) fn close(&self, reason: &Reason)
    where
        M: Send + 'static,
    {
        let timers = self.lock().ready.timers();
        // Before the queues are closed: closed timers list no queue any more.
        if let Some(timers) = timers {
            timers.close();
        }
        let mut state = self.lock();
        let session_queues = state.ready.session_queues();
        // After the session queues were collected: when a session has dropped its queue with mail
        // in it, the list holds the only strong reference to the queue.
        let ready = state.ready.take_all();
        drop(state);
        if let Some(urgent) = ready.urgent() {
            let provenance = Provenance { owner: None, origin: Some(self.origin()) };
            for chunk in urgent.close() {
                refuse(chunk, provenance);
            }
        }
        ready.for_each_due(|queue| drop(queue.close()));
        drop(ready);
        for session_queue in session_queues {
            for chunk in session_queue.queue.close() {
                refuse(
                    chunk,
                    Provenance { owner: Some(&session_queue.owner), origin: Some(self.origin()) },
                );
            }
            session_queue.owner.stopped(reason);
        }
        let (left, senders) = self.lock().local.close();
        senders.into_iter().for_each(Waker::wake);
        for chunk in left {
            refuse(chunk, self.provenance(&Source::Local));
        }
    }
}

/// Refuses the calls of a chunk: asks fail with `ActorStopped`, tells are reported as lost.
pub(crate) fn refuse<M>(chunk: Chunk<M>, provenance: Provenance<'_, M>) {
    match chunk {
        Chunk::Mails(mut mails) => refuse_askers(&mut mails.drain(), provenance.origin),
        Chunk::Frames(frames) => refuse_calls(frames.left(), provenance),
    }
}

pub(crate) fn refuse_askers<M>(mails: &mut MailDrain<'_, M>, origin: Option<Origin<M>>) {
    if mails.left() == 0 {
        return;
    }
    let askers = mails.split(|message| {
        if let Some(origin) = &origin {
            origin.lost(Loss::Ended, message);
        }
    });
    for asker in askers {
        asker.fail(CallErrorKind::ActorStopped, None);
    }
}

pub(crate) fn refuse_calls<M>(calls: Calls<'_>, provenance: Provenance<'_, M>) {
    for call in calls {
        if let Some(owner) = provenance.owner {
            owner.discarded(call.arguments, CallErrorKind::ActorStopped);
        }
        match (call.asker, &provenance.origin) {
            (None, Some(origin)) => origin.lost_method(Loss::Ended, call.method),
            (asker, _) => {
                let mut reply = Reply::new(asker.into(), provenance.owner);
                reply.fail(CallErrorKind::ActorStopped, "");
            }
        }
    }
}
