//! The receiving side of a session: the node's half of [`Dispatcher`].
//!
//! Calls for an actor go into its inbound queue undecoded, a run at a time, and are decoded when
//! the actor handles them; replies go into the slots of their asks. The cost per message is a look
//! at its head; everything else is paid per run or per batch. Nothing here waits for anything but
//! bytes.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use wigwag_actor::limits::RUN_CALLS_MAX;
use wigwag_actor::{InboundQueue, WakeBatch};
use wigwag_link::budget::Pools;
use wigwag_link::credit::StreamId;
use wigwag_link::{Code, Dispatcher, Limits, LinkError};
use wigwag_wire::{Framing, ReadBuf, Time};

use crate::exports::Exports;
use crate::exports::references::ReferredActor;
use crate::session::Session;
use crate::session::receive::inbound::ChannelOwner;
use crate::session::receive::pipelined::PipelinedReplies;
use crate::streams::inbox::Inbox;
use crate::sync::Ordering;

mod application;
mod found;
pub(crate) mod inbound;
pub(crate) mod items;
mod pipelined;
pub(crate) mod next_call;

/// The state of the reading side.
pub(crate) struct RecvState {
    session: Weak<Session>,
    pub(crate) dispatcher: Dispatcher<InboundChannel>,
    ours: Limits,
    exports: Arc<Exports>,
    replies: PipelinedReplies,
}

/// An inbound channel: the way from the peer into the mailbox of an actor.
pub(crate) struct InboundChannel {
    /// `None` of the channel to an actor that an answer leads to.
    actor: Option<Arc<ReferredActor>>,
    queue: Box<dyn InboundQueue>,
    owner: Arc<ChannelOwner>,
}

impl Drop for InboundChannel {
    fn drop(&mut self) {
        if let Some(actor) = &self.actor {
            self.owner.session().channel_let_go(actor.exported.number());
        }
    }
}

impl RecvState {
    pub(crate) fn new(
        session: Weak<Session>,
        features: u64,
        ours: &Limits,
        exports: Arc<Exports>,
        pools: Arc<Pools>,
    ) -> RecvState {
        RecvState {
            session,
            dispatcher: Dispatcher::new(ours, features, RUN_CALLS_MAX).with_pools(pools),
            ours: *ours,
            exports,
            replies: PipelinedReplies::default(),
        }
    }

    /// Reads all complete messages in `input`.
    pub(crate) fn read(
        &mut self,
        session: &Session,
        framing: Framing,
        input: &mut ReadBuf,
        now: Time,
    ) -> Result<(), LinkError> {
        let too_long = || LinkError::Misbehaved {
            code: Code::LIMIT_EXCEEDED,
            rule: "a batch is longer than batch_max, or its framing is broken",
        };
        let most = usize::try_from(self.ours.batch_max).unwrap_or(usize::MAX);
        let RecvState { session: weak, dispatcher, ours, exports, replies } = self;
        let mut calls = 0;
        let outcome = loop {
            let message = match framing.cut(input, most) {
                Ok(Some(message)) => message,
                Ok(None) => break Ok(()),
                Err(_) => break Err(too_long()),
            };
            let mut inbound = Inbound::new(session, weak, (ours, exports), replies, &message);
            let received = dispatcher.receive(&message, now, &mut inbound);
            calls += inbound.calls;
            if let Err(error) = received {
                break Err(error);
            }
        };
        session.next_call.note(calls);
        let none = Bytes::new();
        dispatcher.publish(&mut Inbound::new(session, weak, (ours, exports), replies, &none));
        outcome
    }
}

/// The state that the dispatcher works on while a connection is read.
struct Inbound<'a> {
    session: &'a Session,
    weak: &'a Weak<Session>,
    ours: &'a Limits,
    exports: &'a Exports,
    replies: &'a mut PipelinedReplies,
    /// Slots from this one on belong to pipelines.
    floor: u32,
    /// The message that is read.
    message: &'a Bytes,
    /// The stream of the last items.
    stream: Option<(StreamId, Arc<Inbox>)>,
    /// Calls of the message.
    calls: u64,
    /// The asks among them that the session has not counted yet.
    asks: u64,
    /// The wakes of actors whose channels are published together.
    wakes: Option<WakeBatch>,
}

impl<'a> Inbound<'a> {
    fn new(
        session: &'a Session,
        weak: &'a Weak<Session>,
        (ours, exports): (&'a Limits, &'a Exports),
        replies: &'a mut PipelinedReplies,
        message: &'a Bytes,
    ) -> Inbound<'a> {
        Inbound {
            session,
            weak,
            ours,
            exports,
            replies,
            floor: u32::MAX,
            message,
            stream: None,
            calls: 0,
            asks: 0,
            wakes: None,
        }
    }

    /// Counts asks before an actor can answer them.
    fn count_asks(&mut self) {
        if self.asks > 0 {
            let asks = std::mem::take(&mut self.asks);
            self.session.asks_received.fetch_add(asks, Ordering::Release);
        }
    }
}
