//! The items of a stream on their way from an actor to a consumer in another process.
//!
//! In a turn they go into the turn's buffer, as calls and answers do. Their producer may move to another
//! thread between two of them, also before the turn has ended; then what the turn holds is published
//! first. Outside a turn they go into the outbox one by one, and leave with whatever the session writes
//! next.

use std::sync::Arc;
use std::task::{Poll, Waker};

use wigwag_actor::{CallErrorKind, ItemOffer, ItemSink, turn};
use wigwag_link::credit::StreamId;
use wigwag_link::limits::units;
use wigwag_link::write;
use wigwag_wire::Buffer;
use wigwag_wire::small::DynEncode;

use crate::limits::PILE_BYTES;
use crate::session::Session;
use crate::session::buffers::encoded::EncodedValue;
use crate::session::buffers::frames::TurnFrames;
use crate::session::buffers::{self, ItemOutcome};
use crate::streams::inbox::StreamEnd;
use crate::streams::outlet::{Gone, Outlet};
use crate::sync::Ordering;

/// The producer's end of a stream.
pub(crate) struct SentItems {
    session: Arc<Session>,
    outlet: Arc<Outlet>,
    /// Units that the items have used.
    used: u64,
    /// The frames of the turns of the thread that has encoded the last item, if it did so in a turn.
    turn: Option<Arc<TurnFrames>>,
    /// The reader was told of the end.
    is_ended: bool,
}

impl SentItems {
    /// Opens the stream that answers the ask of `asker`, which has not ended.
    pub(crate) fn open(session: &Arc<Session>, asker: (u32, u32), limit: u64) -> SentItems {
        let outlet = Arc::new(Outlet::new(StreamId::Answer(asker.0, asker.1), limit));
        session.sent_streams.insert(asker.0.into(), outlet.clone());
        // A cancellation, or the end of the session, may have come before the stream was there.
        if session.cancelled.contains(asker) || session.has_ended() {
            outlet.end();
        }
        SentItems { session: session.clone(), outlet, used: 0, turn: None, is_ended: false }
    }

    /// The sender's end of a stream that is a value.
    pub(crate) fn of_value(session: &Arc<Session>, outlet: Arc<Outlet>) -> SentItems {
        SentItems { session: session.clone(), outlet, used: 0, turn: None, is_ended: false }
    }

