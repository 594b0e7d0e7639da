//! The ways in which a reference waits for its channel, and sends once that is open.

use std::sync::{Arc, PoisonError};
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
use wigwag_link::limits::LINKS_MAX;
use wigwag_spin::SpinPolicy;

use super::{Arrival, Arriving, CHANNEL_TAG};
use crate::lock::lock;

impl<I: Interface> Route<I> for Arriving<I> {
    fn tell(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<()> {
        match self.present(ticket, waker) {
            Ok(remote) => remote.tell(message, ticket, waker),
            Err(refused) => refused,
        }
    }

    fn tell_acknowledged(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<Acknowledgement> {
        match self.present(ticket, waker) {
            Ok(remote) => remote.tell_acknowledged(message, ticket, waker),
            Err(refused) => refused,
        }
    }

    fn ask(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
        timing: AskTiming,
    ) -> Attempt<Slot> {
        match self.present(ticket, waker) {
            Ok(remote) => remote.ask(message, ticket, waker, timing),
            Err(refused) => refused,
        }
    }

    fn stream(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
        ahead: Option<usize>,
    ) -> Attempt<Box<dyn ItemSource>> {
        match self.present(ticket, waker) {
            Ok(remote) => remote.stream(message, ticket, waker, ahead),
            Err(refused) => refused,
        }
    }

    fn ask_piped(
        &self,
        message: &mut Option<I::Message>,
        name: &Arc<str>,
        schema_hash: u64,
    ) -> Option<PipedChannel> {
        self.remote()?.ask_piped(message, name, schema_hash)
    }

    fn take_reply(&self, slot: Slot, into: &mut SmallReply) -> Option<usize> {
        self.remote()?.take_reply(slot, into)
    }

    fn poll_reply(&self, slot: Slot, waker: &Waker) -> Poll<Result<Bytes, CallError>> {
        match self.remote() {
            Some(remote) => remote.poll_reply(slot, waker),
            None => Poll::Ready(Err(self.not_attached())),
        }
    }

    fn begin_wait(&self, slot: Slot, limit: Duration) -> bool {
        self.remote().is_some_and(|remote| remote.begin_wait(slot, limit))
    }

    fn has_waited(&self, slot: Slot) -> bool {
        self.remote().is_some_and(|remote| remote.has_waited(slot))
    }

    fn pipeline(
        self: Arc<Self>,
        most: usize,
    ) -> Result<(Box<dyn RemotePipeline<I>>, usize), CallError> {
        match self.remote() {
            Some(remote) => remote.pipeline(most),
            None => Err(self.not_attached()),
        }
    }

    fn cancel(&self, slot: Slot) {
        if let Some(remote) = self.remote() {
            remote.cancel(slot);
        }
    }

    fn disown(&self, slot: Slot) {
        if let Some(remote) = self.remote() {
            remote.disown(slot);
        }
    }

    fn leave(&self, ticket: &mut Ticket) {
        if let Arrival::Pending(parked) = &mut *self.write() {
            return parked.leave(ticket);
        }
        ticket.renew(CHANNEL_TAG);
        if let (Some(remote), true) = (self.remote(), ticket.is_parked()) {
            remote.leave(ticket);
        }
    }

    fn target(&self) -> &Arc<str> {
        &self.target
    }

    fn has_ended(&self) -> bool {
        match &*self.read() {
            Arrival::Pending(_) => false,
            Arrival::Attached(remote) => remote.has_ended(),
            Arrival::Failed(..) => true,
        }
    }

    fn watch_end(&self, number: u64, watcher: EndWatcher) -> Result<(), NotWatched> {
        let mut watchers = self.end_watchers.write().unwrap_or_else(PoisonError::into_inner);
        // Asked under the lock: the end is noted before the watchers are taken.
        if self.has_ended() {
            return Err(NotWatched::Ended);
        }
        watchers.add(number, watcher)
    }

    fn end_reason(&self) -> Reason {
        match &*self.read() {
            Arrival::Attached(remote) => remote.end_reason(),
            Arrival::Failed(CallErrorKind::ActorStopped | CallErrorKind::NoSuchActor, _) => {
                Reason::Unknown
            }
            Arrival::Failed(CallErrorKind::Draining, _) => Reason::NodeClosed,
            Arrival::Failed(kind, why) if why.is_empty() => {
                Reason::Unreachable(kind.to_string().into())
            }
            Arrival::Failed(_, why) => Reason::Unreachable(why.clone()),
            Arrival::Pending(_) => Reason::Unknown,
        }
    }

    fn unwatch_end(&self, number: u64) {
        let mut watchers = self.end_watchers.write().unwrap_or_else(PoisonError::into_inner);
        drop(watchers.remove(number));
    }

    fn link(&self, link: RemoteLink) -> Result<(), NotLinked> {
        let mut links = lock(&self.links);
        match &*self.read() {
            Arrival::Pending(_) if links.len() >= LINKS_MAX => return Err(NotLinked::TooMany),
            Arrival::Pending(_) => {
                links.insert(link.number, (link, None));
                return Ok(());
            }
            Arrival::Attached(_) => {}
            Arrival::Failed(..) => return Err(NotLinked::Ended),
        }
        drop(links);
        self.remote().map_or(Err(NotLinked::Ended), |remote| remote.link(link))
    }

    fn unlink(&self, number: u64, reason: Option<&Reason>) {
        let mut links = lock(&self.links);
        match (links.get_mut(&number), reason) {
            // It is told when there is a channel.
            (Some((_, ended)), Some(reason)) => *ended = Some(reason.clone()),
            _ => drop(links.remove(&number)),
        }
        drop(links);
        if let Some(remote) = self.remote() {
            remote.unlink(number, reason);
        }
    }

    fn peer(&self) -> Option<Caller> {
        self.remote()?.peer()
    }

    fn waiting(&self) -> usize {
        self.remote().map_or(0, |remote| remote.waiting())
    }

    fn disconnection(&self) -> Option<Disconnection> {
        self.remote()?.disconnection()
    }

    fn is_over(&self, session: u64) -> bool {
        match &*self.read() {
            Arrival::Attached(remote) => remote.is_over(session),
            Arrival::Pending(_) | Arrival::Failed(..) => self.giver == session,
        }
    }

    fn run_owner(&self) -> RunOwner {
        self.run_owner
    }

    fn spin_policy(&self) -> &SpinPolicy {
        &self.spin
    }

    fn reading(&self, value: &[u8], read: &mut dyn FnMut() -> bool) {
        match self.remote() {
            Some(remote) => remote.reading(value, read),
            None => drop(read()),
        }
    }

    fn remote_actor(&self) -> Option<RemoteActor> {
        Some(self.actor.clone())
    }
}
