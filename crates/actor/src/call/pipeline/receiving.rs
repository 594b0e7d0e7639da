//! Taking the answers of a pipeline.

use std::future::{Future, poll_fn};
use std::task::{Context, Poll, Waker};

use wigwag_wire::{DecodeError, Reader};

use super::{Pipeline, PipelineState};
use crate::call::Answerable;
use crate::call::answer::bad_reply;
use crate::error::CallError;
use crate::reference::answers::TakenAnswer;
use crate::reference::interface::Interface;

/// An answer with the context of its ask. The rare path returns it in a box: if it were written to
/// the place that the fast path returns in registers, that place would live in memory, stored in
/// parts and loaded as a whole, which stalls a processor.
type AnsweredAsk<R, C> = (C, Result<R, CallError>);

impl<I: Interface, R: Answerable<I>, C> Pipeline<I, R, C> {
    /// The answer to the oldest ask whose answer was not taken, with the context of the ask; `None`
    /// when no ask is outstanding.
    ///
    /// # Cancellation
    /// A future that is dropped before it is ready has taken nothing.
    #[inline(always)]
    pub fn answer(&mut self) -> impl Future<Output = Option<(C, Result<R, CallError>)>> {
        poll_fn(|context| self.poll_answer(context))
    }

    /// Polls for the next answer: [`answer`](Self::answer) for a hand-written future.
    #[inline(always)]
    pub fn poll_answer(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<(C, Result<R, CallError>)>> {
        if let Some((value, context)) = self.take_short() {
            return Poll::Ready(Some(match R::decode_reply(&mut Reader::new(value)) {
                Ok(reply) => (context, Ok(reply)),
                Err(why) => {
                    let value = Vec::from(value);
                    *self.undecodable(context, why, &value)
                }
            }));
        }
        self.poll_answer_slowly(context.waker()).map(|answer| answer.map(|answer| *answer))
    }

    /// Takes the oldest answer if it has arrived; `None` when it has not, or when no ask is
    /// outstanding.
    ///
    /// Inside a turn the asks are sent at the end of the turn: a loop that calls this there without
    /// awaiting anything never ends.
    #[inline(always)]
    pub fn try_answer(&mut self) -> Option<(C, Result<R, CallError>)> {
        if let Some((value, context)) = self.take_short() {
            return Some(match R::decode_reply(&mut Reader::new(value)) {
                Ok(reply) => (context, Ok(reply)),
                Err(why) => {
                    let value = Vec::from(value);
                    *self.undecodable(context, why, &value)
                }
            });
        }
        self.try_answer_slowly().map(|answer| *answer)
    }

    /// Takes the answers that have arrived, in the order of the asks and at most `most`, and
    /// returns their number. `each` gets the context of the ask and its answer. It costs less per
    /// answer than [`try_answer`](Self::try_answer) and is otherwise equivalent.
    ///
    /// # Panics
    /// When `each` panics. Its answer is then taken; the answers behind it are not.
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
                // An answer that cannot be decoded stays: the slow path reports it.
                while self.taken < end
                    && let Some(value) = front.short()
                    && let Ok(reply) = R::decode_reply(&mut Reader::new(value))
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

    /// Takes a short answer that has arrived, for the caller to decode in place; all other cases
    /// are rare and stay out of line.
    #[inline(always)]
    fn take_short(&mut self) -> Option<(&[u8], C)> {
        let PipelineState::Remote { answers, .. } = &mut self.state else { return None };
        let (value, context) = (answers.take_short()?, self.contexts.pop()?);
        self.taken += 1;
        Some((value, context))
    }

    /// An answer that was not decoded: for lack of the session that it has come over, or for good.
    #[cold]
    fn undecodable(&self, context: C, why: DecodeError, value: &[u8]) -> Box<AnsweredAsk<R, C>> {
        let mut read = Err(why);
        if let (Err(DecodeError::NeedsSession), PipelineState::Remote { asks, .. }) =
            (&read, &self.state)
        {
            asks.reading(value, &mut || {
                read = R::decode_reply(&mut Reader::new(value));
                read.is_ok()
            });
        }
        Box::new((context, read.map_err(|why| bad_reply(self.target.target(), &why))))
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
                    detail,
                    ..CallError::new(kind, target)
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
            let mut read = R::decode_reply(&mut Reader::new(value));
            if let Err(DecodeError::NeedsSession) = read {
                asks.reading(value, &mut || {
                    read = R::decode_reply(&mut Reader::new(value));
                    read.is_ok()
                });
            }
            read.map_err(|why| bad_reply(target, &why))
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