    /// Ready when there is credit, or the consumer has gone.
    pub(crate) fn poll_credit(&self, waker: &Waker) -> Poll<()> {
        if self.has_credit(Some(waker)) { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Why the consumer of a value has gone.
    pub(crate) fn gone(&self) -> Gone {
        self.outlet.gone().unwrap_or_else(|| Gone::with_session(""))
    }

    /// Tells the reader of a value of its end.
    pub(crate) fn end(mut self, end: StreamEnd) {
        self.is_ended = true;
        self.settle();
        buffers::publish(&self.session);
        self.session.end_stream_value(&self.outlet, end);
    }

    /// Waits for the consumer if there is no credit.
    fn has_credit(&self, waker: Option<&Waker>) -> bool {
        if self.outlet.left(self.used) > 0 {
            return true;
        }
        let is_time = |outlet: &Outlet| outlet.left(self.used) > 0 || !outlet.is_wanted();
        waker.is_some_and(|waker| self.outlet.poll(waker, is_time).is_ready())
    }

    #[inline]
    fn send(&mut self, encode: &dyn Fn(&mut Buffer), waker: Option<&Waker>) -> ItemOffer {
        let stream = self.outlet.id;
        let mut outcome = buffers::item(&self.session, stream, &mut self.turn, encode);
        if let ItemOutcome::Elsewhere = outcome {
            self.settle();
            outcome = buffers::item(&self.session, stream, &mut self.turn, encode);
        }
        match outcome {
            ItemOutcome::Encoded(body) => {
                self.used += units(body);
                ItemOffer::Sent
            }
            ItemOutcome::Long(body) => self.too_long(body),
            ItemOutcome::NotHere | ItemOutcome::Elsewhere => self.send_shared(encode, waker),
        }
    }

    #[cold]
    fn too_long(&self, body: usize) -> ItemOffer {
        let most = self.session.identity.limits.frame_max;
        let why = format!("the item has {body} bytes, the consumer accepts {most}");
        ItemOffer::Refused(CallErrorKind::TooLarge, why)
    }

    /// Sends an item under the lock that all senders of the session share.
    fn send_shared(&mut self, encode: &dyn Fn(&mut Buffer), waker: Option<&Waker>) -> ItemOffer {
        self.settle();
        let session = &self.session;
        // Frames that this turn has encoded go first.
        buffers::publish(session);
        let mut sending = session.sending();
        if sending.ended.is_some() {
            return ItemOffer::Unwanted;
        }
        if !sending.sender.outbox.has_room_for_calls() {
            // Under the lock: room that comes next finds the waker.
            if let Some(waker) = waker {
                let _ = self.outlet.poll(waker, |_| false);
                if !self.outlet.waits_for_room.swap(true, Ordering::Relaxed) {
                    sending.waiting_producers.push(self.outlet.clone());
                }
            }
            return ItemOffer::Full;
        }
        let outbox = &mut sending.sender.outbox;
        let (was_idle, most) = (outbox.is_idle(), session.identity.limits.frame_max);
        let sent = outbox.append_unless(|out| {
            let body = write::item(out, self.outlet.id, encode);
            if body as u64 > most { Err(body) } else { Ok(body) }
        });
        let is_pile = outbox.waiting_bytes() >= PILE_BYTES;
        drop(sending);
        match sent {
            Ok(body) => self.used += units(body),
            Err(body) => return self.too_long(body),
        }
        if is_pile {
            session.flush();
        } else if was_idle && turn::is_open() {
            buffers::flush_soon(session);
        } else if was_idle {
            session.wake_driver();
        }
        ItemOffer::Sent
    }
}

impl ItemSink for SentItems {
    fn offer(&mut self, item: &dyn DynEncode, waker: Option<&Waker>) -> ItemOffer {
        if !self.outlet.is_wanted() {
            return ItemOffer::Unwanted;
        }
        if !self.has_credit(waker) {
            return ItemOffer::Full;
        }
        if !self.outlet.is_wanted() {
            return ItemOffer::Unwanted;
        }
        if item.is_plain() {
            return self.send(&|out| item.encode(out), waker);
        }
        match EncodedValue::new(&self.session.clone(), |out| item.encode(out)) {
            Ok(encoded) => {
                let offer = self.send(&|out| out.extend(encoded.bytes()), waker);
                if let ItemOffer::Sent = offer {
                    encoded.sent();
                }
                offer
            }
            Err(why) => ItemOffer::Refused(CallErrorKind::NotSerializable, why.to_owned()),
        }
    }

    fn credit(&self) -> u64 {
        if self.is_wanted() { self.outlet.left(self.used) } else { 0 }
    }

    fn is_wanted(&self) -> bool {
        self.outlet.is_wanted()
    }

    fn poll_unwanted(&self, waker: &Waker) -> Poll<()> {
        self.outlet.poll(waker, |outlet| !outlet.is_wanted())
    }

    fn settle(&mut self) {
        if let Some(turn) = self.turn.take_if(|turn| !turn.is_of_this_thread()) {
            turn.publish_items(&self.session);
        }
    }
}

impl Drop for SentItems {
    fn drop(&mut self) {
        self.settle();
        match self.outlet.id {
            StreamId::Answer(slot, generation) => {
                self.session.sent_streams.remove((slot.into(), generation));
            }
            StreamId::Value(_) if self.is_ended => {}
            // The task that sends was dropped with its runtime, and the session ends with that. A stream
            // that the reader has not opened has no end.
            StreamId::Value(_) if !self.outlet.is_open() => {
                self.session.forget_stream_value(&self.outlet);
            }
            StreamId::Value(_) => {
                let why = (CallErrorKind::Cancelled, "the sender has stopped".into());
                buffers::publish(&self.session);
                self.session.end_stream_value(&self.outlet, Err(why));
            }
        }
    }
}
