//! The sending end of a channel to one actor: the way of a call from the caller into the session.
//!
//! A call goes into the turn's buffer without a lock if it can. Otherwise it takes the shared path,
//! under the session's lock and with a queue of waiting senders.

mod ask;
mod follow;

use std::sync::{Arc, MutexGuard};
use std::task::Waker;

use wigwag_actor::trace;
use wigwag_actor::{Attempt, CallError, CallErrorKind, Parked, Reason, Ticket, turn};
use wigwag_link::outbox::{LongFrame, Published};
use wigwag_link::send_half::CallRefused;
use wigwag_link::write::Extras;
use wigwag_wire::Buffer;

use crate::limits::{CODEC_FIXED, PILE_BYTES};
use crate::replies::ask_origin::AskOrigin;
use crate::session::attach::{AttachAnswer, AttachTo};
use crate::session::buffers::encoding::{Arguments, Encoding};
use crate::session::buffers::{self, EncodeOutcome, RunHandout};
use crate::session::rejected::MethodNames;
use crate::session::statistics::tally::AskCounters;
use crate::session::{Attached, OpenedChannel, SendState, Session};

/// An outbound channel; dropping it detaches.
pub(crate) struct Channel {
    pub(crate) session: Arc<Session>,
    pub(crate) number: u64,
    /// The actor's address, for errors.
    pub(crate) target: Arc<str>,
    /// Arguments that have a fixed-width form are sent in that form.
    pub(crate) is_fixed: bool,
    /// The peer takes trace contexts.
    traces: bool,
    /// The origin of the asks of this channel.
    pub(crate) origin: AskOrigin,
    counters: Arc<AskCounters>,
}

/// The caller's next step after a call was published on the shared path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterSend {
    /// The caller goes on: wake the driver if the outbox was empty.
    Continue,
    /// The caller polls the answer next, which flushes.
    Poll,
}

/// The trace context of this thread, for a peer that takes it.
#[cold]
fn traced() -> Option<Extras> {
    let trace = Some(trace::current()?);
    Some(Extras { trace, ..Extras::default() })
}

impl Channel {
    /// Opens a channel to an actor of the peer. Waits while the peer accepts no further unanswered
    /// ATTACH.
    ///
    /// # Cancellation
    /// If dropped while it waits, the channel is given back.
    pub(crate) async fn attach(
        session: Arc<Session>,
        to: AttachTo<'_>,
        schema_hash: u64,
        target: &Arc<str>,
    ) -> Result<(Channel, Attached), CallError> {
        let opened = session.send_attach(to, schema_hash, target).await?;
        let OpenedChannel { number, origin, counters, answer } = opened;
        let (is_fixed, traces) = (false, session.traces);
        let mut channel =
            Channel { session, number, target: target.clone(), is_fixed, traces, origin, counters };
        channel.session.flush();
        match answer.await {
            Ok(Ok(attached)) => {
                channel.is_fixed = attached.codec == CODEC_FIXED;
                Ok((channel, attached))
            }
            Ok(Err(kind)) => Err(CallError::new(kind, target)),
            Err(_) => match channel.session.sending().check(target) {
                Err(error) => Err(error),
                Ok(()) => Err(CallError::new(CallErrorKind::NotDelivered, target)),
            },
        }
    }

    /// Opens a channel to an actor whose schema and codec are known, and does not wait for the
    /// answer. `None` if the peer accepts no further unanswered ATTACH now.
    pub(crate) fn attach_at_once(
        session: Arc<Session>,
        to: AttachTo<'_>,
        schema_hash: u64,
        target: &Arc<str>,
    ) -> Option<(Channel, AttachAnswer)> {
        let opened = session.send_attach_at_once(to, schema_hash, target)?;
        let OpenedChannel { number, origin, counters, answer } = opened;
        let (is_fixed, traces) = (session.codec == CODEC_FIXED, session.traces);
        buffers::flush_soon(&session);
        let target = target.clone();
        Some((Channel { session, number, target, is_fixed, traces, origin, counters }, answer))
    }

