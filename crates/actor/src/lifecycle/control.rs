//! Control mail: orders and notices for an actor, which go before its calls.
//!
//! Orders have a queue of their own that the actor checks before each call. Each order sets a mark,
//! so that an actor without orders pays one comparison per call. Every queue here is bounded by its
//! causes: a notice by the watch registered for it, an order to stop by the order before it.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use crate::lifecycle::handle::AnyActor;
use crate::lifecycle::inspect::{self, History, SummaryRequest};
use crate::lifecycle::lives::{Lives, Unwatch};
use crate::lifecycle::monitor::{Down, Exit};
use crate::lifecycle::watchers::{Watcher, Watchers};
use crate::reason::Reason;
use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering};

/// An order or a notice for an actor.
pub(crate) enum ControlMessage {
    /// End after the current call.
    Stop(Reason),
    /// End after the calls that wait; accept no new ones.
    Drain,
    /// End the current run early, because there is urgent mail.
    Urgent,
    /// Leave calls waiting.
    Suspend,
    /// Handle calls again.
    Resume,
    /// Handle the stashed calls.
    Unstash,
    /// Answer with the actor's summary of itself.
    Summary(SummaryRequest),
    /// An actor that this one monitors has ended.
    Down(Down),
    /// An actor that this one is linked to has ended.
    Exit(Exit),
    /// Run a closure on the actor's state.
    Visit(Visit),
    /// Run a closure on the state of the life with this number, and on that of no later one.
    VisitInLife(u64, Visit),
}

/// A closure that runs on an actor's state between two of its calls.
pub(crate) type Visit = Box<dyn FnOnce(&mut dyn Any) + Send>;

/// The orders, the watchers and the end of an actor.
pub(crate) struct Control {
    /// True when there are orders, or the actor has ended.
    mark: AtomicBool,
    state: Mutex<ControlState>,
}

#[derive(Default)]
struct ControlState {
    /// Wakes the actor while its `async` handler waits.
    actor: Option<Waker>,
    phase: Phase,
}

/// The phase of an actor's life.
#[derive(Default)]
enum Phase {
    /// Neither an order nor a watcher has come yet, so nothing is allocated. Most actors of a large
    /// number stay so until their end.
    #[default]
    Quiet,
    /// The actor lives.
    Details(Box<Details>),
    Ended(Reason),
}

/// Orders, watchers, and the actor that this one waits for.
#[derive(Default)]
struct Details {
    orders: VecDeque<ControlMessage>,
    watchers: Watchers,
    /// The actor whose answer a handler of this actor waits for.
    waits_for: Option<Weak<dyn AnyActor>>,
    suspended: bool,
    /// Set by the first failure.
    history: Option<Box<History>>,
    /// Set by the first thing that the actor opens for itself, and by its first monitor.
    lives: Option<Box<Lives>>,
}

impl ControlState {
    /// The details, created if need be; the reason when the actor has ended.
    fn details(&mut self) -> Result<&mut Details, &Reason> {
        if let Phase::Quiet = self.phase {
            self.phase = Phase::Details(Box::default());
        }
        match &mut self.phase {
            Phase::Details(details) => Ok(details),
            Phase::Ended(reason) => Err(reason),
            Phase::Quiet => unreachable!("changed above"),
        }
    }

    /// The details, if there are any.
    fn details_if_any(&mut self) -> Option<&mut Details> {
        match &mut self.phase {
            Phase::Details(details) => Some(details),
            Phase::Quiet | Phase::Ended(_) => None,
        }
    }

    fn ended(&self) -> Option<&Reason> {
        match &self.phase {
            Phase::Ended(reason) => Some(reason),
            Phase::Quiet | Phase::Details(_) => None,
        }
    }
}

impl Control {
    pub(crate) fn new() -> Control {
        Control { mark: AtomicBool::new(false), state: Mutex::new(ControlState::default()) }
    }

    /// True when there is mail that goes before calls.
    #[inline(always)]
    pub(crate) fn is_marked(&self) -> bool {
        self.mark.load(Ordering::Acquire)
    }

