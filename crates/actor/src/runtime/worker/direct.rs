//! Calls that are handed to a sleeping actor past its mailbox.

use std::pin::Pin;
use std::task::{Context, Poll};

use super::{Worker, WorkerState};
use crate::lifecycle::handle::AnyActor;
use crate::mailbox::ready_queues::Source;
use crate::reason::Reason;
use crate::runtime::actor::Actor;
use crate::runtime::run::alone::{handle_encoded, handle_one};
use crate::runtime::run::handling::ChunkEnd;
use crate::runtime::side_by_side::SideBySide;
use crate::scheduler::DirectCall;

impl<A: Actor> Worker<A> {
    /// Polls the worker with a [direct call](crate::scheduler::ActorTask::poll_call), which is
    /// given to a sleeping actor without waiting mail. The actor's waker stays in the mailbox, so
    /// that mail that comes meanwhile wakes it.
    pub(crate) fn poll_call(
        &mut self,
        context: &mut Context<'_>,
        call: &mut DirectCall<'_>,
    ) -> Poll<Reason> {
        if let Some(end) = self.handle_direct(call) {
            self.mailbox.rests();
            match end {
                Some(end) => drop(self.follow_up(end)),
                None if !self.mailbox.control().is_marked() => {
                    let _: Poll<()> = self.rest();
                    return Poll::Pending;
                }
                None => {}
            }
        }
        Pin::new(self).poll(context)
    }

    /// Takes a direct call, unless something goes before it, and handles it. `None` if it was not
    /// taken.
    #[inline]
    fn handle_direct(&mut self, call: &mut DirectCall<'_>) -> Option<Option<ChunkEnd<A::Message>>> {
        match call {
            DirectCall::None => None,
            DirectCall::Local { message, asker } => {
                let message = message.downcast_mut::<Option<A::Message>>()?;
                let message = if self.takes_calls() { message.take()? } else { return None };
                let spans = self.spans();
                self.mailbox.works();
                Some(handle_one(&mut self.actor, message, asker.take(), &self.mailbox, spans))
            }
            DirectCall::Encoded { ask, source } => {
                let source = source.downcast_mut::<Option<Source<A::Message>>>()?;
                let source = if self.takes_calls() { source.take()? } else { return None };
                let spans = self.spans();
                self.mailbox.works();
                Some(handle_encoded(&mut self.actor, ask, source, &self.mailbox, spans))
            }
        }
    }

    /// True when nothing goes before a call that comes now.
    fn takes_calls(&mut self) -> bool {
        if !matches!(self.state, WorkerState::Ready) || self.mailbox.control().is_marked() {
            return false;
        }
        self.extras.as_ref().is_none_or(|extras| {
            let is_full = extras.side_by_side.as_ref().is_some_and(SideBySide::is_full);
            !extras.suspended && extras.unstashed.is_empty() && !is_full
        })
    }
}
