//! Pipelines: many asks under way at once, with their answers in the order of the asks.
//!
//! An [`Answer`](crate::Answer) is one future per ask. A caller with thousands of asks for one
//! actor does not need as many futures: a pipeline numbers its asks, keeps the caller's context
//! beside each, and takes all answers that have arrived at once.

mod paged_queue;
mod receiving;

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use crate::call::pipeline::paged_queue::PagedQueue;
use crate::call::time_limit::TimeLimit;
use crate::call::{Answerable, Call, full, refused};
use crate::error::{CallError, CallErrorKind, Refused, Unsent};
use crate::mailbox::backlog::parked::Ticket;
use crate::reference::answers::Answers;
use crate::reference::interface::Interface;
use crate::reference::route::{Attempt, RemotePipeline};
use crate::reference::run_writer::{self, RunOwner};
use crate::reference::{Place, Priority, Ref};
use crate::reply::LocalReply;
use crate::reply::one_shot::OneShot;

/// Many asks to one actor under way at once; [`Ref::pipeline`] creates it.
///
/// The context that the caller gives with each ask comes back with its answer. Answers come in the
/// order of the asks. The documentation of the crate `wigwag` has a longer example.
///
/// ```
/// # use wigwag_actor::{Answerable, Call, CallError, Interface, Ref};
/// # async fn sum<I: Interface>(
/// #     target: &Ref<I>, get: impl Fn(usize) -> Call<'static, I, u64>,
/// # ) -> Result<u64, CallError> where u64: Answerable<I> {
/// let mut pipeline = target.pipeline::<u64, usize>(100)?;
/// for index in 0..100 {
///     pipeline.push(get(index), index).await.map_err(|unsent| unsent.refused.error)?;
/// }
/// let mut sum = 0;
/// while let Some((_index, value)) = pipeline.answer().await {
///     sum += value?;
/// }
/// # Ok(sum)
/// # }
/// ```
///
/// # Cancellation
/// Dropping the pipeline cancels the asks that have no answer yet, as dropping an
/// [`Answer`](crate::Answer) does; of those to an actor of another process the 131,072 last ones.
pub struct Pipeline<I: Interface, R: Answerable<I>, C = ()> {
    target: Ref<I>,
    state: PipelineState<I, R>,
    /// The caller's context of each ask whose answer was not taken.
    contexts: PagedQueue<C>,
    most: usize,
    /// Asks that were sent. Counted here and not by the sending turn: a pipeline may move to
    /// another thread while the first thread's turn still holds some of its asks.
    asked: u64,
    /// How many of the asks had their answers taken.
    taken: u64,
}

enum PipelineState<I: Interface, R> {
    Local(VecDeque<Arc<OneShot<R>>>),
    Remote { asks: Box<dyn RemotePipeline<I>>, run_owner: RunOwner, answers: Answers },
}

impl<I: Interface> Ref<I> {
    /// Creates a pipeline of up to `most` asks at once; see [`Pipeline`].
    ///
    /// # Limits
    /// To another process a pipeline has at most 2,097,152 places. The session keeps 65,536 more
    /// for other pipelines and for asks without one.
    ///
    /// # Errors
    /// `Overloaded` when the session has no place left, and the errors that a call would meet.
    pub fn pipeline<R: Answerable<I>, C>(
        &self,
        most: usize,
    ) -> Result<Pipeline<I, R, C>, CallError> {
        Pipeline::new(self, most)
    }
}

impl<I: Interface, R: Answerable<I>, C> Pipeline<I, R, C> {
    pub(crate) fn new(target: &Ref<I>, most: usize) -> Result<Pipeline<I, R, C>, CallError> {
        let most = most.max(1);
        let target = target.resolved();
        let (state, most) = match &target.place {
            Place::Piped(_) => {
                let error = CallError::new(CallErrorKind::NotDelivered, target.target());
                return Err(
                    error.with_detail("the answer that leads to the actor has not come yet")
                );
            }
            Place::Local(_) | Place::Adapted(_) => (PipelineState::Local(VecDeque::new()), most),
            Place::Remote(route, _) => {
                let (asks, most) = route.clone().pipeline(most)?;
                let run_owner = asks.run_owner();
                (PipelineState::Remote { asks, run_owner, answers: Answers::default() }, most)
            }
        };
        Ok(Pipeline {
            target: target.clone(),
            state,
            contexts: PagedQueue::new(),
            most,
            asked: 0,
            taken: 0,
        })
    }

    /// The number of asks whose answers were not taken yet.
    #[inline]
    pub fn len(&self) -> usize {
        (self.asked - self.taken) as usize
    }