    /// Sends a tell, or an ask from a slot that the caller owns.
    ///
    /// In a turn: no lock, and no allocation in steady state. Outside: one lock, and one wake of
    /// the driver if nothing was waiting.
    #[inline(always)]
    pub(crate) fn send(
        &self,
        handout: Option<&RunHandout<'_>>,
        asker: Option<(u32, u32)>,
        (method, arguments): (u32, &impl Arguments),
        ticket: &mut Ticket,
        waker: Option<&Waker>,
        then: AfterSend,
    ) -> Attempt<()> {
        let call = self.encoding(method, asker, arguments);
        if self.traces
            && let Some(extras) = traced()
        {
            return self.send_with(extras, &call, ticket, waker, then);
        }
        self.send_call(handout, &call, ticket, waker, then)
    }

    /// The extras of a call that has none but a trace context.
    fn extras(&self) -> Option<Extras> {
        if self.traces { traced() } else { None }
    }

    /// As [`send`](Self::send), for a call with extras. A function of its own, so that others do not
    /// pay for it.
    #[inline(never)]
    fn send_with(
        &self,
        extras: Extras,
        call: &Encoding<'_, impl Arguments>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
        then: AfterSend,
    ) -> Attempt<()> {
        let call = Encoding { extras: Some(&extras), ..*call };
        self.send_call(None, &call, ticket, waker, then)
    }

