//! A pipeline over several incarnations of an actor.
//!
//! Each incarnation that was asked has a part: a pipeline of its own, with the asks from one number
//! to another. New asks go to the last part, answers come from the first.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Poll, Waker};

use wigwag_actor::reference::answers::Answers;
use wigwag_actor::reference::route::RemotePipeline;
use wigwag_actor::reference::run_writer::RunOwner;
use wigwag_actor::{Attempt, CallError, CallErrorKind, Interface, Route, Ticket};

use super::Reconnecting;
use crate::send::remote::RingPipeline;
use crate::session::buffers;

/// The asks of a pipeline to an actor that comes back.
pub(crate) struct ReconnectingPipeline<I: Interface> {
    route: Arc<Reconnecting<I>>,
    run_owner: RunOwner,
    /// Asks that may be under way at once, at each incarnation.
    most: usize,
    /// In the order of their asks. All but the last have ended.
    parts: VecDeque<Part<I>>,
}

/// The asks to one incarnation.
struct Part<I> {
    incarnation: u32,
    /// The number of the first ask.
    first: u64,
    /// The number after the last ask, once there is another incarnation.
    end: Option<u64>,
    asks: RingPipeline<I>,
}

impl<I: Interface> ReconnectingPipeline<I> {
    pub(super) fn open(
        route: Arc<Reconnecting<I>>,
        most: usize,
    ) -> Result<(ReconnectingPipeline<I>, usize), CallError> {
        let present = route.present::<()>(&mut Ticket::default(), None);
        let (incarnation, remote) = present.map_err(|refused| match refused {
            Attempt::Failed(error) => *error,
            _ => CallError::new(CallErrorKind::NotDelivered, route.target()),
        })?;
        let run_owner = RunOwner::new(remote.is_fixed());
        let (asks, most) = remote.open_ring(most, run_owner)?;
        let parts = VecDeque::from([Part { incarnation, first: 0, end: None, asks }]);
        Ok((ReconnectingPipeline { route, run_owner, most, parts }, most))
    }

    /// Ends the last part, whose incarnation is lost: ask `next` and those behind it go to another.
    fn end_part(&mut self, next: u64) {
        if let Some(part) = self.parts.back_mut().filter(|part| part.end.is_none()) {
            // The run that the turn may still hold open belongs to that incarnation.
            buffers::publish(part.asks.session());
            part.end = Some(next);
            if part.first == next {
                part.asks.leave(0);
                self.parts.pop_back();
            }
        }
    }

    /// Opens the part of the present incarnation, which begins with ask `next`. Between two
    /// incarnations, a sender with a waker is parked.
    fn open_part(
        &mut self,
        next: u64,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Result<(), Attempt<()>> {
        let (incarnation, remote) = self.route.present(ticket, waker)?;
        let failed = |error| Attempt::Failed(Box::new(error));
        let (mut asks, most) = remote.open_ring(self.most, self.run_owner).map_err(failed)?;
        if most < self.most {
            asks.leave(0);
            let text = "the peer has no place for as many asks of a pipeline as its predecessor";
            let error = CallError::new(CallErrorKind::Overloaded, self.route.target());
            return Err(failed(error.with_detail(text)));
        }
        self.parts.push_back(Part { incarnation, first: next, end: None, asks });
        Ok(())
    }
}

impl<I: Interface> RemotePipeline<I> for ReconnectingPipeline<I> {
    fn ask(
        &mut self,
        next: u64,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<()> {
        loop {
            let open = self.parts.back_mut().filter(|part| part.end.is_none());
            let Some(part) = open.filter(|part| !part.asks.session().has_ended()) else {
                self.end_part(next);
                match self.open_part(next, ticket, waker) {
                    Ok(()) => continue,
                    Err(refused) => return refused,
                }
            };
            let incarnation = part.incarnation;
            match part.asks.ask(next - part.first, message, ticket, waker) {
                Attempt::Failed(error) if self.route.may_wait(incarnation, &error) => {
                    self.end_part(next);
                }
                outcome => return outcome,
            }
        }
    }

    fn poll_answers(
        &mut self,
        next: u64,
        into: &mut Answers,
        waker: &Waker,
    ) -> Poll<Result<(), CallError>> {
        while let Some(part) = self.parts.front_mut()
            && let Some(end) = part.end.filter(|end| *end <= next)
        {
            part.asks.leave(end - part.first);
            self.parts.pop_front();
        }
        match self.parts.front_mut() {
            Some(part) => part.asks.poll_answers(next - part.first, into, waker),
            None => Poll::Pending,
        }
    }

    fn leave(&mut self, asked: u64) {
        for part in &mut self.parts {
            part.asks.leave(part.end.unwrap_or(asked) - part.first);
        }
    }

    fn reading(&self, value: &[u8], read: &mut dyn FnMut() -> bool) {
        match self.parts.front() {
            Some(part) => part.asks.reading(value, read),
            None => drop(read()),
        }
    }

    fn run_owner(&self) -> RunOwner {
        self.run_owner
    }
}
