//! Control mail: what an actor is told beside its calls, and before them.
//!
//! Control messages have a queue of their own, which the actor checks before each call. A sender of
//! one sets a mark, so that an actor without control messages pays for one comparison a call. The
//! queue is bounded by the causes of its entries: a notice by the watch that was registered for it,
//! an order to stop by the one before it.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, PoisonError, Weak};
use std::task::{Context, Waker};

use crate::lifecycle::handle::AnyActor;
use crate::lifecycle::inspect::{self, History, SummaryRequest};
use crate::lifecycle::monitor::{Down, Exit};
use crate::limits::WATCHERS_MAX;
use crate::reason::Reason;
use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering};

/// A control message.
pub(crate) enum ControlMessage {
    /// Ends after the call at hand.
    Stop(Reason),
    /// Ends after the calls that wait; no new ones are let in.
    Drain,
    /// Breaks off the run at hand, because there is urgent mail.
    Urgent,
    /// Calls are left to wait.
    Suspend,
    /// They are handled again.
    Resume,
    /// Handles the calls again that it has put aside.
    Unstash,
    /// Says what there is to say of itself.
    Summary(SummaryRequest),
    /// Somebody that it watches has ended.
    Down(Down),
    /// Somebody that it is linked to has ended.
    Exit(Exit),
    /// Something to be done with the actor's state, which is given as what it is.
    Visit(Visit),
}

/// An operation on an actor's state between two of its calls.
pub(crate) type Visit = Box<dyn FnOnce(&mut dyn Any) + Send>;

/// A watcher of an actor's end.
pub(crate) struct Watcher {
    pub(crate) number: u64,
    pub(crate) kind: WatcherKind,
}

/// How the watcher is told.
pub(crate) enum WatcherKind {
    /// An actor: as control mail.
    Monitor(Weak<dyn AnyActor>),
    /// An actor that is linked to this one.
    Link(Weak<dyn AnyActor>),
    /// Somebody who waits for it.
    Waker(Waker),
    /// A table in which the actor stands: it is taken out before anybody else hears.
    Cleanup(Box<dyn FnOnce() + Send>),
}

/// Orders, watchers, and the end.
pub(crate) struct Control {
    /// There are orders, or the end has come.
    mark: AtomicBool,
    state: Mutex<ControlState>,
}

#[derive(Default)]
struct ControlState {
    /// The actor, while an `async` handler of it waits for something else.
    actor: Option<Waker>,
    phase: Phase,
}

/// How things stand with the actor.
#[derive(Default)]
enum Phase {
    /// No order was ever given and nobody ever watched, so there is nothing to keep. Most actors of
    /// many stay so, and end so.
    #[default]
    Quiet,
    /// It lives.
    Details(Box<Details>),
    Ended(Reason),
}

/// Orders, watchers, and whom the actor waits for.
#[derive(Default)]
struct Details {
    orders: VecDeque<ControlMessage>,
    watchers: Vec<Watcher>,
    /// The actor whose answer a handler of this actor waits for.
    waits_for: Option<Weak<dyn AnyActor>>,
    suspended: bool,
    /// From the first failure of a life on.
    history: Option<Box<History>>,
}

impl ControlState {
    /// Orders and watchers, to be added to; the reason when the actor has ended.
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

    /// Orders and watchers, if there are any.
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

    /// There is something that goes before calls.
    #[inline(always)]
    pub(crate) fn is_marked(&self) -> bool {
        self.mark.load(Ordering::Acquire)
    }

    /// Checks the mark between two calls of a loop. A caller that finds it set checks
    /// [`is_marked`](Self::is_marked) before it does anything else. So consecutive calls are a
    /// plain loop to the compiler, which may keep the counters of their handler in registers.
    #[inline(always)]
    pub(crate) fn is_marked_in_a_loop(&self) -> bool {
        self.mark.load(Ordering::Relaxed)
    }

    /// Puts an order behind the others. False: the actor has ended. The caller wakes the actor.
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

    /// The next order.
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

    /// Registers the actor's waker for the next control message; true if there is one already.
    pub(crate) fn register(&self, context: &Context<'_>) -> bool {
        let mut state = self.lock();
        if !state.actor.as_ref().is_some_and(|old| old.will_wake(context.waker())) {
            state.actor = Some(context.waker().clone());
        }
        self.is_marked()
    }

