//! Adapters of actors of other processes.

use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use wigwag_spin::SpinPolicy;

use super::{ImplementedBy, adapted};
use crate::error::{CallError, Disconnection};
use crate::lifecycle::end_watchers::{EndWatcher, NotLinked, NotWatched};
use crate::mailbox::backlog::parked::Ticket;
use crate::reason::Reason;
use crate::reference::answers::Answers;
use crate::reference::interface::Interface;
use crate::reference::route::{
    Acknowledgement, AskTiming, Attempt, ItemSource, PipedChannel, RemoteLink, RemotePipeline,
    Route, Slot, SmallReply,
};
use crate::reference::run_writer::RunOwner;
use crate::reference::value::RemoteActor;
use crate::reply::caller::Caller;

/// The route to an actor of another process whose interface is `A`, which implements others. The
/// actor's messages travel, and the replies are those of its calls.
pub(super) struct RemoteAdapter<A: Interface>(pub(super) Arc<dyn Route<A>>);

impl<I: ImplementedBy<A>, A: Interface> Route<I> for RemoteAdapter<A> {
    fn tell(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<()> {
        adapted::<I, A, _>(message, |its| self.0.tell(its, ticket, waker))
    }

    fn tell_acknowledged(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<Acknowledgement> {
        adapted::<I, A, _>(message, |its| self.0.tell_acknowledged(its, ticket, waker))
    }

    fn ask(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
        timing: AskTiming,
    ) -> Attempt<Slot> {
        adapted::<I, A, _>(message, |its| self.0.ask(its, ticket, waker, timing))
    }

    fn ask_piped(
        &self,
        message: &mut Option<I::Message>,
        name: &Arc<str>,
        schema_hash: u64,
    ) -> Option<PipedChannel> {
        adapted::<I, A, _>(message, |its| self.0.ask_piped(its, name, schema_hash))
    }

    fn end_reason(&self) -> Reason {
        self.0.end_reason()
    }

    fn stream(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
        ahead: Option<usize>,
    ) -> Attempt<Box<dyn ItemSource>> {
        adapted::<I, A, _>(message, |its| self.0.stream(its, ticket, waker, ahead))
    }

    fn reading(&self, value: &[u8], read: &mut dyn FnMut() -> bool) {
        self.0.reading(value, read);
    }

    fn remote_actor(&self) -> Option<RemoteActor> {
        self.0.remote_actor()
    }

    fn take_reply(&self, slot: Slot, into: &mut SmallReply) -> Option<usize> {
        self.0.take_reply(slot, into)
    }

    fn poll_reply(&self, slot: Slot, waker: &Waker) -> Poll<Result<Bytes, CallError>> {
        self.0.poll_reply(slot, waker)
    }

    fn begin_wait(&self, slot: Slot, limit: Duration) -> bool {
        self.0.begin_wait(slot, limit)
    }

    fn has_waited(&self, slot: Slot) -> bool {
        self.0.has_waited(slot)
    }

    fn pipeline(
        self: Arc<Self>,
        most: usize,
    ) -> Result<(Box<dyn RemotePipeline<I>>, usize), CallError> {
        let (asks, most) = self.0.clone().pipeline(most)?;
        Ok((Box::new(PipelineAdapter(asks)), most))
    }

    fn cancel(&self, slot: Slot) {
        self.0.cancel(slot);
    }

    fn disown(&self, slot: Slot) {
        self.0.disown(slot);
    }

    fn leave(&self, ticket: &mut Ticket) {
        self.0.leave(ticket);
    }

    fn target(&self) -> &Arc<str> {
        self.0.target()
    }

    fn has_ended(&self) -> bool {
        self.0.has_ended()
    }

    fn watch_end(&self, number: u64, watcher: EndWatcher) -> Result<(), NotWatched> {
        self.0.watch_end(number, watcher)
    }

    fn unwatch_end(&self, number: u64) {
        self.0.unwatch_end(number);
    }

    fn link(&self, link: RemoteLink) -> Result<(), NotLinked> {
        self.0.link(link)
    }

    fn unlink(&self, number: u64, reason: Option<&Reason>) {
        self.0.unlink(number, reason);
    }

    fn peer(&self) -> Option<Caller> {
        self.0.peer()
    }

    fn waiting(&self) -> usize {
        self.0.waiting()
    }

    fn disconnection(&self) -> Option<Disconnection> {
        self.0.disconnection()
    }

    fn is_over(&self, session: u64) -> bool {
        self.0.is_over(session)
    }

    fn is_behind_ask(&self) -> bool {
        self.0.is_behind_ask()
    }

    fn run_owner(&self) -> RunOwner {
        self.0.run_owner().without_runs()
    }

    fn spin_policy(&self) -> &SpinPolicy {
        self.0.spin_policy()
    }
}

/// The asks of a pipeline to such an actor.
struct PipelineAdapter<A: Interface>(Box<dyn RemotePipeline<A>>);

impl<I: ImplementedBy<A>, A: Interface> RemotePipeline<I> for PipelineAdapter<A> {
    fn ask(
        &mut self,
        number: u64,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<()> {
        adapted::<I, A, _>(message, |its| self.0.ask(number, its, ticket, waker))
    }

    fn poll_answers(
        &mut self,
        next: u64,
        into: &mut Answers,
        waker: &Waker,
    ) -> Poll<Result<(), CallError>> {
        self.0.poll_answers(next, into, waker)
    }

    fn leave(&mut self, asked: u64) {
        self.0.leave(asked);
    }

    fn run_owner(&self) -> RunOwner {
        self.0.run_owner().without_runs()
    }
}