    /// The check between two calls of a loop. A caller that sees a mark must confirm it with
    /// [`is_marked`](Self::is_marked) before it acts on it. Relaxed, so that consecutive calls are
    /// a plain loop to the compiler, which may keep the handler's counters in registers.
    #[inline(always)]
    pub(crate) fn is_marked_in_a_loop(&self) -> bool {
        self.mark.load(Ordering::Relaxed)
    }

    /// Queues an order. False: the actor has ended. The caller wakes the actor.
    pub(crate) fn order(&self, order: ControlMessage) -> bool {
        let mut state = self.lock();
        let Ok(details) = state.details() else { return false };
        let says_it_again = matches!(
            (&order, details.orders.back()),
            (ControlMessage::Stop(_), Some(ControlMessage::Stop(_)))
                | (ControlMessage::Drain, Some(ControlMessage::Drain))
                | (ControlMessage::Urgent, Some(ControlMessage::Urgent))
                | (ControlMessage::Unstash, Some(ControlMessage::Unstash))
                | (ControlMessage::Suspend, Some(ControlMessage::Suspend))
                | (ControlMessage::Resume, Some(ControlMessage::Resume))
        );
        if !says_it_again {
            details.orders.push_back(order);
        }
        self.mark.store(true, Ordering::Release);
        let actor = state.actor.take();
        drop(state);
        actor.into_iter().for_each(Waker::wake);
        true
    }

    /// Takes the next order.
    pub(crate) fn take(&self) -> Option<ControlMessage> {
        let mut state = self.lock();
        let details = state.details_if_any()?;
        let order = details.orders.pop_front();
        match order {
            Some(ControlMessage::Suspend) => details.suspended = true,
            Some(ControlMessage::Resume) => details.suspended = false,
            _ => {}
        }
        if details.orders.is_empty() {
            self.mark.store(false, Ordering::Release);
        }
        order
    }

    /// Registers the actor to be woken by the next order; true when there is one already.
    pub(crate) fn register(&self, context: &Context<'_>) -> bool {
        let mut state = self.lock();
        if !state.actor.as_ref().is_some_and(|old| old.will_wake(context.waker())) {
            state.actor = Some(context.waker().clone());
        }
        self.is_marked()
    }

    /// Adds a watcher, or returns the reason when the actor has ended. Hands the watcher back when
    /// there are too many.
    pub(crate) fn watch(&self, watcher: Watcher) -> Result<Option<Reason>, Watcher> {
        // Dropped without the lock: it may hold the last reference to another actor.
        let _replaced = {
            let mut state = self.lock();
            match state.details() {
                Ok(details) => details.watchers.add(watcher)?,
                Err(reason) => return Ok(Some(reason.clone())),
            }
        };
        Ok(None)
    }

    /// Removes a watcher and returns it, to be dropped without a lock.
    pub(crate) fn unwatch(&self, number: u64) -> Option<Watcher> {
        self.lock().details_if_any()?.watchers.remove(number)
    }

    /// Adds a task that waits for the end, under a number of its own; `Ready` when the actor has ended.
    pub(crate) fn poll_end(&self, number: u64, waker: &Waker) -> Poll<Reason> {
        // Dropped without the lock, as the waker below: it may run any code.
        let _replaced = {
            let mut state = self.lock();
            match state.details() {
                Ok(details) => details.watchers.add_task(number, waker),
                Err(reason) => return Poll::Ready(reason.clone()),
            }
        };
        Poll::Pending
    }

    /// Removes a task that waits for the end.
    pub(crate) fn forget_task(&self, number: u64) {
        let waker = self.lock().details_if_any().and_then(|it| it.watchers.remove_task(number));
        drop(waker);
    }

    /// Removes notices that have arrived and were not handled.
    pub(crate) fn forget(&self, is_it: impl Fn(&ControlMessage) -> bool) {
        if let Some(details) = self.lock().details_if_any() {
            details.orders.retain(|order| !is_it(order));
        }
    }

    /// Sets the actor whose answer a handler of this actor waits for; `None` when the wait is over.
    pub(crate) fn wait_for(&self, actor: Option<Weak<dyn AnyActor>>) {
        if let Ok(details) = self.lock().details() {
            details.waits_for = actor;
        }
    }

    pub(crate) fn waited_for(&self) -> Option<Arc<dyn AnyActor>> {
        self.lock().details_if_any()?.waits_for.as_ref()?.upgrade()
    }

