//! Asks through a channel: slots for their answers, streams, and cancelling.

use std::sync::Arc;
use std::task::{Poll, Waker};

use bytes::Bytes;
use wigwag_actor::{AskTiming, Attempt, CallError, CallErrorKind, Slot, SmallReply, Ticket, turn};
use wigwag_link::write::Extras;

use crate::limits::CODEC_FIXED;
use crate::send::cancel::send_cancels;
use crate::send::channel::{AfterSend, Channel};
use crate::send::streams::Items;
use crate::session::OpenedChannel;
use crate::session::buffers;
use crate::session::buffers::encoding::Arguments;

impl Channel {
    /// Sends an ask, which takes credit and a slot, both or neither.
    #[inline(always)]
    pub(crate) fn ask(
        &self,
        call: (u32, &impl Arguments),
        ticket: &mut Ticket,
        waker: Option<&Waker>,
        timing: AskTiming,
    ) -> Attempt<Slot> {
        let Some((number, generation)) = buffers::open_slot(&self.session) else {
            self.park_for_slot(ticket, waker);
            return Attempt::Full;
        };
        let then = if timing.now { AfterSend::Poll } else { AfterSend::Continue };
        let asker = Some((number, generation));
        let within_ms = timing.within_ms.filter(|_| self.session.cancels);
        let sent = match within_ms {
            None => self.send(None, asker, call, ticket, waker, then),
            Some(within_ms) => {
                let within_ms = Some(within_ms.get().into());
                let extras = Extras { within_ms, ..self.extras().unwrap_or_default() };
                let call = self.encoding(call.0, asker, call.1);
                self.send_with(extras, &call, ticket, waker, then)
            }
        };
        match sent {
            Attempt::Sent(()) => Attempt::Sent(Slot::new(number, generation)),
            refused => {
                self.close_slot(number, generation);
                match refused {
                    Attempt::Failed(error) => Attempt::Failed(error),
                    _ => Attempt::Full,
                }
            }
        }
    }

    /// Sends an ask, and in front of it opens a channel to the actor that its answer leads to. `None`
    /// if that is not possible now; then nothing was sent that has an effect.
    pub(crate) fn ask_piped(
        &self,
        call: (u32, &impl Arguments),
        name: &Arc<str>,
        schema_hash: u64,
    ) -> Option<(Slot, Channel)> {
        let session = &self.session;
        let place = session.may_pipe()?;
        let asker = buffers::open_slot(session)?;
        let Some(opened) = session.send_attach_piped(place, asker, schema_hash, name) else {
            self.close_slot(asker.0, asker.1);
            return None;
        };
        let OpenedChannel { number, origin, counters, .. } = opened;
        let (target, is_fixed) = (name.clone(), session.codec == CODEC_FIXED);
        let (session, traces) = (session.clone(), session.traces);
        let piped = Channel { session, number, target, is_fixed, traces, origin, counters };
        let session = &self.session;
        let (ticket, then) = (&mut Ticket::default(), AfterSend::Continue);
        if !matches!(self.send(None, Some(asker), call, ticket, None, then), Attempt::Sent(())) {
            // Another ask may have the slot from now on, so its channel is detached first.
            drop(piped);
            self.close_slot(asker.0, asker.1);
            return None;
        }
        session.piped(asker);
        if turn::is_open() {
            buffers::flush_soon(session);
        } else {
            // ATTACH was in the outbox already, so the ask has woken nobody.
            session.wake_driver();
        }
        Some((Slot::new(asker.0, asker.1), piped))
    }

    /// Sends an ask that is answered with a stream, whose producer may be `ahead` short items ahead.
    pub(crate) fn stream(
        &self,
        call: (u32, &impl Arguments),
        ticket: &mut Ticket,
        waker: Option<&Waker>,
        ahead: Option<usize>,
    ) -> Attempt<Items> {
        if !self.session.streams {
            let text = "the node of the actor knows no streams";
            let error = CallError::new(CallErrorKind::NotSerializable, &self.target);
            return Attempt::Failed(Box::new(error.with_detail(text)));
        }
        let Some(asker) = buffers::open_slot(&self.session) else {
            self.park_for_slot(ticket, waker);
            return Attempt::Full;
        };
        let Some((items, window)) = Items::open(&self.session, &self.target, asker, ahead) else {
            self.close_slot(asker.0, asker.1);
            let text = "the streams of this node take all the room that they may: read them, end some, or raise \
                        `NodeOptions::peer_memory`";
            let error = CallError::new(CallErrorKind::Overloaded, &self.target);
            return Attempt::Failed(Box::new(error.with_detail(text)));
        };
        let extras = Extras { items: Some(window), ..self.extras().unwrap_or_default() };
        let (then, call) = (AfterSend::Poll, self.encoding(call.0, Some(asker), call.1));
        match self.send_with(extras, &call, ticket, waker, then) {
            Attempt::Sent(()) => Attempt::Sent(items),
            refused => {
                items.close_unsent();
                self.close_slot(asker.0, asker.1);
                match refused {
                    Attempt::Failed(error) => Attempt::Failed(error),
                    _ => Attempt::Full,
                }
            }
        }
    }

    /// Gives back the slot of an ask that was not sent.
    #[cold]
    fn close_slot(&self, number: u32, generation: u32) {
        if let Some(slot) = self.session.asks.slot(number) {
            slot.close_unsent(generation);
        }
        buffers::free_slot(&self.session, number);
    }

    /// Takes the reply if it has arrived and is small.
    #[inline]
    pub(crate) fn take_reply(&self, slot: Slot, into: &mut SmallReply) -> Option<usize> {
        let asks = &self.session.asks;
        let (place, cold) = (asks.hot(slot.index())?, || Some(asks.slot(slot.index())?.cold));
        let length = place.take_small(cold, slot.generation(), into)?;
        buffers::free_slot(&self.session, slot.index());
        Some(length)
    }

    /// Takes the reply. If it has not arrived, flushes and registers `waker`.
    pub(crate) fn poll_reply(&self, slot: Slot, waker: &Waker) -> Poll<Result<Bytes, CallError>> {
        let asks = &self.session.asks;
        let Poll::Ready(fetched) = asks.poll(slot.index(), slot.generation(), waker) else {
            if !turn::is_open() {
                self.session.flush_ask();
            }
            return Poll::Pending;
        };
        let Some(answer) = fetched else {
            return Poll::Ready(Err(CallError::new(CallErrorKind::Unknown, &self.target)));
        };
        self.session.free_slot(slot.index());
        Poll::Ready(answer.map_err(|failed| {
            let (kind, text) = *failed;
            CallError::new(kind, &self.target).with_detail(&text)
        }))
    }

    /// Gives up an ask and tells the peer with CANCEL.
    pub(crate) fn cancel(&self, slot: Slot) {
        if self.session.disown(slot) {
            send_cancels(&self.session, [(slot.index(), slot.generation())]);
        }
    }

    /// Gives up the answer to an ask.
    pub(crate) fn disown(&self, slot: Slot) {
        self.session.disown(slot);
    }

    #[cold]
    fn park_for_slot(&self, ticket: &mut Ticket, waker: Option<&Waker>) {
        let Some(waker) = waker else { return };
        {
            let mut sending = self.session.sending();
            if let Some(channel) = sending.channels.get_mut(self.number as usize) {
                channel.parked.park(ticket, waker);
            }
        }
        // A slot released between the failed open and the parking has woken nobody.
        if self.session.asks.any_free() {
            waker.wake_by_ref();
        }
    }
}
