//! Replies: the answer of a handler to its call.
//!
//! A reply is sent once: with a value, or, when it is dropped unsent, as an error. So an asker
//! always gets an outcome, whatever the handler does.

mod asker;
mod batch;
pub(crate) mod one_shot;
pub mod codec;
pub mod responder;
pub mod cancelled;
pub mod caller;
pub mod owner;
#[doc(hidden)]
pub mod flow;
pub mod items;

use std::cell::Cell;
use std::sync::Arc;
use std::task::{Poll, Waker};

use wigwag_wire::Encode;
use wigwag_wire::trace::TraceContext;

use crate::error::CallErrorKind;
use crate::reply::asker::complete;
use crate::reply::cancelled::CancelledAsks;
use crate::reply::owner::{InboundQueueOwner, ItemSink};

pub(crate) use asker::{Asker, LocalReply, ReplySlot};
pub(crate) use batch::ReplyBatch;

enum ReplyPath<'r> {
    Borrowed(&'r Arc<dyn InboundQueueOwner>),
    Owned(Arc<dyn InboundQueueOwner>),
    None,
}

/// The reply of a handler to its call. If it is dropped unsent, the asker gets an error.
///
/// Handlers written with the macros return their reply or take a [`Responder`](crate::Responder);
/// its documentation has an example.
pub struct Reply<'r> {
    slot: ReplySlot,
    path: ReplyPath<'r>,
    batch: ReplyBatch,
    items: Option<ItemsWanted>,
    /// The trace context of the call, once its handler goes on in a future.
    trace: Option<Box<TraceContext>>,
}

/// A remote ask that is to be answered with a stream.
#[derive(Clone, Copy)]
struct ItemsWanted {
    asker: (u32, u32),
    /// The first limit of the items, in units.
    limit: u64,
}

impl<'r> Reply<'r> {
    #[inline]
    pub(crate) fn new(slot: ReplySlot, path: Option<&'r Arc<dyn InboundQueueOwner>>) -> Reply<'r> {
        let path = path.map_or(ReplyPath::None, ReplyPath::Borrowed);
        Reply { slot, path, batch: ReplyBatch::default(), items: None, trace: None }
    }

    /// A reply for the calls of a run. The caller must [hand over](Self::hand_over) the collected
    /// answers before the actor's turn ends.
    pub(crate) fn of_run(
        path: Option<&'r Arc<dyn InboundQueueOwner>>,
        batch: ReplyBatch,
    ) -> Reply<'r> {
        let mut reply = Reply::new(ReplySlot::Nobody, path);
        reply.batch = batch;
        reply.batch.joins = path.is_some_and(|owner| owner.joins());
        reply
    }