    /// Records the unintended end of a life; another life may follow.
    pub(crate) fn failed(&self, reason: &Reason) {
        if let Ok(details) = self.lock().details() {
            details.history.get_or_insert_default().failed(reason.clone());
        }
    }

    /// Notes a thing that belongs to the life under way, and returns the number of that life;
    /// `None` when the actor has ended.
    pub(crate) fn own(&self) -> Option<u64> {
        let mut state = self.lock();
        Some(state.details().ok()?.lives.get_or_insert_default().own())
    }

    /// A thing that belonged to a life is gone.
    pub(crate) fn let_go(&self) {
        let successor = self.with_lives(Lives::let_go).flatten();
        successor.into_iter().for_each(Waker::wake);
    }

    /// A life has ended, and another one may follow: tells the owners of what belongs to it.
    pub(crate) fn life_ended(&self, reason: &Reason) {
        let mut state = self.lock();
        let Some(details) = state.details_if_any() else { return };
        let Some(lives) = &mut details.lives else { return };
        let monitors = lives.end(reason);
        let wakers = details.watchers.wakers();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
        monitors.into_values().for_each(|unwatch| unwatch());
    }

    /// Notes a monitor that the life under way sets.
    pub(crate) fn add_monitor(&self, number: u64, unwatch: Unwatch) {
        if let Ok(details) = self.lock().details() {
            details.lives.get_or_insert_default().add_monitor(number, unwatch);
        }
    }

    /// Forgets a monitor. False if the life under way has not set it, or it was forgotten before.
    pub(crate) fn remove_monitor(&self, number: u64) -> bool {
        self.with_lives(|lives| lives.remove_monitor(number)).flatten().is_some()
    }

    /// The reason for which `life` has ended.
    pub(crate) fn end_of_life(&self, life: u64) -> Option<Reason> {
        self.with_lives(|lives| lives.reason(life)).flatten()
    }

    /// Ready when nothing is left of the lives that have ended.
    pub(crate) fn poll_alone(&self, context: &Context<'_>) -> Poll<()> {
        self.with_lives(|lives| lives.poll_alone(context)).unwrap_or(Poll::Ready(()))
    }

    fn with_lives<T>(&self, with: impl FnOnce(&mut Lives) -> T) -> Option<T> {
        Some(with(self.lock().details_if_any()?.lives.as_mut()?))
    }

    /// Another life begins; a suspension of the life before is lifted.
    pub(crate) fn restarted(&self) {
        if let Ok(details) = self.lock().details() {
            details.suspended = false;
            details.history.get_or_insert_default().restarts += 1;
        }
    }

    /// The state for an inspection.
    pub(crate) fn inspected(&self) -> inspect::InspectedState {
        let mut state = self.lock();
        let Some(details) = state.details_if_any() else {
            return inspect::InspectedState::default();
        };
        let (restarts, failures) = match &details.history {
            Some(history) => (history.restarts, history.failures.iter().cloned().collect()),
            None => (0, Vec::new()),
        };
        inspect::InspectedState { suspended: details.suspended, restarts, failures }
    }

    pub(crate) fn ended(&self) -> Option<Reason> {
        self.lock().ended().cloned()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.is_marked() && self.lock().ended().is_some()
    }

    /// Ends the actor and returns its watchers. `None`: it had ended before.
    pub(crate) fn end(&self, reason: &Reason) -> Option<Watchers> {
        let mut state = self.lock();
        if state.ended().is_some() {
            return None;
        }
        let before = std::mem::replace(&mut state.phase, Phase::Ended(reason.clone()));
        self.mark.store(true, Ordering::Release);
        let actor = state.actor.take();
        drop(state);
        actor.into_iter().for_each(Waker::wake);
        // Outside the lock: unhandled orders are dropped here and may run any code.
        match before {
            Phase::Details(mut details) => {
                let successor = details.lives.as_mut().and_then(|lives| lives.take_successor());
                successor.into_iter().for_each(Waker::wake);
                Some(details.watchers)
            }
            Phase::Quiet | Phase::Ended(_) => Some(Watchers::default()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, ControlState> {
        // The state is consistent between any two statements, so a panic elsewhere has broken
        // nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("mark", &self.is_marked()).finish_non_exhaustive()
    }
}
