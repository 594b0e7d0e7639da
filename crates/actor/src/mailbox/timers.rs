//! Timers: calls that an actor receives later, once or periodically.
//!
//! Each timer has a queue of its own in the mailbox, with room for one call. So the calls of a
//! timer never pile up behind a slow actor, a due call waits its turn like any other, and a
//! cancelled call is taken out of its queue, due or not. Each actor with timers has one task, the
//! driver, which sleeps until the next timer is due.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;
use std::time::Duration;

use tokio::runtime::Handle as Runtime;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use wigwag_wire::hint::{write_debug, write_hint};

use crate::lifecycle::control::ControlMessage;
use crate::lifecycle::handle::AnyActor;
use crate::limits::{TIMER_DELAY_MAX, TIMERS_MAX};
use crate::mailbox::Mailbox;
use crate::mailbox::backlog::Pushed;
use crate::mailbox::backlog::parked::Ticket;
use crate::mailbox::backlog::queue::Queue;
use crate::mailbox::ready_queues::Source;
use crate::options::WhenFull;
use crate::reason::Reason;

/// Makes the message of each call of a periodic timer.
pub(crate) type MakeMessage<M> = Box<dyn FnMut() -> M + Send>;

/// A timer of an actor. Dropping this value does not cancel the timer.
#[derive(Clone)]
pub struct Timer(Arc<dyn Cancellable>);

impl Timer {
    /// Cancels the timer. A call that was due and waits is withdrawn; a call that has begun is not
    /// interrupted. Returns false when nothing was left to cancel: the timer's only call has begun,
    /// the timer was cancelled before, or the actor has ended.
    pub fn cancel(&self) -> bool {
        self.0.cancel()
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer").finish_non_exhaustive()
    }
}

/// The reason why a timer was not created.
///
/// [`This::after`](crate::This::after) says how a timer is set.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimerError {
    /// The actor has [`TIMERS_MAX`] timers already.
    TooMany,
    /// The calling thread belongs to no tokio runtime.
    NoRuntime,
    /// The actor has ended or accepts no new calls.
    Ended,
}

impl TimerError {
    /// A hint how to fix it; names in backticks are those of the API.
    pub fn hint(&self) -> &'static str {
        match self {
            TimerError::TooMany => "cancel some with `Timer::cancel`, or have one stand for many",
            TimerError::NoRuntime => "set timers in the handlers and hooks of the actor",
            TimerError::Ended => "set the timer on the actor's successor",
        }
    }
}

impl fmt::Display for TimerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimerError::TooMany => {
                write!(f, "the actor has {TIMERS_MAX} timers already, which is the limit")
            }
            TimerError::NoRuntime => f.write_str("the calling thread belongs to no tokio runtime"),
            TimerError::Ended => f.write_str("the actor has ended, and its timers with it"),
        }?;
        write_hint(f, self.hint())
    }
}

impl fmt::Debug for TimerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_debug(f, "TimerError", None, self, self.hint())
    }
}

impl std::error::Error for TimerError {}

/// The call that a timer enqueues when it is due.
pub(crate) enum TimerCall<M> {
    Once(M),
    /// A call every `period`. `make` is `None` while it runs, and returns `None` when the actor is
    /// gone.
    Every {
        period: Duration,
        make: Option<MakeMessage<Option<M>>>,
    },
    /// No further call: the only one is due and waits, or has begun.
    Due,
}

struct ArmedTimer<M> {
    at: Instant,
    queue: Arc<Queue<M>>,
    timer_call: TimerCall<M>,
}

/// The timers of one actor.
pub(crate) struct Timers<M> {
    mailbox: Weak<Mailbox<M>>,
    state: Mutex<TimersState<M>>,
    /// Wakes the driver when another timer has become the first one, or the timers are closed.
    changed: Notify,
}

struct TimersState<M> {
    armed: HashMap<u64, ArmedTimer<M>>,
    /// The timers that will be due, by time and then by number: timers set for the same time are
    /// due in the order in which they were set.
    order: BTreeSet<(Instant, u64)>,
    last: u64,
    /// The number of entries in `armed`, including finished timers, at which
    /// [`sweep`](TimersState::sweep) removes the finished ones.
    sweep_at: usize,
    /// A driver exists, or is about to be spawned.
    driven: bool,
    closed: bool,
}

/// The number of timers below which finished ones are not removed.
const SWEEP_MIN: usize = 16;

