//! The ways in which a reference sends to a remote actor, and follows it.

use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use wigwag_actor::lifecycle::end_watchers::{EndWatcher, NotLinked, NotWatched};
use wigwag_actor::reference::route::{Acknowledgement, RemoteLink, RemotePipeline};
use wigwag_actor::reference::run_writer::RunOwner;
use wigwag_actor::reference::value::RemoteActor;
use wigwag_actor::{
    AskTiming, Attempt, CallError, Caller, Disconnection, Interface, ItemSource, Message,
    PipedChannel, Reason, Route, Slot, SmallReply, Ticket,
};
use wigwag_net::clock;
use wigwag_spin::SpinPolicy;

use crate::send::channel::AfterSend;
use crate::send::remote::Remote;
use crate::session::buffers::RunHandout;
use crate::session::references::scope;

impl<I: Interface> Route<I> for Remote<I> {
    #[inline]
    fn tell(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<()> {
        let Some(call) = message.as_ref() else {
            return Attempt::Sent(());
        };
        let (number, encoded) = match self.prepare(call) {
            Ok(found) => found,
            Err(error) => return Attempt::Failed(error),
        };
        let (run_owner, is_of_one_route) = (self.run_owner, self.is_alone);
        let method = call.method();
        let has_same_numbers = self.matches.is_none();
        let handout =
            RunHandout { run_owner, is_of_one_route, method, has_same_numbers, ring: None };
        let (then, handout) = (AfterSend::Continue, Some(&handout));
        let sent = match &encoded {
            None => self.channel.send(handout, None, (number, call), ticket, waker, then),
            Some(encoded) => {
                let call = (number, &encoded.arguments());
                self.channel.send(None, None, call, ticket, waker, then)
            }
        };
        if let Attempt::Sent(()) = sent {
            *message = None;
            encoded.into_iter().for_each(|encoded| encoded.sent());
        }
        sent
    }

    fn tell_acknowledged(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<Acknowledgement> {
        let Some(call) = message.as_ref() else {
            return Attempt::Full;
        };
        let (number, encoded) = match self.prepare(call) {
            Ok(found) => found,
            Err(error) => return Attempt::Failed(error),
        };
        let sent = match &encoded {
            None => self.channel.send_numbered((number, call), ticket, waker),
            Some(encoded) => {
                self.channel.send_numbered((number, &encoded.arguments()), ticket, waker)
            }
        };
        sent.map(|published| {
            *message = None;
            encoded.into_iter().for_each(|encoded| encoded.sent());
            let (session, target) = (self.session().clone(), self.channel.target.clone());
            let acknowledged: Acknowledgement = Box::pin(async move {
                let outcome = session.acknowledged_call(published).await;
                outcome.map_err(|(kind, why)| CallError::new(kind, &target).with_detail(&why))
            });
            acknowledged
        })
    }

    #[inline]
    fn ask(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
        timing: AskTiming,
    ) -> Attempt<Slot> {
        let Some(call) = message.as_ref() else {
            return Attempt::Full;
        };
        let (number, encoded) = match self.prepare(call) {
            Ok(found) => found,
            Err(error) => return Attempt::Failed(error),
        };
        let sent = match &encoded {
            None => self.channel.ask((number, call), ticket, waker, timing),
            Some(encoded) => {
                self.channel.ask((number, &encoded.arguments()), ticket, waker, timing)
            }
        };
        if let Attempt::Sent(_) = sent {
            *message = None;
            encoded.into_iter().for_each(|encoded| encoded.sent());
        }
        sent
    }

    fn ask_piped(
        &self,
        message: &mut Option<I::Message>,
        name: &Arc<str>,
        schema_hash: u64,
    ) -> Option<PipedChannel> {
        let call = message.as_ref()?;
        let (number, encoded) = self.prepare(call).ok()?;
        let sent = match &encoded {
            None => self.channel.ask_piped((number, call), name, schema_hash),
            Some(encoded) => {
                self.channel.ask_piped((number, &encoded.arguments()), name, schema_hash)
            }
        };
        let (slot, channel) = sent?;
        *message = None;
        encoded.into_iter().for_each(|encoded| encoded.sent());
        Some(PipedChannel { slot, channel: Box::new(channel) })
    }

    fn stream(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
        ahead: Option<usize>,
    ) -> Attempt<Box<dyn ItemSource>> {
        let Some(call) = message.as_ref() else {
            return Attempt::Full;
        };
        let (number, encoded) = match self.prepare(call) {
            Ok(found) => found,
            Err(error) => return Attempt::Failed(error),
        };
        let sent = match &encoded {
            None => self.channel.stream((number, call), ticket, waker, ahead),
            Some(encoded) => {
                self.channel.stream((number, &encoded.arguments()), ticket, waker, ahead)
            }
        };
        sent.map(|items| {
            *message = None;
            encoded.into_iter().for_each(|encoded| encoded.sent());
            Box::new(items) as Box<dyn ItemSource>
        })
    }

    #[inline]
    fn take_reply(&self, slot: Slot, into: &mut SmallReply) -> Option<usize> {
        self.channel.take_reply(slot, into)
    }

    fn poll_reply(&self, slot: Slot, waker: &Waker) -> Poll<Result<Bytes, CallError>> {
        self.channel.poll_reply(slot, waker)
    }

    fn begin_wait(&self, slot: Slot, limit: Duration) -> bool {
        self.session().begin_wait(slot.index(), limit)
    }

    fn has_waited(&self, slot: Slot) -> bool {
        self.session().asks.has_waited(slot.index(), clock::now())
    }

    fn pipeline(
        self: Arc<Self>,
        most: usize,
    ) -> Result<(Box<dyn RemotePipeline<I>>, usize), CallError> {
        let run_owner = RunOwner::new(self.channel.is_fixed);
        let (asks, most) = self.open_ring(most, run_owner)?;
        Ok((Box::new(asks), most))
    }

    fn cancel(&self, slot: Slot) {
        self.channel.cancel(slot);
    }

    fn disown(&self, slot: Slot) {
        self.channel.disown(slot);
    }

    fn leave(&self, ticket: &mut Ticket) {
        self.channel.session.stop_waiting(self.channel.number, ticket);
    }

    fn target(&self) -> &Arc<str> {
        &self.channel.target
    }

    fn has_ended(&self) -> bool {
        self.ended().is_some()
    }

    fn watch_end(&self, number: u64, watcher: EndWatcher) -> Result<(), NotWatched> {
        self.channel.watch_end(number, watcher)
    }

    fn end_reason(&self) -> Reason {
        self.channel.end_reason()
    }

    fn unwatch_end(&self, number: u64) {
        self.channel.unwatch_end(number);
    }

    fn link(&self, link: RemoteLink) -> Result<(), NotLinked> {
        self.session().link(self.channel.origin, link)
    }

    fn unlink(&self, number: u64, reason: Option<&Reason>) {
        self.session().unlink(self.channel.origin, number, reason);
    }

    fn peer(&self) -> Option<Caller> {
        Some(self.session().caller())
    }

    fn waiting(&self) -> usize {
        self.channel.waiting()
    }

    fn disconnection(&self) -> Option<Disconnection> {
        self.channel.session.disconnection()
    }

    fn reading(&self, value: &[u8], read: &mut dyn FnMut() -> bool) {
        scope::read_from(self.session(), value, read);
    }

    fn remote_actor(&self) -> Option<RemoteActor> {
        self.referred.clone()
    }

    fn is_over(&self, session: u64) -> bool {
        self.session().number() == session
    }

    fn is_behind_ask(&self) -> bool {
        self.answer.is_some()
    }

    fn run_owner(&self) -> RunOwner {
        self.run_owner
    }

    fn spin_policy(&self) -> &SpinPolicy {
        &self.watch
    }
}
