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
        let timers = state.ready.due().filter(|queue| queue.waiting() > 0).count();
        let urgent = state.ready.urgent().cloned();
        let local = state.local.waiting();
        drop(state);
        let session_queues = session_queues.iter().map(|session_queue| &session_queue.queue);
        session_queues.chain(urgent.as_deref()).map(Queue::waiting).sum::<usize>() + local + timers
    }

    fn waiting_for(&self) -> Option<Duration> {
        let state = self.lock();
        let (session_queues, urgent) =
            (state.ready.session_queues(), state.ready.urgent().cloned());
        let due = state.ready.due().filter_map(Queue::since).map(Since::elapsed).max();
        let local = state.local.since();
        drop(state);
        let queues = session_queues
            .iter()
            .map(|session_queue| &session_queue.queue)
            .chain(urgent.as_deref());
        queues.filter_map(Queue::since).chain(local).map(Since::elapsed).chain(due).max()
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
