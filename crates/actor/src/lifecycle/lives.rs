//! The lives of a supervised actor, and what belongs to one of them.
//!
//! A restarted actor has several lives behind one mailbox. A resource that its handlers and hooks open
//! for it, such as a listener or a child process, belongs to the life in which it was opened: the next
//! one knows nothing of it and opens its own. So do the monitors that it sets, and the futures that it
//! awaits beside its calls. The next life begins when all of that is gone, because it may need the same
//! address.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::lifecycle::current::current_number;
use crate::lifecycle::handle::{EndWaiter, Handle};
use crate::reason::Reason;

/// Removes a monitor from the actor that it watches.
pub(crate) type Unwatch = Box<dyn FnOnce() + Send>;

/// The lives of an actor that has opened something, or has monitored another actor.
#[derive(Default)]
pub(crate) struct Lives {
    ended: u64,
    /// The reason for the end of the last life that has ended.
    reason: Option<Reason>,
    /// How many things belong to a life and are not gone.
    owned: usize,
    /// The monitors that the life under way has set, by their numbers.
    monitors: BTreeMap<u64, Unwatch>,
    /// The actor's task, which waits until they are gone.
    successor: Option<Waker>,
}

impl Lives {
    /// Notes a thing that belongs to the life under way, and returns the number of that life.
    pub(crate) fn own(&mut self) -> u64 {
        self.owned += 1;
        self.ended
    }

    /// A thing that belonged to a life is gone: the waker of the next life, if that was the last.
    pub(crate) fn let_go(&mut self) -> Option<Waker> {
        self.owned = self.owned.saturating_sub(1);
        if self.owned == 0 { self.successor.take() } else { None }
    }

    /// Ends the life under way, and returns its monitors, to be removed without a lock.
    pub(crate) fn end(&mut self, reason: &Reason) -> BTreeMap<u64, Unwatch> {
        self.ended += 1;
        self.reason = Some(reason.clone());
        std::mem::take(&mut self.monitors)
    }

    pub(crate) fn add_monitor(&mut self, number: u64, unwatch: Unwatch) {
        self.monitors.insert(number, unwatch);
    }

    /// Takes a monitor out; `None` if another life has set it.
    pub(crate) fn remove_monitor(&mut self, number: u64) -> Option<Unwatch> {
        self.monitors.remove(&number)
    }

    /// The reason for the end of `life` or of a later one; `None` while it lasts.
    pub(crate) fn reason(&self, life: u64) -> Option<Reason> {
        self.reason.clone().filter(|_| life < self.ended)
    }

    /// Ready when nothing of earlier lives is left.
    pub(crate) fn poll_alone(&mut self, context: &Context<'_>) -> Poll<()> {
        if self.owned == 0 {
            return Poll::Ready(());
        }
        self.successor = Some(context.waker().clone());
        Poll::Pending
    }

    pub(crate) fn take_successor(&mut self) -> Option<Waker> {
        self.successor.take()
    }
}

/// The end of what owns a thing: of the actor's life, if one of its handlers or hooks has made this
/// value, and otherwise of the actor. It is kept until the thing is gone.
#[doc(hidden)]
#[derive(Debug)]
pub struct OwnerEnd {
    actor: EndWaiter,
    life: Option<u64>,
}

impl OwnerEnd {
    /// The end of the owner of what the caller opens for `actor`.
    pub fn of(actor: Handle) -> OwnerEnd {
        let is_own = current_number() == Some(actor.number());
        let life = if is_own { actor.actor_cell().control().own() } else { None };
        OwnerEnd { actor: EndWaiter::of(actor), life }
    }

    /// The number of the life that owns the thing; `None` if it belongs to the actor.
    pub(crate) fn life(&self) -> Option<u64> {
        self.life
    }
}

impl Future for OwnerEnd {
    type Output = Reason;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Reason> {
        if let Poll::Ready(reason) = self.actor.poll(context.waker()) {
            return Poll::Ready(reason);
        }
        // After the registration, so that an end in between wakes the task.
        match self.life.and_then(|life| self.actor.control().end_of_life(life)) {
            Some(reason) => Poll::Ready(reason),
            None => Poll::Pending,
        }
    }
}

impl Drop for OwnerEnd {
    fn drop(&mut self) {
        if self.life.is_some() {
            self.actor.control().let_go();
        }
    }
}
