//! ATTACH and DETACH: a channel begins and ends.

use alloc::collections::BTreeSet;

use super::{Inbound, InboundChannels, Open, index};
use crate::code::Code;
use crate::dispatch::application::{ACTOR_BYTES, Application, Attach, Target};
use crate::frames::frame::Frame;
use crate::frames::write;

/// How ATTACH names the actor that the answer to an ask leads to.
const HOW_ANSWER: u8 = 3;

impl<C> InboundChannels<C> {
    /// The actor that ATTACH names; `None` if it is named in an unknown way.
    /// `is_unused` says whether no ask has had a slot and generation yet.
    pub(crate) fn target<'a>(
        &self,
        how: u8,
        target: &'a [u8],
        is_unused: impl FnOnce(u32, u32) -> bool,
    ) -> Option<Target<'a>> {
        match how {
            0 => Some(Target::Name(target)),
            1 | 2 if self.knows_references => {
                let number = target.try_into().ok().map(u128::from_le_bytes)?;
                Some(if how == 1 { Target::Reference(number) } else { Target::Relayed(number) })
            }
            HOW_ANSWER if self.knows_pipes => {
                let (slot, generation) = target.split_first_chunk()?;
                let slot = u32::from_le_bytes(*slot);
                let generation = u32::from_le_bytes(generation.try_into().ok()?);
                let is_coming =
                    u64::from(slot) < self.ours.slots_max && is_unused(slot, generation);
                is_coming.then_some(Target::Answer(slot, generation))
            }
            _ => None,
        }
    }

    /// ATTACH: opens a channel, or refuses it. `attach` is `None` when it names no actor at all.
    pub(crate) fn attach<A>(
        &mut self,
        channel: u64,
        attach: Option<Attach<'_>>,
        app: &mut A,
    ) -> Result<(), A::Error>
    where
        A: Application<Channel = C>,
    {
        // Calls of the number's last use are handed over before it has a new one.
        self.publish(app);
        let found = attach.map_or(Err(Code::NO_SUCH_ACTOR), |attach| app.find(&attach));
        let mut send = app.send_half();
        // The check of the number comes first: it bounds the table.
        let bound = found.as_ref().ok().and_then(|found| found.bound.clone());
        let is_bounded = bound.is_some();
        let limit = send.grant(channel, self.ours.initial_units, bound)?;
        let at = index(channel);
        if self.channels.len() <= at {
            self.channels.resize_with(at + 1, || None);
        }
        match attach.map(|attach| attach.target) {
            Some(Target::Answer(..)) => send.answer_pipe()?,
            _ => send.answer_attach(self.ours.attach_pending_max)?,
        }
        let opened = match found {
            Err(code) => {
                send.withdraw(channel);
                let detached = Frame::Detached { channel, code, accepted: 0, reason: &[] };
                send.outbox.append(|out| write::any(out, &detached));
                drop(send);
                Inbound::Refused { code, left: limit }
            }
            Ok(found) => {
                let (schema_hash, codec) = (found.schema_hash, found.codec);
                let may_link = found.reference.is_some_and(|reference| reference.may_link);
                let (bytes, length) = found.reference.map_or(([0; ACTOR_BYTES], 0), |reference| {
                    reference.bytes(self.knows_references, self.knows_links)
                });
                let reference = &bytes[..length];
                let attached = Frame::Attached { channel, limit, schema_hash, codec, reference };
                send.outbox.append(|out| write::any(out, &attached));
                let use_of = send.use_of(channel);
                drop(send);
                let channel = app.open(found.actor, channel, use_of);
                let limit = if is_bounded { 0 } else { limit };
                let (is_unpublished, links) = (false, BTreeSet::new());
                Inbound::Open(Open { channel, used: 0, limit, is_unpublished, may_link, links })
            }
        };
        // The application's part of the number's last use goes without access to the send half,
        // which it may need itself.
        self.forget_links(at);
        self.channels[at] = Some(opened);
        Ok(())
    }

    /// DETACH: the channel ends. A DETACH that crosses our DETACHED gets no second one, which would
    /// look like the answer to the peer's next ATTACH of the number.
    pub(crate) fn detach<A>(&mut self, channel: u64, app: &mut A)
    where
        A: Application<Channel = C>,
    {
        self.publish(app);
        self.forget_links(index(channel));
        let Some(inbound) = self.channels.get_mut(index(channel)).and_then(Option::take) else {
            return;
        };
        let grant = app.send_half().end_channel(channel, Code::OK, 0);
        if let Inbound::Open(open) = inbound {
            app.close(open.channel, grant);
        }
    }
}
