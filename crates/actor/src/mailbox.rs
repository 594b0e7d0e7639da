//! Where the mail of an actor waits.
//!
//! A mailbox is a list of queues that have mail: one for all local senders, one (a lane) for each
//! session. The actor serves them in turn, a chunk each, so a flood from one peer delays the
//! others by a chunk. A queue is listed when its first mail comes, and that is the only moment at
//! which a sender may have to wake the actor. Control mail lies apart (`control`), and before it.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use wigwag_wire::call::Calls;

use crate::control::{Control, announce};
use crate::error::CallErrorKind;
use crate::handle::{Living, fresh_number};
use crate::interface::Message;
use crate::lane::LaneOwner;
use crate::letters::{Loss, Origin};
use crate::mails::{Asker, Mails, Taking as TakingMails};
use crate::options::WhenFull;
use crate::parked::Ticket;
use crate::queue::{Chunk, Pushed, Queue};
use crate::reason::Reason;
use crate::reply::Reply;
use crate::schema::Schema;
use crate::timers::{TimerError, Timers};

/// All the mail of one actor.
pub(crate) struct Mailbox<M> {
    number: u64,
    /// The actor's type, for errors.
    target: Arc<str>,
    local: Arc<Queue<M>>,
    control: Control,
    state: Mutex<State<M>>,
}

/// What the actor does next.
pub(crate) enum Next<M> {
    /// There is control mail.
    Orders,
    /// These calls.
    Calls(Taken<M>),
    /// Nothing any more: nobody can send, and all was handled.
    Over,
}

/// A chunk for the actor, and the queue that it came from and returns to.
pub(crate) type Taken<M> = (Chunk<M>, Arc<Queue<M>>);

struct State<M> {
    listed: VecDeque<Arc<Queue<M>>>,
    /// Every lane that was opened; for closing. Lanes whose session is gone drop out.
    lanes: Vec<Weak<Queue<M>>>,
    actor: Option<Waker>,
    /// Local references; without one the actor ends when the mail does.
    references: usize,
    /// No mail is let in any more: the actor ends when what is in was handled.
    sealed: bool,
    closed: bool,
    /// Nearly no actor has any.
    timers: Option<Arc<Timers<M>>>,
}

