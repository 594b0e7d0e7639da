//! How the answers of a pipeline are taken.

use std::future::{Future, poll_fn};
use std::task::{Context, Poll, Waker};

use wigwag_wire::{DecodeError, Reader};

use super::{Pipeline, PipelineState};
use crate::call::Answerable;
use crate::call::ask::bad_reply;
use crate::error::CallError;
use crate::reference::answers::TakenAnswer;
use crate::reference::interface::Interface;

/// An answer with the tag of its ask. The result of the rare path is boxed: written to the place of
/// the common result, it would force that into memory, stored in parts and loaded at once, for
/// which a processor must wait.
type AnsweredAsk<R, C> = (C, Result<R, CallError>);

impl<I: Interface, R: Answerable, C> Pipeline<I, R, C> {
    /// The answer to the oldest ask whose answer was not taken, with what was given beside it;
    /// `None` when there is none.
    ///
    /// # Cancellation
    /// Dropped before it is ready, it has taken nothing.
    #[inline(always)]
    pub fn answer(&mut self) -> impl Future<Output = Option<(C, Result<R, CallError>)>> {
        poll_fn(|context| self.poll_answer(context))
    }

    /// [`answer`](Self::answer) for a future written by hand.
    #[inline(always)]
    pub fn poll_answer(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<(C, Result<R, CallError>)>> {
        if let Some((value, context)) = self.take_short() {
            return Poll::Ready(Some(match R::decode(&mut Reader::new(value)) {
                Ok(reply) => (context, Ok(reply)),
                Err(why) => *self.undecodable(context, why),
            }));
        }
        self.poll_answer_slowly(context.waker()).map(|answer| answer.map(|answer| *answer))
    }

    /// Takes the next answer if it has arrived; `None` if it has not, or if none is due.
    ///
    /// Within a turn, asks are sent at the end of the turn: a loop that calls this within a turn
    /// without awaiting anything waits for ever.
    #[inline(always)]
    pub fn try_answer(&mut self) -> Option<(C, Result<R, CallError>)> {
        if let Some((value, context)) = self.take_short() {
            return Some(match R::decode(&mut Reader::new(value)) {
                Ok(reply) => (context, Ok(reply)),
                Err(why) => *self.undecodable(context, why),
            });
        }
        self.try_answer_slowly().map(|answer| *answer)
    }

    /// Takes the answers that have come, in the order of the asks and at most so many, and says how
    /// many they were: `each` gets what was given beside the ask, and its answer. It takes less of the
    /// processor for each than [`try_answer`](Self::try_answer), which is the same otherwise.
    ///
    /// # Panics
    /// When `each` does. That answer is taken then, and those behind it are not.
    #[inline(always)]
    pub fn take_ready(
        &mut self,
        most: usize,
        mut each: impl FnMut(C, Result<R, CallError>),
    ) -> usize {
        let end = self.taken + (most as u64).min(self.len() as u64);
        let before = self.taken;
        while self.taken < end {
            if let PipelineState::Remote { answers, .. } = &mut self.state {
                let mut front = answers.front();
                // An answer that cannot be decoded stays, and the slow path reports it.
                while self.taken < end
                    && let Some(value) = front.short()
                    && let Ok(reply) = R::decode(&mut Reader::new(value))
                    && let Some(context) = self.contexts.pop()
                {
                    front.take(value);
                    self.taken += 1;
                    each(context, Ok(reply));
                }
                if self.taken == end {
                    break;
                }
            }
            let Some(answer) = self.try_answer_slowly() else { break };
            let (context, reply) = *answer;
            each(context, reply);
        }
        (self.taken - before) as usize
    }

    /// A short answer that is there is decoded in place; everything else is rarer and out of line.
    #[inline(always)]
    fn take_short(&mut self) -> Option<(&[u8], C)> {
        let PipelineState::Remote { answers, .. } = &mut self.state else { return None };
        let (value, context) = (answers.take_short()?, self.contexts.pop()?);
        self.taken += 1;
        Some((value, context))
    }

    #[cold]
    fn undecodable(&self, context: C, why: DecodeError) -> Box<AnsweredAsk<R, C>> {
        Box::new((context, Err(bad_reply(self.target.target(), &why))))
    }

    #[inline(never)]
    fn try_answer_slowly(&mut self) -> Option<Box<AnsweredAsk<R, C>>> {
        match self.poll_answer_slowly(Waker::noop()) {
            Poll::Ready(answer) => answer,
            Poll::Pending => None,
        }
    }

    #[inline(never)]
    fn poll_answer_slowly(&mut self, waker: &Waker) -> Poll<Option<Box<AnsweredAsk<R, C>>>> {
        if self.is_empty() {
            return Poll::Ready(None);
        }
        let Poll::Ready(reply) = self.poll_reply(waker) else {
            return Poll::Pending;
        };
        self.taken += 1;
        Poll::Ready(self.contexts.pop().map(|context| Box::new((context, reply))))
    }

    fn poll_reply(&mut self, waker: &Waker) -> Poll<Result<R, CallError>> {
        let target = self.target.target();
        let (asks, answers) = match &mut self.state {
            PipelineState::Remote { asks, answers, .. } => (asks, answers),
            PipelineState::Local(places) => {
                let Some(place) = places.front() else { return Poll::Pending };
                let Poll::Ready(outcome) = place.poll(waker) else { return Poll::Pending };
                places.pop_front();
                return Poll::Ready(outcome.map_err(|(kind, detail)| CallError {
                    kind,
                    target: target.clone(),
                    detail,
                }));
            }
        };
        if answers.is_empty() {
            match asks.poll_answers(self.taken, answers, waker) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(())) => {}
            }
        }
        let decode = |value: &[u8]| {
            R::decode(&mut Reader::new(value)).map_err(|why| bad_reply(target, &why))
        };
        match answers.take() {
            None => Poll::Pending,
            Some(TakenAnswer::Short(value)) => Poll::Ready(decode(value)),
            Some(TakenAnswer::Aside(Ok(value))) => Poll::Ready(decode(&value)),
            Some(TakenAnswer::Aside(Err((kind, text)))) => {
                Poll::Ready(Err(CallError::new(kind, target).with_detail(&text)))
            }
        }
    }
}