    /// Adds a watcher, or says why the actor has ended. It comes back when there are too many.
    pub(crate) fn watch(&self, watcher: Watcher) -> Result<Option<Reason>, Watcher> {
        let mut state = self.lock();
        let watchers = match state.details() {
            Ok(details) => &mut details.watchers,
            Err(reason) => return Ok(Some(reason.clone())),
        };
        if watchers.len() >= WATCHERS_MAX {
            return Err(watcher);
        }
        // A number that may have come before: who monitors gives a new one each time.
        let is_replaceable =
            !matches!(watcher.kind, WatcherKind::Monitor(_) | WatcherKind::Cleanup(_));
        let mut details = watchers.iter_mut().filter(|_| is_replaceable);
        match details.find(|details| details.number == watcher.number) {
            Some(details) => *details = watcher,
            None => watchers.push(watcher),
        }
        Ok(None)
    }

    /// Takes a watcher away; false when there was none.
    pub(crate) fn unwatch(&self, number: u64) -> bool {
        let mut state = self.lock();
        let Some(details) = state.details_if_any() else { return false };
        let at = details.watchers.iter().position(|watcher| watcher.number == number);
        at.map(|at| details.watchers.swap_remove(at)).is_some()
    }

    /// Takes away notices that have come and were not looked at.
    pub(crate) fn forget(&self, is_it: impl Fn(&ControlMessage) -> bool) {
        if let Some(details) = self.lock().details_if_any() {
            details.orders.retain(|order| !is_it(order));
        }
    }

    /// A handler of this actor waits for an answer of that one, or does no longer.
    pub(crate) fn wait_for(&self, actor: Option<Weak<dyn AnyActor>>) {
        if let Ok(details) = self.lock().details() {
            details.waits_for = actor;
        }
    }

    pub(crate) fn waited_for(&self) -> Option<Arc<dyn AnyActor>> {
        self.lock().details_if_any()?.waits_for.as_ref()?.upgrade()
    }

    /// A life has ended as nobody wanted, and another may follow.
    pub(crate) fn failed(&self, reason: &Reason) {
        if let Ok(details) = self.lock().details() {
            details.history.get_or_insert_default().failed(reason.clone());
        }
    }

    /// Another life begins; what the one before was told to leave undone is done again.
    pub(crate) fn restarted(&self) {
        if let Ok(details) = self.lock().details() {
            details.suspended = false;
            details.history.get_or_insert_default().restarts += 1;
        }
    }

    /// The status for inspections.
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

    /// The actor has ended; gives who must hear of it. `None`: it had ended before.
    pub(crate) fn end(&self, reason: &Reason) -> Option<Vec<Watcher>> {
        let mut state = self.lock();
        if state.ended().is_some() {
            return None;
        }
        let before = std::mem::replace(&mut state.phase, Phase::Ended(reason.clone()));
        self.mark.store(true, Ordering::Release);
        let actor = state.actor.take();
        drop(state);
        actor.into_iter().for_each(Waker::wake);
        // Outside the lock: what was not looked at is dropped here, and it may hold anything.
        match before {
            Phase::Details(details) => Some(details.watchers),
            Phase::Quiet | Phase::Ended(_) => Some(Vec::new()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, ControlState> {
        // Whole between two statements, so a panic elsewhere has broken nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("mark", &self.is_marked()).finish_non_exhaustive()
    }
}

/// Tells each watcher, once, why the actor has ended.
pub(crate) fn announce(watchers: Vec<Watcher>, actor: &Arc<dyn AnyActor>, reason: &Reason) {
    let is_cleanup = |watcher: &Watcher| matches!(watcher.kind, WatcherKind::Cleanup(_));
    let (tables, watchers): (Vec<_>, Vec<_>) = watchers.into_iter().partition(is_cleanup);
    for watcher in tables.into_iter().chain(watchers) {
        match watcher.kind {
            WatcherKind::Cleanup(cleanup) => cleanup(),
            WatcherKind::Waker(waker) => waker.wake(),
            WatcherKind::Monitor(watcher_actor) => {
                if let Some(watcher_actor) = watcher_actor.upgrade() {
                    watcher_actor.order(ControlMessage::Down(Down::new(
                        watcher.number,
                        actor,
                        reason,
                    )));
                }
            }
            WatcherKind::Link(watcher_actor) => {
                if let Some(watcher_actor) = watcher_actor.upgrade() {
                    watcher_actor.order(ControlMessage::Exit(Exit::new(actor, reason)));
                }
            }
        }
    }
}