    #[inline(always)]
    fn encoding<'a, A: Arguments>(
        &'a self,
        method: u32,
        asker: Option<(u32, u32)>,
        arguments: &'a A,
    ) -> Encoding<'a, A> {
        let (channel, fixed, extras) = (self.number, self.is_fixed, None);
        let (counters, origin) = (&*self.counters, self.origin);
        Encoding { channel, method, asker, extras, fixed, arguments, counters, origin }
    }

    #[inline(always)]
    fn send_call(
        &self,
        handout: Option<&RunHandout<'_>>,
        call: &Encoding<'_, impl Arguments>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
        then: AfterSend,
    ) -> Attempt<()> {
        let mut long = None;
        if !ticket.is_parked() {
            match buffers::call(&self.session, call, handout) {
                EncodeOutcome::Done => return Attempt::Sent(()),
                EncodeOutcome::NotHere => {}
                EncodeOutcome::Long(frame) => long = Some(frame),
            }
        }
        let counted = call.asker.map(|asker| (asker, call.method));
        self.send_shared(long, &|out| call.write(out), counted, ticket, waker, then).map(|_| ())
    }

    /// Sends a tell at once, behind all that this turn holds. Returns where it is, for
    /// [`Session::acknowledged_call`].
    pub(crate) fn send_numbered(
        &self,
        (method, arguments): (u32, &impl Arguments),
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<Published> {
        let extras = self.extras();
        let call = Encoding { extras: extras.as_ref(), ..self.encoding(method, None, arguments) };
        self.send_shared(None, &|out| call.write(out), None, ticket, waker, AfterSend::Continue)
    }

    /// Names the methods of the actor, for reports about rejected tells.
    pub(crate) fn name_methods(&self, names: MethodNames) {
        if let Some(channel) = self.session.sending().channel_of(self.origin) {
            channel.names = names;
        }
    }

    /// Tags the tickets of senders that wait here with `tag`. Called before the first call.
    pub(crate) fn tag_parked(&self, tag: u16) {
        if let Some(channel) = self.session.sending().channel_of(self.origin) {
            channel.parked = Parked::tagged(tag);
        }
    }

    /// Sends a call under the lock of the session: `long` if it is encoded already. Returns where it
    /// is.
    #[inline(never)]
    fn send_shared(
        &self,
        long: Option<Box<LongFrame>>,
        encode: &dyn Fn(&mut Buffer) -> usize,
        ask: Option<((u32, u32), u32)>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
        then: AfterSend,
    ) -> Attempt<Published> {
        // Frames that this turn has encoded go first.
        buffers::publish(&self.session);
        let mut sending = self.publish_others();
        if let Err(error) = self.check(&sending) {
            return Attempt::Failed(Box::new(error));
        }
        let was_idle = sending.sender.outbox.is_idle();
        let SendState { sender, channels, .. } = &mut *sending;
        let channel = &channels[self.number as usize];
        let kept = channel.kept_for_long_call(Some(ticket));
        let free = sender.window(self.number).map_or(0, |window| window.free());
        let free = free.saturating_sub(kept);
        let may_pass = |units: u64| channel.parked.may_pass(ticket, free / units);
        let outcome = match long {
            Some(frame) => sender.long_call(self.number, *frame, may_pass),
            None => sender.call_if(self.number, encode, may_pass),
        };
        match outcome {
            Ok(published) => {
                if let Some((asker, method)) = ask {
                    self.counters.count(&self.session.asks, asker, method, self.origin);
                }
                self.sent(sending, ticket, was_idle, then);
                if let Published::Long(_) = published {
                    // Calls that a turn of another thread sends from now on come behind it.
                    drop(self.publish_others());
                }
                Attempt::Sent(published)
            }
            Err(CallRefused::TooLarge { body }) => Attempt::Failed(Box::new(self.too_large(body))),
            Err(refused) => {
                let tell_peer = match refused {
                    CallRefused::NoCredit { units } => sending.sender.stuck(self.number, units),
                    _ => false,
                };
                sending.statistics.credit_stalls += 1;
                if let Some(waker) = waker {
                    let channel = &mut sending.channels[self.number as usize];
                    channel.parked.park(ticket, waker);
                    if let CallRefused::NoCredit { units } = refused {
                        channel.lacks_credit(ticket, units);
                    }
                }
                drop(sending);
                if tell_peer {
                    buffers::flush_soon(&self.session);
                }
                Attempt::Full
            }
        }
    }

    /// Publishes what turns of other threads hold on this channel, so that what is sent next
    /// follows it. Returns with the send half locked.
    fn publish_others(&self) -> MutexGuard<'_, SendState> {
        let mut sending = self.session.sending();
        let channel = sending.channels.get(self.number as usize);
        if let Some(holder) = channel.and_then(|channel| channel.holders.other()).cloned() {
            // A turn that becomes the holder in between holds nothing that was sent before.
            drop(sending);
            holder.publish_for_other(&self.session, self.number);
            sending = self.session.sending();
        }
        // After the end of the session, their own turns end these calls.
        if sending.ended.is_none() {
            sending.publish_closed_runs(self.number);
        }
        sending
    }

    fn sent(
        &self,
        mut sending: MutexGuard<'_, SendState>,
        ticket: &mut Ticket,
        was_idle: bool,
        then: AfterSend,
    ) {
        let channel = &mut sending.channels[self.number as usize];
        channel.parked.leave(ticket);
        channel.tally.called += 1;
        let piled = sending.sender.outbox.waiting_bytes() >= PILE_BYTES;
        drop(sending);
        if turn::is_open() {
            buffers::flush_soon(&self.session);
        } else if piled {
            self.session.flush();
        } else if was_idle && then == AfterSend::Continue {
            self.session.wake_driver();
        }
    }

    fn check(&self, sending: &SendState) -> Result<(), CallError> {
        sending.check(&self.target)?;
        let channel = sending.channels.get(self.number as usize);
        match channel.map(|channel| channel.gone) {
            Some(None) => Ok(()),
            Some(Some(kind)) => {
                let error = CallError::new(kind, &self.target);
                let reason = channel.and_then(|channel| channel.end_reason.as_ref());
                Err(match reason {
                    Some(Reason::Unreachable(why)) => error.with_detail(why),
                    _ => error,
                })
            }
            None => Err(CallError::new(CallErrorKind::Unknown, &self.target)),
        }
    }

    #[cold]
    fn too_large(&self, body: usize) -> CallError {
        let text = self.session.too_large("the call", body, "the peer");
        CallError::new(CallErrorKind::TooLarge, &self.target).with_detail(&text)
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        buffers::publish(&self.session);
        self.session.detach(self.number);
    }
}
