//! The open session as its reader sees it: what each frame means (sections 3 to 7).
//!
//! A [`Dispatcher`] takes whole messages of the peer. It decides on sequence numbers, acks, credit,
//! channels and heartbeats, and calls the [`Application`] for what only the application knows:
//! actors, the slots of askers, tasks that wait. The send half is reached through the application,
//! because it is shared with everyone who sends and may be behind a lock; no lock is held between
//! two calls.
//!
//! A node, the simulator, the fuzz targets and the model test drive this same type.

use alloc::sync::Arc;

use wigwag_wire::{Buffer, Time};

use crate::dispatch::application::{Application, Attach};
use crate::dispatch::assembly::Assemblies;
use crate::dispatch::inbound::InboundChannels;
use crate::error::LinkError;
use crate::features;
use crate::flow_control::budget::Pools;
use crate::frames::batch;
use crate::frames::frame::Frame;
use crate::limits::{Limits, units};
use crate::opening::Opening;
use crate::opening::resume::Claim;
use crate::outbox::Outbox;
use crate::outbox::long::source_of;
use crate::recv_half::RecvHalf;

pub mod application;
mod assembly;
mod inbound;
mod by_kind;
mod whole;

use by_kind::{dispatch, is_open, item_of_no_stream};
use whole::{assemble, dispatch_whole};

/// The reading side of an open session; `C` is the application's part of an inbound channel.
#[derive(Debug)]
pub struct Dispatcher<C> {
    receiver: RecvHalf,
    channels: InboundChannels<C>,
    assemblies: Assemblies,
    /// Calls that are handed to the application at once.
    calls_max: usize,
    /// No batch has come yet over the connection that resumed the session.
    is_unconfirmed: bool,
    /// The batch that is read holds answers, or the end of something.
    has_answers: bool,
}

impl<C> Dispatcher<C> {
    /// The reading side of a session that begins. `ours` are the limits that we announced,
    /// `features` those that both sides offer; at most `calls_max` calls are handed over at once.
    pub fn new(ours: &Limits, features: u64, calls_max: usize) -> Dispatcher<C> {
        Dispatcher {
            receiver: RecvHalf::new(ours).with_features(features & features::OFFERED),
            channels: InboundChannels::new(ours, features),
            assemblies: Assemblies::new(ours.message_max),
            calls_max,
            is_unconfirmed: false,
            has_answers: false,
        }
    }

    /// Shares `pools` with other sessions: the memory that they keep for long messages is bounded
    /// over all of them.
    pub fn with_pools(mut self, pools: Arc<Pools>) -> Dispatcher<C> {
        self.assemblies.set_pools(pools);
        self
    }

    /// Frees memory that is kept for further long messages if none has come for a second.
    pub fn free_unused(&mut self, now: Time) {
        self.assemblies.free_unused(now);
    }

    /// No part of a long message can come before the next connection: memory that is kept for
    /// further ones is freed, and the time does not count as a lack of progress.
    pub fn connection_lost(&mut self) {
        self.assemblies.connection_lost();
    }

    /// The number of the next frame that was not accepted yet.
    pub fn recv_next(&self) -> u64 {
        self.receiver.recv_next()
    }

    /// Frames that came again after a cut and were skipped.
    pub fn repeated(&self) -> u64 {
        self.receiver.repeated()
    }

    /// Drops the application's part of every inbound channel: the session is over.
    pub fn clear(&mut self) {
        self.channels.clear();
        self.assemblies.clear();
    }

    /// Lets a dialer whose claim was proved resume the session: gives the message to send it.
    ///
    /// The old connection must not be read from any more, so that the number in the message stays
    /// true.
    ///
    /// # Errors
    /// The claim names a frame that was never sent, or one that was acknowledged before.
    pub fn readmit(
        &mut self,
        claim: &Claim,
        token: u128,
        outbox: &Outbox,
    ) -> Result<Buffer, LinkError> {
        outbox.check_resume(claim.recv_next)?;
        self.is_unconfirmed = true;
        self.connection_lost();
        Ok(Opening::resumed(claim, self.recv_next(), token))
    }

    /// Takes one message of the peer, with its PAIR1 header. The calls of one that holds no answers
    /// may be left unpublished, to be published together with those of the next message: after the
    /// last message that is there, or after an error, the caller calls [`publish`](Self::publish).
    ///
    /// # Errors
    /// An error that names the rule that the peer has broken, and that the caller reports to the
    /// peer; [`LinkError::ClosedByPeer`] if the peer has closed the session; or the error with
    /// which the application stops. Calls and replies that the application has taken count as
    /// accepted.
    pub fn receive<A>(&mut self, message: &[u8], now: Time, app: &mut A) -> Result<(), A::Error>
    where
        A: Application<Channel = C>,
    {
        let outcome = self.read(message, now, app);
        match self.has_answers {
            true => self.channels.publish(app),
            false => self.channels.publish_gathered(app),
        }
        app.batch_ended();
        outcome
    }

