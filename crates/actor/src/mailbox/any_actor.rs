//! The mailbox as an actor without its type.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use super::Mailbox;
use crate::lifecycle::control::Control;
use crate::lifecycle::handle::AnyActor;
use crate::mailbox::backlog::queue::Queue;
use crate::mailbox::backlog::since::Since;
use crate::mailbox::taking::stash::Stash;
use crate::reason::Reason;
use crate::sync::Ordering;

impl<M: Send + 'static> AnyActor for Mailbox<M> {
    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn target(&self) -> &Arc<str> {
        &self.actor_type.target
    }

    fn control(&self) -> &Control {
        &self.control
    }

    fn wake(&self) {
        self.wake_actor();
    }

    fn waiting(&self) -> usize {
        let state = self.lock();
        let session_queues = state.ready.session_queues();
        let mut waiting = state.local.waiting();
        state.ready.for_each_due(|queue| waiting += usize::from(queue.waiting() > 0));
        let urgent = state.ready.urgent().cloned();
        drop(state);
        for session_queue in &session_queues {
            waiting += session_queue.queue.waiting();
        }
        waiting + urgent.map_or(0, |urgent| urgent.waiting())
    }

    fn waiting_for(&self) -> Option<Duration> {
        let state = self.lock();
        let (session_queues, urgent) =
            (state.ready.session_queues(), state.ready.urgent().cloned());
        let mut longest = state.local.since().map(Since::elapsed);
        let mut longer =
            |queue: &Queue<M>| longest = longest.max(queue.since().map(Since::elapsed));
        state.ready.for_each_due(&mut longer);
        drop(state);
        for session_queue in &session_queues {
            longer(&session_queue.queue);
        }
        if let Some(urgent) = &urgent {
            longer(urgent);
        }
        longest
    }

    fn is_idle(&self) -> bool {
        let state = self.lock();
        let handles = self.handles.load(Ordering::Relaxed);
        state.actor.is_some() && !state.ready.has_mail() && !handles
    }

    fn stashed(&self) -> usize {
        self.lock().ready.stash().map_or(0, Stash::len)
    }

    fn dropped(&self) -> u64 {
        let state = self.lock();
        let (local, urgent) = (state.local.dropped(), state.ready.urgent().cloned());
        drop(state);
        local + urgent.map_or(0, |queue| queue.dropped())
    }

    fn end(self: Arc<Self>, reason: Reason) {
        let reason = reason.without_chain();
        // Before the end becomes visible: a caller that sees the end must find the mailbox shut.
        self.shut();
        let Some(watchers) = self.control.end(&reason) else { return };
        self.close(&reason);
        self.wake();
        let this: Arc<dyn AnyActor> = self;
        watchers.announce(&this, &reason);
    }
}
