//! Handlers that run side by side.
//!
//! The first part of such a handler runs with the actor's state, as a plain method does, and
//! returns a future that owns what it needs. The actor's own task polls those futures, each only
//! when it was woken, and handles other calls in between. A call with a key begins when the call
//! before it with that key has ended; until then it waits here and counts as running.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::hash::RandomState;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use tracing::Instrument;

use crate::error::CallErrorKind;
use crate::letters::{Loss, Origin};
use crate::lifecycle::current::{CallOwner, enter_call};
use crate::limits::SIDE_BY_SIDE_MAX;
use crate::reason::Reason;
use crate::reply::owner::InboundQueueOwner;
use crate::reply::responder::SendReply;
use crate::reply::{Reply, while_ending};
use crate::runtime::actor::Actor;
use crate::runtime::run::spans::{self, Spans};
use crate::runtime::run::trace::{self, TraceContext};
use crate::sync::{Mutex, MutexGuard};
use crate::turn;

/// The rest of a call after its first part.
pub type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Used by the code that `#[wigwag::actor]` generates: awaits the value of a call, and answers with
/// it by `send`.
#[doc(hidden)]
pub fn work<R, F>(mut reply: Reply<'static>, future: F, send: SendReply<R>) -> Work
where
    R: Send + 'static,
    F: Future<Output = R> + Send + 'static,
{
    Box::pin(async move {
        let value = future.await;
        send(&mut reply, value);
    })
}

/// A call that was taken out of the mailbox and has not begun.
pub(crate) struct PendingCall<M> {
    pub(crate) message: M,
    pub(crate) reply: Reply<'static>,
    /// The session that the call came from, which counts the calls that have ended.
    pub(crate) owner: Option<Arc<dyn InboundQueueOwner>>,
    /// The session that the call came from, whether or not it counts it.
    pub(crate) caller: Option<CallOwner>,
    /// Describes the call if it is reported as lost.
    pub(crate) origin: Option<Origin<M>>,
}

impl<M> PendingCall<M> {
    /// Refuses a call that would wait for a call that awaits its answer.
    #[cold]
    fn refuse_cycle(mut self) {
        let why = "the call before it, of the same key, waits for it";
        self.reply.fail(CallErrorKind::CallCycle, why);
    }

    /// Drops a call because the actor ends; dropping the reply tells the asker.
    fn refuse(self) {
        if let Some(origin) = self.origin.filter(|_| !self.reply.is_wanted()) {
            origin.lost(Loss::Ended, &self.message);
        }
    }
}

/// The calls of one actor that run side by side, and those that wait for their key.
pub(crate) struct SideBySide<M> {
    /// Limit of running and waiting calls together.
    most: usize,
    slots: Vec<WorkSlot>,
    free: Vec<usize>,
    /// The keys for which a call is running.
    keys: HashMap<u64, SerialCalls<M>>,
    waiting: usize,
    /// Keys whose call has ended while others wait: those begin next.
    due: VecDeque<u64>,
    hashing: RandomState,
    woken_slots: Arc<WokenSlots>,
    /// The woken slots, while they are being polled.
    woken: Vec<usize>,
    failed: Option<Reason>,
    /// Set when calls are handled in spans.
    spans: Option<Spans>,
}

/// The calls of one key.
struct SerialCalls<M> {
    /// The slot of the call that runs, or that ran last.
    at: usize,
    /// Calls that wait for the running one.
    waiting: VecDeque<PendingCall<M>>,
}

/// A slot for a running call.
struct WorkSlot {
    running: Option<Running>,
    waker: Waker,
}

struct Running {
    work: Work,
    key: Option<u64>,
    owner: Option<Arc<dyn InboundQueueOwner>>,
    caller: Option<CallOwner>,
    is_ask: bool,
    /// The trace context of the call.
    trace: Option<Box<TraceContext>>,
}

impl<M> SideBySide<M> {
    pub(crate) fn new(most: usize, spans: Option<Spans>) -> SideBySide<M> {
        SideBySide {
            most: most.clamp(1, SIDE_BY_SIDE_MAX),
            slots: Vec::new(),
            free: Vec::new(),
            keys: HashMap::new(),
            waiting: 0,
            due: VecDeque::new(),
            hashing: RandomState::new(),
            woken_slots: Arc::default(),
            woken: Vec::new(),
            failed: None,
            spans,
        }
    }

    fn running(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// True when a call has begun and has not ended.
    pub(crate) fn is_running(&self) -> bool {
        self.running() > 0
    }

    /// True when no call runs or waits.
    pub(crate) fn is_idle(&self) -> bool {
        self.running() == 0 && self.waiting == 0
    }

    pub(crate) fn is_full(&self) -> bool {
        self.running() + self.waiting >= self.most
    }

    /// The reason for which the actor must end, if one of the futures has panicked.
    pub(crate) fn failed(&mut self) -> Option<Reason> {
        self.failed.take()
    }

    /// Begins a call, or keeps it until the calls before it with its key have ended. The caller
    /// checks the limit.
    pub(crate) fn take<A>(&mut self, actor: &mut A, call: PendingCall<M>) -> Result<(), Reason>
    where
        A: Actor<Message = M>,
    {
        let key = A::serial_key(&call.message, &self.hashing);
        if let Some(key) = key {
            if let Some(serial) = self.keys.get_mut(&key) {
                if self.slots.get(serial.at).is_some_and(|place| is_asked_by(place, key, &call)) {
                    call.refuse_cycle();
                } else {
                    serial.waiting.push_back(call);
                    self.waiting += 1;
                }
                return Ok(());
            }
            self.keys.insert(key, SerialCalls { at: 0, waiting: VecDeque::new() });
        }
        self.begin(actor, call, key)
    }

    /// Begins a call that has waited for its key. False when none is due.
    pub(crate) fn begin_due<A>(&mut self, actor: &mut A) -> Result<bool, Reason>
    where
        A: Actor<Message = M>,
    {
        let Some(key) = self.due.pop_front() else { return Ok(false) };
        let waiting = self.keys.get_mut(&key).map(|serial| &mut serial.waiting);
        let Some(mut call) = waiting.and_then(VecDeque::pop_front) else { return Ok(true) };
        self.waiting -= 1;
        if call.reply.end_if_called_off() {
            let owner = call.owner.iter();
            owner.for_each(|owner| owner.handled(0, 1));
            self.leave(Some(key));
            return Ok(true);
        }
        self.begin(actor, call, Some(key)).map(|()| true)
    }

    /// Runs the first part of a call; a panic in it is the error, and its asker has been told.
    fn begin<A>(
        &mut self,
        actor: &mut A,
        call: PendingCall<M>,
        key: Option<u64>,
    ) -> Result<(), Reason>
    where
        A: Actor<Message = M>,
    {
        let PendingCall { message, mut reply, owner, caller, .. } = call;
        let _call = caller.as_ref().map(enter_call);
        let (is_ask, trace) = (reply.is_wanted(), reply.take_trace());
        let entered = trace.as_deref().copied().map(trace::enter);
        let span = spans::span::<A>(self.spans, &message);
        let first = || span.in_scope(|| actor.handle_side_by_side(message, reply));
        let work = catch_unwind(AssertUnwindSafe(first));
        drop(entered);
        match work.map_err(Reason::panicked)? {
            Some(work) if self.spans.is_some() => {
                let work = Box::pin(work.instrument(span));
                self.run(Running { work, key, owner, caller, is_ask, trace });
            }
            Some(work) => self.run(Running { work, key, owner, caller, is_ask, trace }),
            None => self.leave(key),
        }
        Ok(())
    }

    fn run(&mut self, running: Running) {
        let at = self.free.pop().unwrap_or(self.slots.len());
        if at == self.slots.len() {
            let waker =
                Waker::from(Arc::new(SlotWaker { at, woken_slots: self.woken_slots.clone() }));
            self.slots.push(WorkSlot { running: None, waker });
        }
        if let Some(serial) = running.key.and_then(|key| self.keys.get_mut(&key)) {
            serial.at = at;
        }
        self.slots[at].running = Some(running);
        // No wake is needed: the actor looks again before it sleeps.
        self.woken_slots.lock().wake_slot(at);
    }

    /// Polls the woken slots. True when there were some.
    pub(crate) fn poll(&mut self, context: &Context<'_>) -> bool {
        let mut woken = mem::take(&mut self.woken);
        self.woken_slots.lock().take(&mut woken, context.waker());
        let any = !woken.is_empty();
        for at in woken.drain(..) {
            self.poll_one(at);
        }
        self.woken = woken;
        any
    }

    fn poll_one(&mut self, at: usize) {
        let Some(WorkSlot { running: Some(running), waker }) = self.slots.get_mut(at) else {
            return;
        };
        let outcome = {
            // The future holds up no mailbox, so call cycles through it are allowed.
            let _guard = turn::side_by_side();
            let _call = running.caller.as_ref().map(enter_call);
            let _entered = running.trace.as_deref().copied().map(trace::enter);
            let mut context = Context::from_waker(waker);
            catch_unwind(AssertUnwindSafe(|| running.work.as_mut().poll(&mut context)))
        };
        match outcome {
            Ok(Poll::Pending) => return,
            Ok(Poll::Ready(())) => {
                let is_ask = running.is_ask;
                let owner = running.owner.iter();
                owner.for_each(|owner| owner.handled(u64::from(!is_ask), u64::from(is_ask)));
            }
            Err(payload) => self.failed = Some(Reason::panicked(payload)),
        }
        let ended = self.slots[at].running.take();
        self.free.push(at);
        self.leave(ended.and_then(|ended| ended.key));
    }

    /// Releases `key` after a call with it has ended.
    fn leave(&mut self, key: Option<u64>) {
        let Some(key) = key else { return };
        match self.keys.get(&key) {
            Some(serial) if !serial.waiting.is_empty() => self.due.push_back(key),
            _ => drop(self.keys.remove(&key)),
        }
    }

    /// Drops the calls that have not begun; their askers get `ActorStopped`.
    pub(crate) fn refuse_waiting(&mut self) {
        self.due.clear();
        self.waiting = 0;
        let keys = mem::take(&mut self.keys);
        while_ending(|| {
            for serial in keys.into_values() {
                for call in serial.waiting {
                    call.refuse();
                }
            }
        });
    }

    /// Drops all calls.
    pub(crate) fn clear(&mut self) {
        self.refuse_waiting();
        self.free.clear();
        let slots = mem::take(&mut self.slots);
        while_ending(|| drop(slots));
    }
}

/// True when the call with that key running in `place` itself awaits the answer to `call`.
fn is_asked_by<M>(place: &WorkSlot, key: u64, call: &PendingCall<M>) -> bool {
    let runs = place.running.as_ref().is_some_and(|running| running.key == Some(key));
    runs && call.reply.is_awaited_by(&place.waker)
}

impl<M> Drop for SideBySide<M> {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The slots that were woken.
#[derive(Default)]
struct WokenSlots(Mutex<Woken>);

#[derive(Default)]
struct Woken {
    /// Each slot at most once.
    slots: Vec<usize>,
    is_woken: Vec<bool>,
    actor: Option<Waker>,
}

impl WokenSlots {
    fn lock(&self) -> MutexGuard<'_, Woken> {
        // The data is consistent between any two statements, so a panic elsewhere has broken
        // nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Woken {
    /// Notes that `at` is to be polled.
    fn wake_slot(&mut self, at: usize) {
        if self.is_woken.len() <= at {
            self.is_woken.resize(at + 1, false);
        }
        if !mem::replace(&mut self.is_woken[at], true) {
            self.slots.push(at);
        }
    }

    /// Moves the woken slots into an empty list; the next wake of a slot wakes the actor.
    fn take(&mut self, into: &mut Vec<usize>, actor: &Waker) {
        mem::swap(&mut self.slots, into);
        into.iter().for_each(|at| self.is_woken[*at] = false);
        if !self.actor.as_ref().is_some_and(|old| old.will_wake(actor)) {
            self.actor = Some(actor.clone());
        }
    }
}

/// The waker of one slot.
struct SlotWaker {
    at: usize,
    woken_slots: Arc<WokenSlots>,
}

impl Wake for SlotWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut woken = self.woken_slots.lock();
        woken.wake_slot(self.at);
        let actor = woken.actor.take();
        drop(woken);
        actor.into_iter().for_each(Waker::wake);
    }
}