    /// The reply to one remote ask, which goes to its session by itself.
    pub(crate) fn of_one(path: Arc<dyn InboundQueueOwner>) -> Reply<'static> {
        let mut reply = Reply::new(ReplySlot::Nobody, None);
        reply.path = ReplyPath::Owned(path);
        reply
    }

    /// Passes the collected answers to the session.
    #[inline]
    pub(crate) fn hand_over(&mut self) {
        if self.batch.count > 0 {
            self.hand_over_now();
        }
    }

    #[inline(never)]
    fn hand_over_now(&mut self) {
        let count = std::mem::take(&mut self.batch.count);
        self.batch.joiner.close(&mut self.batch.frames);
        match &self.path {
            ReplyPath::Borrowed(owner) => owner.replies(&mut self.batch.frames, count),
            ReplyPath::Owned(_) | ReplyPath::None => {}
        }
    }

    /// Ends a run and returns its emptied memory for the next one.
    pub(crate) fn into_batch(mut self) -> ReplyBatch {
        self.hand_over();
        std::mem::take(&mut self.batch)
    }

    /// True when the call was asked: false for a tell.
    #[inline]
    pub fn is_wanted(&self) -> bool {
        !matches!(self.slot, ReplySlot::Nobody)
    }

    /// True when an asker of another process waits.
    pub(crate) fn is_elsewhere(&self) -> bool {
        matches!(self.slot, ReplySlot::Remote { .. })
    }

    /// True when the call was asked and the asker has not gone.
    pub(crate) fn is_awaited(&self) -> bool {
        match &self.slot {
            ReplySlot::Nobody => false,
            ReplySlot::Local(place) => place.is_awaited(),
            ReplySlot::Remote { slot, generation } => {
                self.cancelled().is_some_and(|asks| !asks.is_given_up((*slot, *generation)))
            }
        }
    }

    /// True when the asker has gone and the call, if not begun, may be skipped.
    fn is_called_off(&self) -> bool {
        match &self.slot {
            ReplySlot::Nobody => false,
            ReplySlot::Local(place) => place.is_called_off(),
            ReplySlot::Remote { slot, generation } => {
                self.cancelled().is_some_and(|asks| asks.contains((*slot, *generation)))
            }
        }
    }

    /// Ends a call that has not begun if its asker has gone; false if it is to be handled.
    pub(crate) fn end_if_called_off(&mut self) -> bool {
        let is_called_off = self.is_called_off();
        if is_called_off {
            self.fail_now(CallErrorKind::Cancelled, None);
        }
        is_called_off
    }

    /// Ready when the asker has gone and the call need not be continued; otherwise `waker` is woken
    /// then, until [`unwatch`](Self::unwatch).
    pub(crate) fn poll_called_off(&self, waker: &Waker) -> Poll<()> {
        let is_called_off = match &self.slot {
            ReplySlot::Nobody => false,
            ReplySlot::Local(place) => return place.poll_called_off(waker),
            ReplySlot::Remote { slot, generation } => {
                self.cancelled().is_some_and(|asks| asks.watch((*slot, *generation), waker))
            }
        };
        if is_called_off { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Ends [`poll_called_off`](Self::poll_called_off).
    pub(crate) fn unwatch(&self) {
        if let ReplySlot::Remote { slot, generation } = self.slot
            && let Some(asks) = self.cancelled()
        {
            asks.unwatch((slot, generation));
        }
    }

    /// The cancelled asks of the session that the reply goes to.
    fn cancelled(&self) -> Option<&CancelledAsks> {
        self.owner().map(|owner| owner.cancelled())
    }

    /// True while the task of `waker` waits for it, in this process and with nothing in between.
    pub(crate) fn is_awaited_by(&self, waker: &Waker) -> bool {
        matches!(&self.slot, ReplySlot::Local(place) if place.is_awaited_by(waker))
    }

    /// Ends the handling of the call: an asker that still waits is told that there is no answer.
    #[inline(always)]
    pub(crate) fn end(&mut self) {
        if self.is_wanted() {
            self.fail_now(CallErrorKind::ReplyDropped, None);
        }
    }

    /// Reuses the reply, with its path, for the next call of the run.
    #[inline(always)]
    pub(crate) fn renew(&mut self, slot: ReplySlot) {
        self.slot = slot;
    }

    /// Sends the answer; later answers are ignored. For a tell it costs one comparison.
    #[inline(always)]
    pub fn send<R: Encode + Send + 'static>(&mut self, value: R) {
        if !R::TRAVELS && self.is_elsewhere() {
            return self.fail(CallErrorKind::NotSerializable, "the reply does not travel");
        }
        if let (ReplySlot::Remote { slot, generation }, ReplyPath::Borrowed(_)) =
            (&self.slot, &self.path)
            && self.batch.add((*slot, *generation), &value)
        {
            self.slot = ReplySlot::Nobody;
            return;
        }
        if self.is_wanted() {
            self.send_now(value);
        }
    }

    #[inline(never)]
    fn send_now<R: Encode + Send + 'static>(&mut self, value: R) {
        self.hand_over();
        if let (&ReplySlot::Remote { slot, generation }, Some(owner)) = (&self.slot, self.owner()) {
            // The slot stays until this returns: if the encoder panics, the asker is told.
            owner.reply(slot, generation, &value);
        }
        if let ReplySlot::Local(place) = std::mem::replace(&mut self.slot, ReplySlot::Nobody) {
            complete(&*place, value);
        }
    }

    /// Sends the answer of a local actor, which has no encoding; later answers are ignored.
    #[inline]
    pub fn send_in_process<R: Send + 'static>(&mut self, value: R) {
        match std::mem::replace(&mut self.slot, ReplySlot::Nobody) {
            ReplySlot::Nobody => {}
            ReplySlot::Local(place) => complete(&*place, value),
            remote @ ReplySlot::Remote { .. } => {
                self.slot = remote;
                self.fail(CallErrorKind::NotSerializable, "the reply does not travel");
            }
        }
    }

    /// Answers with an error, and with a detail for the reader unless that is empty.
    pub fn fail(&mut self, kind: CallErrorKind, detail: &str) {
        self.fail_now(kind, Some(detail).filter(|detail| !detail.is_empty()));
    }

    /// Takes the reply out, so that it may outlive the turn.
    pub fn take_owned(&mut self) -> Reply<'static> {
        let slot = std::mem::replace(&mut self.slot, ReplySlot::Nobody);
        let path = self.owner().map_or(ReplyPath::None, |owner| ReplyPath::Owned(owner.clone()));
        let (items, trace) = (self.items.take(), self.trace.take());
        Reply { slot, path, batch: ReplyBatch::default(), items, trace }
    }

    /// Keeps the trace context of the call for its future.
    #[cold]
    pub(crate) fn keep_trace(&mut self, trace: TraceContext) {
        self.trace = Some(Box::new(trace));
    }

    /// Takes the trace context of the call.
    pub(crate) fn take_trace(&mut self) -> Option<Box<TraceContext>> {
        self.trace.take()
    }

    /// The asker, which is remote, wants a stream, whose items may use `limit` units at first.
    pub(crate) fn wants_items(&mut self, limit: u64) {
        if let ReplySlot::Remote { slot, generation } = self.slot {
            self.items = Some(ItemsWanted { asker: (slot, generation), limit });
        }
    }

    /// The way of the items to a remote asker that wants a stream.
    pub(crate) fn open_items(&mut self) -> Option<Box<dyn ItemSink>> {
        let ReplySlot::Remote { slot, generation } = self.slot else { return None };
        // A stream that an earlier ask of the run has wanted is not wanted by this one.
        let items = self.items.take().filter(|items| items.asker == (slot, generation))?;
        self.owner()?.open_items(slot, generation, items.limit)
    }

    /// The place of an asker of this process.
    pub(crate) fn local(&self) -> Option<Arc<dyn LocalReply>> {
        match &self.slot {
            ReplySlot::Local(place) => Some(place.clone()),
            ReplySlot::Nobody | ReplySlot::Remote { .. } => None,
        }
    }

    fn owner(&self) -> Option<&Arc<dyn InboundQueueOwner>> {
        match &self.path {
            ReplyPath::Borrowed(owner) => Some(owner),
            ReplyPath::Owned(owner) => Some(owner),
            ReplyPath::None => None,
        }
    }

    #[cold]
    fn fail_now(&mut self, kind: CallErrorKind, detail: Option<&str>) {
        self.hand_over();
        match std::mem::replace(&mut self.slot, ReplySlot::Nobody) {
            ReplySlot::Nobody => {}
            ReplySlot::Local(place) => place.fail(kind, detail),
            ReplySlot::Remote { slot, generation } => {
                if let Some(owner) = self.owner() {
                    owner.fail(slot, generation, kind, detail.unwrap_or(""));
                }
            }
        }
    }
}

thread_local! {
    static ENDING: Cell<bool> = const { Cell::new(false) };
}

/// Drops a handler or a state whose actor has ended: pending replies fail with `ActorStopped`
/// instead of `ReplyDropped`.
pub(crate) fn while_ending(drop: impl FnOnce()) {
    struct RestoreEnding(bool);
    impl Drop for RestoreEnding {
        fn drop(&mut self) {
            ENDING.set(self.0);
        }
    }
    let _before = RestoreEnding(ENDING.replace(true));
    drop();
}

/// Why something is dropped now: a panic, the end of its actor, or `otherwise`.
#[doc(hidden)]
pub fn kind_of_drop(otherwise: CallErrorKind) -> CallErrorKind {
    match (std::thread::panicking(), ENDING.get()) {
        (true, _) => CallErrorKind::Panicked,
        (false, true) => CallErrorKind::ActorStopped,
        (false, false) => otherwise,
    }
}

impl Drop for Reply<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.is_wanted() {
            self.fail_now(kind_of_drop(CallErrorKind::ReplyDropped), None);
        }
        self.hand_over();
    }
}
