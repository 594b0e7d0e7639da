//! The effects of the messages of the peer on the node: the implementation of [`Application`].

use std::sync::{Arc, MutexGuard};
use std::task::Waker;

use tokio::runtime::Handle;
use wigwag_actor::schema::Description;
use wigwag_actor::{CallErrorKind, InboundQueueOwner, Reason, WakeBatch};
use wigwag_link::credit::{Grant, StreamId};
use wigwag_link::dispatch::application::{
    self, Application, Attach, Found, ItemEnd, LongCall, Rejected,
};
use wigwag_link::recv_half::{ChannelCalls, ItemRun, ReplyRun, next_item};
use wigwag_link::{Code, LinkError};
use wigwag_wire::call::are_asks;
use wigwag_wire::gathered::part_of;
use wigwag_wire::{BufferSlice, Reader, peer_text};

use crate::limits::SHARED_CALLS_BYTES_MIN;
use crate::replies::slot::Completion;
use crate::session::attach::routes::ActorIdentity;
use crate::session::receive::found::{FoundActor, FoundTarget};
use crate::session::receive::inbound::ChannelOwner;
use crate::session::receive::{Inbound, InboundChannel};
use crate::session::{Attached, SendState, links};
use crate::streams::inbox::Received;

impl Application for Inbound<'_> {
    type Actor = FoundActor;
    type Channel = InboundChannel;
    type SendHalf<'a>
        = LockedSendHalf<'a>
    where
        Self: 'a;
    type Error = LinkError;

    fn send_half(&mut self) -> LockedSendHalf<'_> {
        LockedSendHalf(self.session.sending())
    }

    fn acknowledged(&mut self, has_room: bool, is_settled: bool) {
        // The asks that this batch answers were sent before it, so their rings have lowered the
        // floor by now.
        self.floor = self.session.asks.rings.floor();
        if has_room {
            self.has_room();
        }
        if is_settled || self.session.is_flushing() {
            self.session.progress.notify_waiters();
        }
    }

    fn released(&mut self, messages: Vec<BufferSlice>) {
        // Asks wait for this thread, which reads their answers. A session without a runtime, as at
        // the end of a program, frees the memory itself.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn_blocking(move || drop(messages));
        }
    }

    fn batch_ended(&mut self) {
        self.replies.publish(self.session);
        self.count_asks();
        if self.session.is_draining() {
            // A closing node may wait for the last answer, which may have been in this batch.
            self.session.progress.notify_waiters();
        }
    }

    fn token_confirmed(&mut self) {
        self.session.resumption.confirm();
    }

    fn find(&mut self, attach: &Attach<'_>) -> Result<Found<FoundActor>, Code> {
        let found = self.find_actor(attach);
        if found.is_err() {
            self.session.sending().statistics.attaches_refused += 1;
        }
        found
    }

    fn open(&mut self, found: FoundActor, channel: u64, use_of: u64) -> InboundChannel {
        let FoundActor { target, name, gate, permit } = found;
        // The last use of its number may have ended because its actor has.
        self.session.undo_links(channel);
        let owner = Arc::new(ChannelOwner::new(permit, gate, (channel, use_of)));
        let (actor, queue) = match target {
            FoundTarget::Actor(actor) => {
                owner.leads_to(&*actor.exported);
                self.session.channel_held(&*actor.exported, name);
                let queue = actor.exported.open_inbound_queue(owner.clone());
                (Some(actor), queue)
            }
            FoundTarget::Answer(asker, schema_hash) => {
                (None, self.session.open_pipe(asker, schema_hash, owner.clone()))
            }
        };
        InboundChannel { actor, queue, owner }
    }

    fn close(&mut self, channel: InboundChannel, grant: Option<Grant>) {
        self.session.undo_links(channel.owner.number());
        channel.owner.keep_grant(grant);
    }

    fn linked(&mut self, channel: &mut InboundChannel, link: u64, actor: &[u8]) {
        let linked = channel.actor.as_ref().and_then(|actor| actor.exported.handle());
        if let Some(linked) = linked {
            self.session.linked(channel.owner.number(), link, linked, actor);
        }
    }

    fn unlinked(&mut self, channel: &mut InboundChannel, link: u64, reason: &[u8]) {
        self.session.unlinked(channel.owner.number(), link, reason);
    }

    #[inline]
    fn calls(
        &mut self,
        channel: &mut InboundChannel,
        run: &ChannelCalls<'_>,
    ) -> Result<(), LinkError> {
        self.calls += run.calls as u64;
        if are_asks(run.bytes) {
            self.asks += run.calls as u64;
        }
        if run.bytes.len() >= SHARED_CALLS_BYTES_MIN
            && let Some(calls) = part_of(self.message, run.bytes)
        {
            channel.queue.accept_shared(calls, run.calls, run.units);
        } else {
            channel.queue.accept(run.bytes, run.calls, run.units);
        }
        Ok(())
    }

    fn long_call(&mut self, channel: &mut InboundChannel, call: LongCall) -> Result<(), LinkError> {
        self.asks += u64::from(are_asks(&call.frame));
        channel.queue.accept_shared(call.frame, 1, call.units);
        Ok(())
    }

    fn publish(&mut self, channel: &mut InboundChannel) {
        self.count_asks();
        channel.queue.publish();
    }

    fn publishing_begins(&mut self) {
        self.wakes = Some(WakeBatch::open());
    }

    fn publishing_ends(&mut self) {
        self.wakes = None;
    }

    fn prefetch_calls(&self, channel: &InboundChannel) -> usize {
        channel.queue.prefetch_accept()
    }

    fn prefetch_publish(&self, channel: &InboundChannel) -> usize {
        channel.queue.prefetch_publish()
    }

    fn describe(
        &mut self,
        channel: &mut InboundChannel,
        asker: (u32, u32),
        arguments: &[u8],
        units: u64,
    ) {
        self.asks += 1;
        self.count_asks();
        // The schema is known here, so the actor is not woken.
        channel.owner.freed(units);
        let Some(actor) = &channel.actor else {
            let why = "an actor that an answer leads to is described to those who await the answer";
            return channel.owner.fail(asker.0, asker.1, CallErrorKind::NoSuchMethod, why);
        };
        let (schema, gate) = (actor.exported.schema(), channel.owner.gate());
        let description = Description::asked(schema, arguments, gate);
        channel.owner.reply(asker.0, asker.1, &description);
    }

    fn discarded(&mut self, channel: &mut InboundChannel, units: u64) {
        channel.owner.freed(units);
    }

    fn ask_lost(&mut self, asker: (u32, u32), code: Code, detail: &str) {
        self.session.sending().statistics.asks_failed += 1;
        self.session.pipe_failed(asker, CallErrorKind::from_code(code.0), detail);
    }

    fn tell_lost(&mut self) {
        self.session.sending().statistics.tells_undeliverable += 1;
    }

    fn reference_released(&mut self, reference: u128, times: u64) -> bool {
        self.session.reference_released(reference, times)
    }

    fn cancelled(&mut self, (slot, generation): (u64, u64)) {
        let (Ok(slot), Ok(generation)) = (u32::try_from(slot), u32::try_from(generation)) else {
            return;
        };
        let asker = (slot, generation);
        if self.session.cancels {
            self.session.cancelled.mark(asker);
        }
        // A stream that opens now looks at the mark when it is there.
        if let Some(outlet) = self.session.sent_streams.find((slot.into(), generation)) {
            outlet.end();
        }
    }

    fn may_be_answered(&mut self, (slot, generation): (u32, u32)) -> bool {
        let asks = &self.session.asks;
        match asks.slot(slot) {
            Some(place) if slot < self.floor => place.is_open(generation),
            _ => asks.rings.find(slot).is_some(),
        }
    }

    #[inline(always)]
    fn reply(&mut self, asker: (u32, u32), value: &[u8]) -> Result<bool, LinkError> {
        let asks = &self.session.asks;
        if asker.0 >= self.floor {
            return Ok(self.replies.complete(asks, asker, value));
        }
        let completion = asks.complete(asker, value);
        if let Completion::Unwanted = completion {
            self.session.discard_value(value);
        }
        Ok(self.completed(asker.0, completion))
    }

    fn replies(&mut self, run: &ReplyRun<'_>) -> Result<bool, LinkError> {
        if run.slot >= self.floor {
            return Ok(self.replies.complete_run(&self.session.asks, run));
        }
        for (slot, value) in (run.slot..).zip(run.values) {
            if !self.reply((slot, run.generation), value)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    #[inline]
    fn items(&mut self, run: &ItemRun<'_>) -> Result<bool, LinkError> {
        let stream = run.stream;
        // Nearly all items of a message are of the stream of those before.
        if !matches!(&self.stream, Some((last, _)) if *last == stream) {
            let found = match stream {
                StreamId::Answer(slot, generation) => {
                    self.session.read_streams.find((slot.into(), generation))
                }
                StreamId::Value(number) => self.session.stream_values.read.find((number, 0)),
            };
            self.stream = found.map(|inbox| (stream, inbox));
        }
        let Some((_, inbox)) = &self.stream else { return Ok(false) };
        // A stream whose end has come stays until its reader has seen that.
        if let StreamId::Answer(slot, generation) = stream
            && !self.session.asks.slot(slot).is_some_and(|slot| slot.is_open(generation))
        {
            return Ok(false);
        }
        match inbox.receive(run)? {
            Received::Queued(reader) => reader.into_iter().for_each(Waker::wake),
            Received::Unwanted => {
                let (mut frames, head) = (Reader::new(run.frames), stream.head_bytes());
                while let Some(value) = next_item(&mut frames, head) {
                    self.session.discard_value(value);
                }
            }
            Received::BehindTheEnd => return Ok(false),
        }
        Ok(true)
    }

    fn items_credited(&mut self, stream: StreamId, limit: u64) {
        let (slot, generation) = match stream {
            StreamId::Answer(slot, generation) => (slot.into(), generation),
            StreamId::Value(number) => return self.session.stream_value_credited(number, limit),
        };
        if let Some(outlet) = self.session.sent_streams.find((slot, generation)) {
            outlet.raise(limit);
        }
    }

    fn items_ended(&mut self, stream: u64, how: ItemEnd, code: Code, text: &[u8]) -> bool {
        self.session.items_ended(stream, how, code, text)
    }

    fn undelivered(&mut self, arguments: &[u8], code: Code) {
        self.session.discard_value_because(arguments, CallErrorKind::from_code(code.0));
    }

    fn failed(&mut self, asker: (u32, u32), code: Code, text: &[u8]) -> Result<bool, LinkError> {
        let text = peer_text::line(text).into();
        let kind = match CallErrorKind::from_code(code.0) {
            // It says nothing about a call that may have begun.
            CallErrorKind::Cancelled if !self.session.cancels => CallErrorKind::Unknown,
            kind => kind,
        };
        let failure = (kind, text);
        let asks = &self.session.asks;
        if asker.0 >= self.floor {
            return Ok(self.replies.fail(asks, asker, Err(failure)));
        }
        let failed = (asks.origin(asker.0), failure.0);
        let completion = asks.fail(asker, || Box::new(failure));
        if !matches!(completion, Completion::NotOpen) {
            self.session.sending().asks_failed([failed]);
        }
        Ok(self.completed(asker.0, completion))
    }

    fn attached(&mut self, channel: u64, attached: &application::Attached<'_>) {
        let application::Attached { schema_hash, codec, reference, .. } = *attached;
        let (actor, read) = ActorIdentity::read(reference).unzip();
        let reference = read.and_then(|read| read.reference);
        let may_link = read.is_some_and(|read| read.may_link);
        let attached = Attached { schema_hash, codec, actor, reference, may_link };
        let refused = self.session.sending().attached(channel, attached);
        refused.tell(&links::refused());
    }

    fn credited(
        &mut self,
        channel: u64,
        _limit: u64,
        handled: u64,
        has_risen: bool,
    ) -> Result<(), LinkError> {
        let woken = self.session.sending().credited(channel, handled, has_risen);
        self.wake(woken);
        Ok(())
    }

    fn outcomes(&mut self, channel: u64, tells: u64, rejected: u64) {
        let at = usize::try_from(channel).unwrap_or(usize::MAX);
        if let Some(channel) = self.session.sending().channels.get_mut(at) {
            channel.tally.outcomes(tells, rejected);
        }
    }

    fn rejected(&mut self, channel: u64, rejected: &Rejected<'_>) {
        self.session.tells_rejected(channel, rejected);
    }

    fn detached(
        &mut self,
        channel: u64,
        code: Code,
        _accepted: u64,
        reason: &[u8],
    ) -> Result<(), LinkError> {
        let reason = Reason::from_wire(reason);
        let (parked, end_watchers) = self.session.sending().detached(channel, code, &reason);
        self.wake(parked);
        end_watchers.tell(&reason);
        Ok(())
    }

    fn has_room(&mut self) {
        let mut sending = self.session.sending();
        let (front_wakers, producers) = (sending.front_wakers(), sending.take_producers());
        drop(sending);
        self.wake(front_wakers);
        producers.iter().for_each(|producer| producer.wake());
    }

    fn draining(&mut self) {
        // Senders that wait for room must learn that the peer takes no new calls.
        self.session.sending().draining = true;
        self.has_room();
    }
}
impl Inbound<'_> {
    /// Wakes senders that have waited for the peer.
    fn wake(&mut self, senders: impl IntoIterator<Item = Waker>) {
        for sender in senders {
            sender.wake();
        }
    }

    /// Handles the completion of an ask. False if there is no such ask.
    #[inline(always)]
    fn completed(&self, number: u32, what: Completion) -> bool {
        matches!(what, Completion::Stored(None)) || self.completed_slow(number, what)
    }

    #[cold]
    fn completed_slow(&self, number: u32, what: Completion) -> bool {
        match what {
            Completion::Stored(waker) => waker.into_iter().for_each(Waker::wake),
            Completion::Unwanted => self.session.free_slot(number),
            Completion::NotOpen => return false,
        }
        true
    }
}
/// The send half of a session while its lock is held.
pub(super) struct LockedSendHalf<'a>(MutexGuard<'a, SendState>);

impl std::ops::Deref for LockedSendHalf<'_> {
    type Target = wigwag_link::SendHalf;

    fn deref(&self) -> &wigwag_link::SendHalf {
        &self.0.sender
    }
}

impl std::ops::DerefMut for LockedSendHalf<'_> {
    fn deref_mut(&mut self) -> &mut wigwag_link::SendHalf {
        &mut self.0.sender
    }
}
