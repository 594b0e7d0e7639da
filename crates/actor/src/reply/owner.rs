//! The session that the replies to remote calls go to.

use std::fmt;
use std::task::{Poll, Waker};

use wigwag_wire::small::DynEncode;
use wigwag_wire::{Buffer, Time};

use crate::error::CallErrorKind;
use crate::reason::Reason;
use crate::reply::caller::Caller;
use crate::reply::cancelled::CancelledAsks;

/// The way of the items of a stream to a consumer in another process.
pub trait ItemSink: Send + Sync {
    /// Sends an item if there is credit; otherwise registers `waker`, which is woken when there is
    /// credit or when the consumer has gone.
    fn offer(&mut self, item: &dyn DynEncode, waker: Option<&Waker>) -> ItemOffer;

    /// Units of credit that are left: a short item takes one, and longer ones one for each 64 bytes.
    fn credit(&self) -> u64;

    /// True while a consumer takes the items.
    fn is_wanted(&self) -> bool;

    /// Ready when the consumer has gone.
    fn poll_unwanted(&self, waker: &Waker) -> Poll<()>;

    /// Makes sure that what this thread sends next comes behind the items. Dropping the sink does too.
    fn settle(&mut self);
}

/// The outcome of offering an item to an [`ItemSink`].
#[derive(Debug)]
pub enum ItemOffer {
    /// It was sent.
    Sent,
    /// The consumer must take items first.
    Full,
    /// The consumer has gone.
    Unwanted,
    /// The consumer's process cannot be sent this item, for a reason in words: the stream ends.
    Refused(CallErrorKind, String),
}

/// Decides which calls of a peer reach an actor.
pub trait CallGate: Send + Sync {
    /// True if the peer may call this method. Others do not exist for it.
    fn permits(&self, method: u32) -> bool;

    /// Counts a call that is about to begin. False if the peer has made as many as it may in this
    /// time, so that the call is refused as `Overloaded`.
    fn admits(&self) -> bool;

    /// True if calls are counted, so that each must be admitted by itself.
    fn is_counting(&self) -> bool;
}

/// A session, as an actor sees it: it takes replies and is told of freed credit.
pub trait InboundQueueOwner: Send + Sync {
    /// Places are free again: `units` of credit were taken out of the inbound queue.
    fn freed(&self, units: u64);

    /// The handlers of `tells` more tells and of `asks` more asks have finished. Calls that were
    /// not understood count too.
    fn handled(&self, tells: u64, asks: u64);

    /// The actor has stopped, for this reason.
    fn stopped(&self, reason: &Reason);

    /// The caller of the calls of this queue.
    fn caller(&self) -> Option<Caller> {
        None
    }

    /// Decides which of the calls are handled; `None` if all of them are.
    fn gate(&self) -> Option<&dyn CallGate> {
        None
    }

    /// Whether answers to consecutive asks may be joined to runs.
    fn joins(&self) -> bool;

    /// The asks of the session that were cancelled. The actor does not begin them, and
    /// [fails](Self::fail) them with `Cancelled`.
    fn cancelled(&self) -> &CancelledAsks;

    /// True when this time, which the session has set, has passed. The actor does not begin an ask
    /// whose deadline has passed, and [fails](Self::fail) it with `DeadlinePassed`.
    fn has_passed(&self, _deadline: Time) -> bool {
        false
    }

    /// Sends answers to several asks. `frames` holds REPLY frames, or runs of them, one behind the
    /// other; the session takes them out.
    fn replies(&self, frames: &mut Buffer, count: u64);

    /// Sends the answer to the ask in `slot`. If the encoder of the value panics, nothing is sent,
    /// and the ask is still to be answered.
    fn reply(&self, slot: u32, generation: u32, value: &dyn DynEncode);

    /// Calls `read` while references to actors can be read from the arguments of a call of the
    /// session. It returns false if they were not read: then the references in them are let go.
    fn reading(&self, _arguments: &[u8], read: &mut dyn FnMut() -> bool) {
        read();
    }

    /// The arguments of a call are never read, for this reason: the references to actors in them are
    /// let go, and the streams in them end.
    fn discarded(&self, _arguments: &[u8], _why: CallErrorKind) {}

    /// Opens the stream that answers the ask in `slot`, whose items may use `limit` units of credit at
    /// first. `None` if the session knows no streams.
    fn open_items(&self, _slot: u32, _generation: u32, _limit: u64) -> Option<Box<dyn ItemSink>> {
        None
    }

    /// A tell was not understood, which `reason` says in words: there is no such method, or it takes
    /// other arguments. [`handled`](Self::handled) counts it afterwards.
    fn rejected(&self, method: u32, kind: CallErrorKind, reason: &dyn fmt::Display);

    /// The ask in `slot` fails: it has no answer.
    fn fail(&self, slot: u32, generation: u32, kind: CallErrorKind, detail: &str);
}