    /// Publishes the calls that [`receive`](Self::receive) has left.
    pub fn publish<A>(&mut self, app: &mut A)
    where
        A: Application<Channel = C>,
    {
        self.channels.publish(app);
    }

    fn read<A>(&mut self, message: &[u8], now: Time, app: &mut A) -> Result<(), A::Error>
    where
        A: Application<Channel = C>,
    {
        self.read_batch(batch::without_pair1_header(message)?, now, app)?;
        self.assemblies.batch_read(now)?;
        if core::mem::take(&mut self.is_unconfirmed) {
            app.token_confirmed();
        }
        let recv_next = self.receiver.recv_next();
        app.send_half().accepted(recv_next, message.len(), now);
        Ok(())
    }

    #[inline]
    fn read_batch<A>(&mut self, batch: &[u8], now: Time, app: &mut A) -> Result<(), A::Error>
    where
        A: Application<Channel = C>,
    {
        let Dispatcher { receiver, channels, assemblies, calls_max, has_answers, .. } = self;
        *has_answers = false;
        let mut incoming = receiver.open(batch)?;
        let mut send = app.send_half();
        let has_room = send.outbox.acknowledge(incoming.ack)?;
        let released = send.outbox.take_released();
        send.outbox.check_written()?;
        let is_settled = send.outbox.is_settled();
        drop(send);
        if !released.is_empty() {
            app.released(released);
        }
        app.acknowledged(has_room, is_settled);
        loop {
            channels.prefetch_calls(&incoming, app);
            while let Some(run) = incoming.next_calls(*calls_max) {
                app.calls_arrived(&run)?;
                channels.calls(&run, app)?;
                channels.prefetch_calls(&incoming, app);
            }
            if let Some(run) = incoming.next_replies() {
                publish_before_answers(has_answers, channels, app);
                is_open(app.replies(&run)?)?;
                continue;
            }
            if let Some(run) = incoming.next_items() {
                publish_before_answers(has_answers, channels, app);
                match app.items(&run)? {
                    true => continue,
                    false => return Err(item_of_no_stream().into()),
                }
            }
            if let Some(reply) = incoming.next_reply() {
                publish_before_answers(has_answers, channels, app);
                is_open(app.reply((reply.slot, reply.generation), reply.value)?)?;
                continue;
            }
            let Some((frame, body)) = incoming.next_frame()? else {
                return Ok(());
            };
            channels.trace = incoming.take_trace();
            if is_answer(&frame) {
                publish_before_answers(has_answers, channels, app);
            }
            app.frame(&frame)?;
            if let Frame::Cancel { slot, generation } = frame
                && !incoming.may_be_open(slot, generation)
            {
                continue;
            }
            match frame {
                Frame::Parts { .. } | Frame::Part { .. } | Frame::PartsDrop { .. } => {
                    app.send_half().has_parts();
                    let Some(whole) = assemble(assemblies, channels, frame, app)? else { continue };
                    dispatch_whole(&mut incoming, channels, assemblies, whole, now, app)?;
                    continue;
                }
                Frame::Attach { channel, how, target, schema_hash, codec } => {
                    assemblies.forget(source_of(channel));
                    let is_unused = |slot, generation| incoming.is_unused(slot, generation);
                    let target = channels.target(how, target, is_unused);
                    let attach = target.map(|target| Attach { target, schema_hash, codec });
                    channels.attach(channel, attach, app)?;
                    continue;
                }
                Frame::Detach { channel } => assemblies.forget(source_of(channel)),
                _ => {}
            }
            dispatch(channels, frame, units(body), now, app)?;
        }
    }
}

/// True for a frame that answers something, or ends it: neither a call nor what is said of credit.
fn is_answer(frame: &Frame<'_>) -> bool {
    !matches!(
        frame,
        Frame::Tell { .. }
            | Frame::Ask { .. }
            | Frame::AskWithin { .. }
            | Frame::AskItems { .. }
            | Frame::Need { .. }
            | Frame::Credit { .. }
            | Frame::Outcomes { .. }
    )
}

/// Publishes the calls that have come before the first answer of a batch: the task that waits for it
/// may look for what they have done.
#[inline]
fn publish_before_answers<C, A>(
    has_answers: &mut bool,
    channels: &mut InboundChannels<C>,
    app: &mut A,
) where
    A: Application<Channel = C>,
{
    if !core::mem::replace(has_answers, true) {
        channels.publish(app);
    }
}