impl<M: Send + 'static> Timers<M> {
    pub(crate) fn new(mailbox: Weak<Mailbox<M>>) -> Timers<M> {
        let state = TimersState {
            armed: HashMap::new(),
            order: BTreeSet::new(),
            last: 0,
            sweep_at: SWEEP_MIN,
            driven: false,
            closed: false,
        };
        Timers { mailbox, state: Mutex::new(state), changed: Notify::new() }
    }

    /// Sets a timer, and spawns the driver if there is none.
    pub(crate) fn add(
        self: &Arc<Self>,
        delay: Duration,
        timer_call: TimerCall<M>,
    ) -> Result<Timer, TimerError> {
        let runtime = Runtime::try_current().map_err(|_| TimerError::NoRuntime)?;
        let at = Instant::now() + delay.min(TIMER_DELAY_MAX);
        let queue = Arc::new(Queue::new(1, WhenFull::Refuse));
        let mut state = self.lock();
        if state.closed {
            return Err(TimerError::Ended);
        }
        state.sweep();
        if state.armed.len() >= TIMERS_MAX {
            return Err(TimerError::TooMany);
        }
        state.last += 1;
        let number = state.last;
        state.armed.insert(number, ArmedTimer { at, queue: queue.clone(), timer_call });
        state.order.insert((at, number));
        let first = state.order.first() == Some(&(at, number));
        let drives = !std::mem::replace(&mut state.driven, true);
        drop(state);
        if drives {
            runtime.spawn(Driver { timers: self.clone(), has_ended: false }.run());
        } else if first {
            self.changed.notify_one();
        }
        Ok(Timer(Arc::new(TimerEntry { timers: Arc::downgrade(self), number, queue })))
    }

    /// Drops all timers that are not due, and accepts no new ones. Due calls stay in the mailbox.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.order.clear();
        let armed = std::mem::take(&mut state.armed);
        drop(state);
        // Outside the lock, because dropping messages and closures may run any code.
        drop(armed);
        self.changed.notify_one();
    }

    /// Cancels all timers, also those whose call is due and waits. Accepts new ones.
    pub(crate) fn cancel_all(&self) {
        let mut state = self.lock();
        state.order.clear();
        let armed = std::mem::take(&mut state.armed);
        let waited: Vec<_> = armed.values().filter_map(|one| one.queue.withdraw()).collect();
        drop(state);
        // Outside the lock, because dropping messages and closures may run any code.
        drop((armed, waited));
        self.changed.notify_one();
    }

    /// Enqueues all calls that are due at `now`.
    fn fire(&self, now: Instant) {
        // Keeps the mailbox alive, so that it and its messages are not dropped under the lock.
        let Some(mailbox) = self.mailbox.upgrade() else { return };
        while let Some((number, make)) = self.next_due(now, &mailbox) {
            let Some(mut make) = make else { continue };
            let made = catch_unwind(AssertUnwindSafe(&mut make));
            match made {
                Ok(message) => self.made(number, message, make, &mailbox),
                Err(payload) => {
                    mailbox.order(ControlMessage::Stop(Reason::panicked(payload)));
                }
            }
        }
    }

    /// Enqueues the call of the next timer that is due. For a periodic timer, returns its closure
    /// instead, unless its last call still waits. `None`: no timer is due.
    fn next_due(
        &self,
        now: Instant,
        mailbox: &Mailbox<M>,
    ) -> Option<(u64, Option<MakeMessage<Option<M>>>)> {
        let mut state = self.lock();
        let (at, number) = *state.order.first()?;
        if at > now {
            return None;
        }
        state.order.pop_first();
        let armed = state.armed.get_mut(&number)?;
        match &mut armed.timer_call {
            TimerCall::Every { period, make } => {
                // The next time is a multiple of the period after the first; periods that have
                // passed entirely are skipped.
                let missed = (now - at).as_nanos() / period.as_nanos();
                let periods = u32::try_from(missed).unwrap_or(u32::MAX).saturating_add(1);
                armed.at = at + period.saturating_mul(periods).min(TIMER_DELAY_MAX);
                let make = if armed.queue.waiting() == 0 { make.take() } else { None };
                let next = (armed.at, number);
                state.order.insert(next);
                Some((number, make))
            }
            once => {
                if let TimerCall::Once(message) = std::mem::replace(once, TimerCall::Due) {
                    push(mailbox, message, &armed.queue);
                }
                Some((number, None))
            }
        }
    }

    /// Enqueues a call that a periodic timer has made, unless the timer was cancelled meanwhile.
    fn made(
        &self,
        number: u64,
        message: Option<M>,
        made_by: MakeMessage<Option<M>>,
        mailbox: &Mailbox<M>,
    ) {
        let mut state = self.lock();
        let Some(armed) = state.armed.get_mut(&number) else {
            drop(state);
            return;
        };
        if let TimerCall::Every { make, .. } = &mut armed.timer_call {
            *make = Some(made_by);
        }
        if let Some(message) = message {
            push(mailbox, message, &armed.queue);
        }
    }

    fn lock(&self) -> MutexGuard<'_, TimersState<M>> {
        // The state is consistent between any two statements, so a panic elsewhere has broken
        // nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Enqueues a call of a timer. The caller holds the lock of the timers, so the timer cannot be