impl<M> Mailbox<M> {
    pub(crate) fn new(schema: &'static Schema, capacity: usize, when_full: WhenFull) -> Mailbox<M>
    where
        M: Message,
    {
        let state = State {
            listed: VecDeque::new(),
            lanes: Vec::new(),
            actor: None,
            references: 0,
            sealed: false,
            closed: false,
            timers: None,
        };
        let number = fresh_number();
        let origin = Origin { number, schema, method: M::method };
        Mailbox {
            number,
            target: schema.name.into(),
            local: Arc::new(Queue::of_senders(capacity, when_full, origin)),
            control: Control::new(),
            state: Mutex::new(state),
        }
    }

    pub(crate) fn target(&self) -> &Arc<str> {
        &self.target
    }

    /// One call of a local sender. Takes one lock, and a second one only when the queue was empty.
    pub(crate) fn push(
        &self,
        message: &mut Option<M>,
        asker: Asker,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Pushed {
        let pushed = self.local.push(message, asker, ticket, waker);
        if let Pushed::In { list: true } = pushed {
            self.list(&self.local);
        }
        pushed
    }

    /// A tell was refused, because the actor has ended.
    #[cold]
    pub(crate) fn lost(&self, message: &M) {
        self.local.origin.iter().for_each(|origin| origin.lost(Loss::Refused, message));
    }

    /// What a turn of a local sender has staged; gives the places that it may fill next, of the
    /// `want` that it asks for. Those that it leased and did not use go back.
    pub(crate) fn publish(&self, mails: &mut Mails<M>, unused: usize, want: usize) -> usize {
        if mails.is_empty() && unused == 0 && want == 0 {
            return 0;
        }
        let (pushed, leased) = self.local.publish_staged(mails, unused, want);
        match pushed {
            Pushed::In { list: true } => self.list(&self.local),
            Pushed::In { list: false } | Pushed::Full | Pushed::Refused => {}
            Pushed::Closed => refuse_askers(&mut mails.drain(), self.local.origin),
        }
        leased
    }

    /// A local sender that waited gives up.
    pub(crate) fn leave(&self, ticket: &mut Ticket) {
        self.local.leave(ticket);
    }

    /// The queue has got its first mail: the actor must hear of it.
    pub(crate) fn list(&self, queue: &Arc<Queue<M>>) {
        let mut state = self.lock();
        state.listed.push_back(queue.clone());
        let actor = state.actor.take();
        drop(state);
        actor.into_iter().for_each(Waker::wake);
    }

    /// A queue for one session.
    pub(crate) fn open_lane(&self, owner: Arc<dyn LaneOwner>) -> Arc<Queue<M>> {
        let mut lane = Queue::new(Some(owner.clone()), usize::MAX);
        lane.origin = self.local.origin;
        let lane = Arc::new(lane);
        let mut state = self.lock();
        if state.closed || state.sealed {
            drop(state);
            lane.close();
            owner.stopped();
            return lane;
        }
        state.lanes.retain(|lane| lane.strong_count() > 0);
        state.lanes.push(Arc::downgrade(&lane));
        lane
    }

    /// What the actor does next.
    pub(crate) fn poll_next(&self, context: &Context<'_>) -> Poll<Next<M>> {
        loop {
            if self.control.is_marked() {
                return Poll::Ready(Next::Orders);
            }
            let mut state = self.lock();
            let Some(queue) = state.listed.pop_front() else {
                // Whoever sets the mark looks for the actor's waker next, under this lock.
                if self.control.is_marked() {
                    continue;
                }
                if state.references == 0 || state.sealed {
                    return Poll::Ready(Next::Over);
                }
                if !state.actor.as_ref().is_some_and(|old| old.will_wake(context.waker())) {
                    state.actor = Some(context.waker().clone());
                }
                return Poll::Pending;
            };
            drop(state);
            if let Some((chunk, more)) = queue.take() {
                if more {
                    self.lock().listed.push_back(queue.clone());
                }
                return Poll::Ready(Next::Calls((chunk, queue)));
            }
        }
    }

    /// Puts back calls that were taken and not handled, before all others of their queue.
    pub(crate) fn put_back(&self, chunk: Chunk<M>, queue: &Arc<Queue<M>>) {
        if chunk.calls() == 0 {
            return;
        }
        match queue.put_back(chunk) {
            Ok(true) => self.lock().listed.push_front(queue.clone()),
            Ok(false) => {}
            Err(chunk) => refuse(chunk, queue),
        }
    }

    /// There is one local reference more.
    pub(crate) fn refer(&self) {
        self.lock().references += 1;
    }

    /// One is gone; without any the actor ends when the mail does.
    pub(crate) fn release(&self) {
        let mut state = self.lock();
        state.references -= 1;
        if state.references > 0 {
            return;
        }
        let actor = state.actor.take();
        drop(state);
        actor.into_iter().for_each(Waker::wake);
    }

    /// Lets nothing in any more; what is in is handled still.
    pub(crate) fn seal(&self)
    where
        M: Send + 'static,
    {
        let mut state = self.lock();
        state.sealed = true;
        let timers = state.timers.clone();
        let lanes: Vec<_> = state.lanes.iter().filter_map(Weak::upgrade).collect();
        drop(state);
        if let Some(timers) = timers {
            timers.close();
        }
        for queue in lanes.iter().chain([&self.local]) {
            queue.seal();
        }
    }

    pub(crate) fn is_sealed(&self) -> bool {
        self.lock().sealed
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.local.is_closed()
    }

    /// The actor is gone: whoever waits for it hears so.
    fn close(&self)
    where
        M: Send + 'static,
    {
        let mut state = self.lock();
        state.closed = true;
        let timers = state.timers.take();
        drop(state);
        // Before its queues are: none is listed any more when it has closed.
        if let Some(timers) = timers {
            timers.close();
        }
        let mut state = self.lock();
        let lanes: Vec<_> = state.lanes.drain(..).filter_map(|lane| lane.upgrade()).collect();
        // Not before: the list alone keeps a lane that its session has let go of with mail in it.
        let listed = std::mem::take(&mut state.listed);
        drop(state);
        let timers = listed.iter().filter(|queue| queue.is_timer);
        timers.for_each(|queue| queue.close().into_iter().for_each(drop));
        drop(listed);
        for queue in lanes.iter().chain([&self.local]) {
            for chunk in queue.close() {
                refuse(chunk, queue);
            }
            if let Some(owner) = &queue.owner {
                owner.stopped();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<M>> {
        // Whole between two statements, so a panic elsewhere has broken nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M: Send + 'static> Mailbox<M> {
    /// The actor's timers; from now on it has some.
    pub(crate) fn timers(self: &Arc<Self>) -> Result<Arc<Timers<M>>, TimerError> {
        let mut state = self.lock();
        if state.closed || state.sealed {
            return Err(TimerError::Ended);
        }
        let new = || Arc::new(Timers::new(Arc::downgrade(self)));
        Ok(state.timers.get_or_insert_with(new).clone())
    }
}

impl<M: Send + 'static> Living for Mailbox<M> {
    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn target(&self) -> &Arc<str> {
        &self.target
    }

    fn control(&self) -> &Control {
        &self.control
    }

    fn wake(&self) {
        let actor = self.lock().actor.take();
        actor.into_iter().for_each(Waker::wake);
    }

    fn waiting(&self) -> usize {
        let state = self.lock();
        let lanes: Vec<_> = state.lanes.iter().filter_map(Weak::upgrade).collect();
        let timers =
            state.listed.iter().filter(|queue| queue.is_timer && queue.waiting() > 0).count();
        drop(state);
        let lanes = lanes.iter().chain([&self.local]).map(|queue| queue.waiting());
        lanes.sum::<usize>() + timers
    }

    fn dropped(&self) -> u64 {
        self.local.dropped()
    }

    fn end(self: Arc<Self>, reason: Reason) {
        let Some(watchers) = self.control.end(&reason) else { return };
        self.close();
        self.wake();
        let this: Arc<dyn Living> = self;
        announce(watchers, &this, &reason);
    }
}

/// Tells everybody who waits for an answer to one of the calls that the actor has stopped; the others
/// are lost.
pub(crate) fn refuse<M>(chunk: Chunk<M>, queue: &Queue<M>) {
    match chunk {
        Chunk::Mails(mut mails) => refuse_askers(&mut mails.drain(), queue.origin),
        Chunk::Frames(frames) => refuse_calls(frames.left(), queue),
    }
}

pub(crate) fn refuse_askers<M>(mails: &mut TakingMails<'_, M>, origin: Option<Origin<M>>) {
    let lost = |message: &M| origin.iter().for_each(|origin| origin.lost(Loss::Ended, message));
    let askers = mails.split(lost);
    askers.into_iter().for_each(|asker| asker.fail(CallErrorKind::ActorStopped, None));
}

pub(crate) fn refuse_calls<M>(calls: Calls<'_>, queue: &Queue<M>) {
    for call in calls {
        match (call.asker, &queue.origin) {
            (None, Some(origin)) => origin.lost_method(Loss::Ended, call.method),
            (asker, _) => {
                let mut reply = Reply::new(asker.into(), queue.owner.as_ref());
                reply.fail(CallErrorKind::ActorStopped, "");
            }
        }
    }
}
