//! Control mail: what an actor is told beside its calls, and before them.
//!
//! Orders lie in a queue of their own that the actor looks at before each call. Whoever gives one
//! sets a mark, so that an actor without orders pays for one comparison a call. Every queue here is
//! bounded by what caused it: a notice by the watch that was registered for it, an order to stop by
//! the one before it.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, PoisonError, Weak};
use std::task::{Context, Waker};

use crate::lifecycle::handle::Living;
use crate::lifecycle::inspect::{self, History, Summary};
use crate::lifecycle::monitor::{Down, Exit};
use crate::limits::WATCHERS_MAX;
use crate::reason::Reason;
use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering};

/// What an actor is told.
pub(crate) enum Order {
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
    Summary(Summary),
    /// Somebody that it watches has ended.
    Down(Down),
    /// Somebody that it is linked to has ended.
    Exit(Exit),
    /// Something to be done with the actor's state, which is given as what it is.
    Visit(Visit),
}

/// What is done with an actor's state between two of its calls.
pub(crate) type Visit = Box<dyn FnOnce(&mut dyn Any) + Send>;

/// Who hears of the end of an actor.
pub(crate) struct Watcher {
    pub(crate) number: u64,
    pub(crate) whom: Whom,
}

/// How he hears of it.
pub(crate) enum Whom {
    /// An actor: as control mail.
    Watches(Weak<dyn Living>),
    /// An actor that is linked to this one.
    Linked(Weak<dyn Living>),
    /// Somebody who waits for it.
    Waits(Waker),
    /// A table in which the actor stands: it is taken out before anybody else hears.
    Frees(Box<dyn FnOnce() + Send>),
}

/// Orders, watchers, and the end.
pub(crate) struct Control {
    /// There are orders, or the end has come.
    mark: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The actor, while an `async` handler of it waits for something else.
    actor: Option<Waker>,
    standing: Standing,
}

/// How things stand with the actor.
#[derive(Default)]
enum Standing {
    /// No order was ever given and nobody ever watched, so there is nothing to keep. Most actors of
    /// many stay so, and end so.
    #[default]
    Quiet,
    /// It lives.
    Known(Box<Known>),
    Ended(Reason),
}

/// Orders, watchers, and whom the actor waits for.
#[derive(Default)]
struct Known {
    orders: VecDeque<Order>,
    watchers: Vec<Watcher>,
    /// Whose answer a handler of this actor waits for.
    waits_for: Option<Weak<dyn Living>>,
    suspended: bool,
    /// From the first failure of a life on.
    history: Option<Box<History>>,
}

impl State {
    /// Orders and watchers, to be added to; the reason when the actor has ended.
    fn known(&mut self) -> Result<&mut Known, &Reason> {
        if let Standing::Quiet = self.standing {
            self.standing = Standing::Known(Box::default());
        }
        match &mut self.standing {
            Standing::Known(known) => Ok(known),
            Standing::Ended(reason) => Err(reason),
            Standing::Quiet => unreachable!("changed above"),
        }
    }

    /// Orders and watchers, if there are any.
    fn if_known(&mut self) -> Option<&mut Known> {
        match &mut self.standing {
            Standing::Known(known) => Some(known),
            Standing::Quiet | Standing::Ended(_) => None,
        }
    }

    fn ended(&self) -> Option<&Reason> {
        match &self.standing {
            Standing::Ended(reason) => Some(reason),
            Standing::Quiet | Standing::Known(_) => None,
        }
    }
}

impl Control {
    pub(crate) fn new() -> Control {
        Control { mark: AtomicBool::new(false), state: Mutex::new(State::default()) }
    }

    /// There is something that goes before calls.
    #[inline(always)]
    pub(crate) fn is_marked(&self) -> bool {
        self.mark.load(Ordering::Acquire)
    }

    /// The same between two calls of a loop. Who hears of a mark here asks [`is_marked`](Self::is_marked)
    /// before anything else is done about it. So calls that follow each other are nothing but a loop
    /// to the compiler, and it may keep what their handler counts in registers.
    #[inline(always)]
    pub(crate) fn is_marked_in_a_loop(&self) -> bool {
        self.mark.load(Ordering::Relaxed)
    }

    /// Puts an order behind the others. False: the actor has ended. The caller wakes the actor.
    pub(crate) fn order(&self, order: Order) -> bool {
        let mut state = self.lock();
        let Ok(known) = state.known() else { return false };
        let says_it_again = matches!(
            (&order, known.orders.back()),
            (Order::Stop(_), Some(Order::Stop(_)))
                | (Order::Drain, Some(Order::Drain))
                | (Order::Urgent, Some(Order::Urgent))
                | (Order::Unstash, Some(Order::Unstash))
                | (Order::Suspend, Some(Order::Suspend))
                | (Order::Resume, Some(Order::Resume))
        );
        if !says_it_again {
            known.orders.push_back(order);
        }
        self.mark.store(true, Ordering::Release);
        let actor = state.actor.take();
        drop(state);
        actor.into_iter().for_each(Waker::wake);
        true
    }