/// cancelled and the mailbox cannot close its queues before the queue is listed.
fn push<M>(mailbox: &Mailbox<M>, message: M, queue: &Arc<Queue<M>>) {
    let pushed = queue.push(&mut Some(message), None, &mut Ticket::default(), None, |_| {});
    if let Pushed::In { list: true } = pushed {
        mailbox.list(Source::Timer(queue.clone())).into_iter().for_each(Waker::wake);
    }
}

impl<M> TimersState<M> {
    /// Removes the finished timers, those whose only call has begun, when `armed` has grown to
    /// `sweep_at` or to [`TIMERS_MAX`]. The next limit is twice the number that remain.
    fn sweep(&mut self) {
        if self.armed.len() >= self.sweep_at.min(TIMERS_MAX) {
            self.armed.retain(|_, one| {
                !matches!(one.timer_call, TimerCall::Due) || one.queue.waiting() > 0
            });
            self.sweep_at = (2 * self.armed.len()).max(SWEEP_MIN);
        }
    }
}

/// The task that waits for the timers of one actor; it ends when no timer will be due.
struct Driver<M: Send + 'static> {
    timers: Arc<Timers<M>>,
    /// The task has ended by itself.
    has_ended: bool,
}

impl<M: Send + 'static> Driver<M> {
    async fn run(mut self) {
        loop {
            let next = {
                let mut state = self.timers.lock();
                let next = state.order.first().map(|(at, _)| *at);
                state.driven = next.is_some();
                next
            };
            let Some(at) = next else {
                self.has_ended = true;
                return;
            };
            if timeout_at(at, self.timers.changed.notified()).await.is_err() {
                self.timers.fire(Instant::now());
            }
        }
    }
}

impl<M: Send + 'static> Drop for Driver<M> {
    /// Lets the next [`add`](Timers::add) spawn another driver when this one is dropped with its
    /// runtime.
    fn drop(&mut self) {
        if !self.has_ended {
            self.timers.lock().driven = false;
        }
    }
}

/// The operations of a timer that do not need the type of its message.
trait Cancellable: Send + Sync {
    fn cancel(&self) -> bool;
}

struct TimerEntry<M> {
    timers: Weak<Timers<M>>,
    number: u64,
    queue: Arc<Queue<M>>,
}

impl<M: Send + 'static> Cancellable for TimerEntry<M> {
    fn cancel(&self) -> bool {
        let Some(timers) = self.timers.upgrade() else { return false };
        let mut state = timers.lock();
        let armed = state.armed.remove(&self.number);
        if let Some(armed) = &armed {
            state.order.remove(&(armed.at, self.number));
        }
        let waited = self.queue.withdraw();
        drop(state);
        let goes_on = armed.is_some_and(|armed| !matches!(armed.timer_call, TimerCall::Due));
        goes_on || waited.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An actor that sets a limit of an hour for each call, and cancels it, keeps none of them.
    #[test]
    fn a_timer_that_is_cancelled_leaves_nothing_behind() {
        let timers = Arc::new(Timers::<u8>::new(Weak::new()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.expect("a runtime").block_on(async {
            for _ in 0..3 {
                let timer = timers.add(Duration::from_secs(3600), TimerCall::Once(1));
                assert!(timer.expect("a timer").cancel());
            }
        });
        let state = timers.lock();
        assert_eq!((state.armed.len(), state.order.len()), (0, 0));
    }

    /// The runtime may end after the last timer was cancelled and before its driver noticed.
    #[test]
    fn timers_get_a_new_driver_when_the_runtime_of_the_old_one_has_ended() {
        for cancels in [false, true] {
            let timers = Arc::new(Timers::<u8>::new(Weak::new()));
            let add = || timers.add(Duration::from_secs(3600), TimerCall::Once(1));
            let runtime = || tokio::runtime::Builder::new_current_thread().enable_time().build();
            let ended = runtime().expect("a runtime");
            let timer = ended.block_on(async { add() }).expect("a timer");
            if cancels {
                assert!(timer.cancel());
            }
            drop(ended);
            assert!(!timers.lock().driven, "cancelled: {cancels}");
            runtime().expect("a runtime").block_on(async { add() }).expect("another timer");
            assert!(!timers.lock().driven, "the second driver has gone with its runtime");
        }
    }
}