    /// True when all answers were taken.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True when an answer must be taken before the next ask.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len() >= self.most
    }

    /// The number of asks that may be under way at once; less than requested if the session has too
    /// few places.
    pub fn capacity(&self) -> usize {
        self.most
    }

    /// Sends an ask if there is room now, and hands it back otherwise.
    ///
    /// # Errors
    /// `Full` when [`is_full`](Self::is_full) or when there is no room on the way; `NoSuchActor`
    /// when the call was made with another reference; the other errors of a call.
    #[inline(always)]
    pub fn try_push(
        &mut self,
        call: Call<'_, I, R>,
        context: C,
    ) -> Result<(), Unsent<I::Message, C>> {
        if let PipelineState::Remote { run_owner, .. } = &self.state
            && !self.is_full()
            && self.target.is_same(call.target)
            && run_writer::add(*run_owner, &call.message)
        {
            self.note(context);
            return Ok(());
        }
        self.try_push_alone(call, context)
    }

    /// Sends an ask that cannot join the batch of the asks before it. A method of its own, so that
    /// the common path of a busy pipeline stays short.
    #[inline(never)]
    fn try_push_alone(
        &mut self,
        call: Call<'_, I, R>,
        context: C,
    ) -> Result<(), Unsent<I::Message, C>> {
        let mut message = Some(call.message);
        let attempt = match self.leads_to(call.target) {
            Ok(()) => self.send(&mut message, &mut Ticket::default(), None),
            Err(error) => Attempt::Failed(error),
        };
        let refused = match attempt {
            Attempt::Sent(()) => {
                self.note(context);
                return Ok(());
            }
            Attempt::Full => full(&self.target, message),
            Attempt::Failed(error) => refused(message, *error),
        };
        Err(Unsent { refused, context })
    }

    /// Sends an ask, waiting for room on the way as long as the call's time limit allows. The time
    /// until the answer is not limited.
    ///
    /// # Errors
    /// Those of [`try_push`](Self::try_push). Only taking an answer makes room in a full pipeline,
    /// so a full pipeline gives `Full` at once.
    ///
    /// # Cancellation
    /// If the future is dropped while it waits, the message is not sent and is dropped with its
    /// context.
    pub async fn push(
        &mut self,
        call: Call<'_, I, R>,
        context: C,
    ) -> Result<(), Unsent<I::Message, C>> {
        let limit = TimeLimit::new(call.timeout);
        match self.try_push(call, context) {
            Err(Unsent { refused: Refused { message, error }, context })
                if error.is_only_now() && !self.is_full() =>
            {
                self.wait(message, context, limit).await
            }
            outcome => outcome,
        }
    }

    async fn wait(
        &mut self,
        message: I::Message,
        context: C,
        mut limit: TimeLimit,
    ) -> Result<(), Unsent<I::Message, C>> {
        let mut message = Some(message);
        let mut waiting = ParkedPush { target: self.target.clone(), ticket: Ticket::default() };
        let sent = poll_fn(|polling| {
            match self.send(&mut message, &mut waiting.ticket, Some(polling.waker())) {
                Attempt::Sent(()) => Poll::Ready(Ok(())),
                Attempt::Failed(error) => Poll::Ready(Err(*error)),
                Attempt::Full => limit.poll(polling).map(|kind| Err(waiting.target.gave_up(kind))),
            }
        });
        match sent.await {
            Ok(()) => {
                self.note(context);
                Ok(())
            }
            Err(error) => Err(Unsent { refused: refused(message, error), context }),
        }
    }

    /// Counts an ask that was sent.
    #[inline(always)]
    fn note(&mut self, context: C) {
        self.contexts.push(context);
        self.asked += 1;
    }

    /// Checks that the call was made with this pipeline's reference.
    fn leads_to(&self, target: &Ref<I>) -> Result<(), Box<CallError>> {
        if self.target.is_same(target) { Ok(()) } else { Err(self.elsewhere(target)) }
    }

    #[cold]
    fn elsewhere(&self, target: &Ref<I>) -> Box<CallError> {
        let text = "the pipeline was made from another reference; make the call with that one";
        let error = CallError::new(CallErrorKind::NoSuchActor, target.target());
        Box::new(error.with_detail(text))
    }

    fn send(
        &mut self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<()> {
        if self.is_full() {
            return Attempt::Full;
        }
        match &mut self.state {
            PipelineState::Remote { asks, .. } => asks.ask(self.asked, message, ticket, waker),
            PipelineState::Local(places) => {
                let place = Arc::new(OneShot::new());
                let asker = Some(place.clone() as Arc<dyn LocalReply>);
                let attempt = self.target.send_local(message, asker, ticket, waker);
                if let Attempt::Sent(()) = attempt {
                    places.push_back(place);
                }
                attempt
            }
        }
    }
}

impl<I: Interface, R: Answerable<I>, C> Drop for Pipeline<I, R, C> {
    fn drop(&mut self) {
        match &mut self.state {
            PipelineState::Local(places) => places.iter().for_each(|place| place.abandon()),
            PipelineState::Remote { asks, .. } => asks.leave(self.asked),
        }
    }
}

/// A sender that may be parked; dropping it gives up its place in the queue.
struct ParkedPush<I: Interface> {
    target: Ref<I>,
    ticket: Ticket,
}

impl<I: Interface> Drop for ParkedPush<I> {
    fn drop(&mut self) {
        self.target.leave(Priority::Ordinary, &mut self.ticket);
    }
}