    /// The next order.
    pub(crate) fn take(&self) -> Option<Order> {
        let mut state = self.lock();
        let known = state.if_known()?;
        let order = known.orders.pop_front();
        match order {
            Some(Order::Suspend) => known.suspended = true,
            Some(Order::Resume) => known.suspended = false,
            _ => {}
        }
        if known.orders.is_empty() {
            self.mark.store(false, Ordering::Release);
        }
        order
    }

    /// Has the actor woken by the next order; true when there is one already.
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
        let watchers = match state.known() {
            Ok(known) => &mut known.watchers,
            Err(reason) => return Ok(Some(reason.clone())),
        };
        if watchers.len() >= WATCHERS_MAX {
            return Err(watcher);
        }
        // A number that may have come before: who monitors gives a new one each time.
        let may_be_known = !matches!(watcher.whom, Whom::Watches(_) | Whom::Frees(_));
        let mut known = watchers.iter_mut().filter(|_| may_be_known);
        match known.find(|known| known.number == watcher.number) {
            Some(known) => *known = watcher,
            None => watchers.push(watcher),
        }
        Ok(None)
    }

    /// Takes a watcher away; false when there was none.
    pub(crate) fn unwatch(&self, number: u64) -> bool {
        let mut state = self.lock();
        let Some(known) = state.if_known() else { return false };
        let at = known.watchers.iter().position(|watcher| watcher.number == number);
        at.map(|at| known.watchers.swap_remove(at)).is_some()
    }

    /// Takes away notices that have come and were not looked at.
    pub(crate) fn forget(&self, is_it: impl Fn(&Order) -> bool) {
        if let Some(known) = self.lock().if_known() {
            known.orders.retain(|order| !is_it(order));
        }
    }

    /// A handler of this actor waits for an answer of that one, or does no longer.
    pub(crate) fn wait_for(&self, actor: Option<Weak<dyn Living>>) {
        if let Ok(known) = self.lock().known() {
            known.waits_for = actor;
        }
    }

    pub(crate) fn waited_for(&self) -> Option<Arc<dyn Living>> {
        self.lock().if_known()?.waits_for.as_ref()?.upgrade()
    }

    /// A life has ended as nobody wanted, and another may follow.
    pub(crate) fn failed(&self, reason: &Reason) {
        if let Ok(known) = self.lock().known() {
            known.history.get_or_insert_default().failed(reason.clone());
        }
    }

    /// Another life begins; what the one before was told to leave undone is done again.
    pub(crate) fn restarted(&self) {
        if let Ok(known) = self.lock().known() {
            known.suspended = false;
            known.history.get_or_insert_default().restarts += 1;
        }
    }

    /// What is known for whoever looks at the actor.
    pub(crate) fn known(&self) -> inspect::Known {
        let mut state = self.lock();
        let Some(known) = state.if_known() else { return inspect::Known::default() };
        let (restarts, failures) = match &known.history {
            Some(history) => (history.restarts, history.failures.iter().cloned().collect()),
            None => (0, Vec::new()),
        };
        inspect::Known { suspended: known.suspended, restarts, failures }
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
        let before = std::mem::replace(&mut state.standing, Standing::Ended(reason.clone()));
        self.mark.store(true, Ordering::Release);
        let actor = state.actor.take();
        drop(state);
        actor.into_iter().for_each(Waker::wake);
        // Outside the lock: what was not looked at is dropped here, and it may hold anything.
        match before {
            Standing::Known(known) => Some(known.watchers),
            Standing::Quiet | Standing::Ended(_) => Some(Vec::new()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
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
pub(crate) fn announce(watchers: Vec<Watcher>, actor: &Arc<dyn Living>, reason: &Reason) {
    let frees = |watcher: &Watcher| matches!(watcher.whom, Whom::Frees(_));
    let (tables, watchers): (Vec<_>, Vec<_>) = watchers.into_iter().partition(frees);
    for watcher in tables.into_iter().chain(watchers) {
        match watcher.whom {
            Whom::Frees(free) => free(),
            Whom::Waits(waker) => waker.wake(),
            Whom::Watches(whom) => {
                if let Some(whom) = whom.upgrade() {
                    whom.order(Order::Down(Down::new(watcher.number, actor, reason)));
                }
            }
            Whom::Linked(whom) => {
                if let Some(whom) = whom.upgrade() {
                    whom.order(Order::Exit(Exit::new(actor, reason)));
                }
            }
        }
    }
}
