//! The ways in which a reference that comes back sends to its present incarnation, and follows it.

use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use wigwag_actor::lifecycle::end_watchers::{EndWatcher, NotLinked, NotWatched};
use wigwag_actor::reference::route::{Acknowledgement, RemoteLink, RemotePipeline};
use wigwag_actor::reference::run_writer::RunOwner;
use wigwag_actor::reference::value::RemoteActor;
use wigwag_actor::{
    AskTiming, Attempt, CallError, CallErrorKind, Caller, Disconnection, Interface, ItemSource,
    PipedChannel, Reason, Route, Slot, SmallReply, Ticket,
};
use wigwag_net::clock;
use wigwag_spin::SpinPolicy;

use super::Reconnecting;
use crate::reconnecting::attachments::{Attachments, Way};
use crate::reconnecting::pipeline::ReconnectingPipeline;
use crate::send::remote::Remote;

impl<I: Interface> Route<I> for Reconnecting<I> {
    fn tell(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<()> {
        self.tell_by(ticket, waker, |remote, ticket| remote.tell(message, ticket, waker))
    }

    fn tell_acknowledged(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<Acknowledgement> {
        self.tell_by(ticket, waker, |remote, ticket| {
            remote.tell_acknowledged(message, ticket, waker)
        })
    }

    fn ask(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
        timing: AskTiming,
    ) -> Attempt<Slot> {
        match self.send(ticket, waker, |remote, ticket| remote.ask(message, ticket, waker, timing))
        {
            Ok((number, slot)) => {
                Attempt::Sent(Attachments::<Arc<Remote<I>>>::outer_slot(number, slot))
            }
            Err(refused) => refused,
        }
    }

    fn ask_piped(
        &self,
        message: &mut Option<I::Message>,
        name: &Arc<str>,
        schema_hash: u64,
    ) -> Option<PipedChannel> {
        let attachments = self.read();
        let Way::Attached(number, remote) = attachments.way() else { return None };
        let (number, remote) = (number, remote.clone());
        drop(attachments);
        let sent = remote.ask_piped(message, name, schema_hash)?;
        let slot = Attachments::<Arc<Remote<I>>>::outer_slot(number, sent.slot);
        Some(PipedChannel { slot, ..sent })
    }

    fn stream(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
        ahead: Option<usize>,
    ) -> Attempt<Box<dyn ItemSource>> {
        // The items know their session.
        self.tell_by(ticket, waker, |remote, ticket| remote.stream(message, ticket, waker, ahead))
    }

    fn take_reply(&self, slot: Slot, into: &mut SmallReply) -> Option<usize> {
        let (remote, slot) = self.asked(slot)?;
        remote.take_reply(slot, into)
    }

    fn poll_reply(&self, slot: Slot, waker: &Waker) -> Poll<Result<Bytes, CallError>> {
        match self.asked(slot) {
            Some((remote, slot)) => remote.poll_reply(slot, waker),
            None => Poll::Ready(Err(CallError::new(CallErrorKind::Unknown, &self.target))),
        }
    }

    fn begin_wait(&self, slot: Slot, limit: Duration) -> bool {
        self.asked(slot).is_some_and(|(remote, slot)| remote.begin_wait(slot, limit))
    }

    fn has_waited(&self, slot: Slot) -> bool {
        self.asked(slot).is_some_and(|(remote, slot)| remote.has_waited(slot))
    }

    fn pipeline(
        self: Arc<Self>,
        most: usize,
    ) -> Result<(Box<dyn RemotePipeline<I>>, usize), CallError> {
        let (pipeline, most) = ReconnectingPipeline::open(self, most)?;
        Ok((Box::new(pipeline), most))
    }

    fn cancel(&self, slot: Slot) {
        if let Some((remote, slot)) = self.asked(slot) {
            remote.cancel(slot);
        }
    }

    fn disown(&self, slot: Slot) {
        if let Some((remote, slot)) = self.asked(slot) {
            remote.disown(slot);
        }
    }

    fn leave(&self, ticket: &mut Ticket) {
        let attachments = self.read();
        ticket.renew(attachments.tag());
        if let Way::Attached(_, remote) = attachments.way() {
            let remote = remote.clone();
            drop(attachments);
            remote.leave(ticket);
            return;
        }
        drop(attachments);
        self.write().leave(ticket);
    }

    fn target(&self) -> &Arc<str> {
        &self.target
    }

    fn has_ended(&self) -> bool {
        matches!(self.read().way(), Way::Over(_))
    }

    fn watch_end(&self, number: u64, watcher: EndWatcher) -> Result<(), NotWatched> {
        self.write().watch_end(number, watcher)
    }

    fn end_reason(&self) -> Reason {
        Reason::NodeClosed
    }

    fn unwatch_end(&self, number: u64) {
        self.write().unwatch_end(number);
    }

    fn link(&self, link: RemoteLink) -> Result<(), NotLinked> {
        self.settle();
        let attachments = self.read();
        let Way::Attached(_, remote) = attachments.way() else {
            let why = "there is no session with its node at present";
            return Err(NotLinked::Refused(why.into()));
        };
        let remote = remote.clone();
        drop(attachments);
        remote.link(link)
    }

    fn unlink(&self, number: u64, reason: Option<&Reason>) {
        let last = self.read().last().cloned();
        if let Some(remote) = last {
            remote.unlink(number, reason);
        }
    }

    fn peer(&self) -> Option<Caller> {
        let last = self.read().last().cloned();
        last?.peer()
    }

    fn waiting(&self) -> usize {
        match self.read().way() {
            Way::Attached(_, remote) => remote.waiting(),
            Way::Detached | Way::Over(_) => 0,
        }
    }

    fn disconnection(&self) -> Option<Disconnection> {
        let attachments = self.read();
        match attachments.way() {
            Way::Attached(_, remote) => remote.disconnection(),
            Way::Detached | Way::Over(_) => attachments.disconnection(clock::now()),
        }
    }

    fn reading(&self, value: &[u8], read: &mut dyn FnMut() -> bool) {
        let last = self.read().last().cloned();
        match last {
            Some(remote) => remote.reading(value, read),
            None => drop(read()),
        }
    }

    fn remote_actor(&self) -> Option<RemoteActor> {
        let last = self.read().last().cloned();
        last?.remote_actor()
    }

    fn run_owner(&self) -> RunOwner {
        self.run_owner
    }

    fn spin_policy(&self) -> &SpinPolicy {
        &self.spin
    }
}
