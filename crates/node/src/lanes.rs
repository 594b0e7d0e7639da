//! A session as the actors see it: where replies go and who hears that places are free.

use std::sync::Arc;

use wigwag_actor::{CallErrorKind, LaneOwner};
use wigwag_link::frame::Frame;
use wigwag_link::{Code, write};
use wigwag_wire::Buffer;
use wigwag_wire::small::Value;

use crate::limits::ERROR_TEXT_CHARS_MAX;
use crate::link::Link;
use crate::turns;

/// One channel of one session, for as long as it is attached. Mail of a channel that is over may
/// still be handled; then `attach` differs from the living one and credit is left alone. It holds
/// the link, which lets go of its owners when it ends.
pub(crate) struct ChannelOwner {
    link: Arc<Link>,
    channel: u64,
    attach: u64,
}

impl ChannelOwner {
    pub(crate) fn new(link: Arc<Link>, channel: u64, attach: u64) -> ChannelOwner {
        ChannelOwner { link, channel, attach }
    }
}

impl LaneOwner for ChannelOwner {
    fn freed(&self, units: u64) {
        let link = &self.link;
        let due = {
            let mut sending = link.sending();
            let living = sending.grants.get(self.channel as usize) == Some(&self.attach);
            living && sending.sender.freed(self.channel, units)
        };
        if due {
            turns::flush_soon(link);
        }
    }

    fn handled(&self, calls: u64) {
        let link = &self.link;
        let mut sending = link.sending();
        let living = sending.grants.get(self.channel as usize) == Some(&self.attach);
        if living {
            sending.sender.handled(self.channel, calls);
        }
    }

    fn stopped(&self) {
        let link = &self.link;
        let mut sending = link.sending();
        let at = self.channel as usize;
        if sending.ended.is_some() || sending.grants.get(at) != Some(&self.attach) {
            return;
        }
        sending.grants[at] = 0;
        // The peer may attach by this number again.
        sending.sender.withdraw(self.channel);
        let (channel, code) = (self.channel, Code::ACTOR_STOPPED);
        let detached = Frame::Detached { channel, code, accepted: 0 };
        sending.sender.outbox.append(|out| write::any(out, &detached));
        drop(sending);
        turns::flush_soon(link);
    }

    fn joins(&self) -> bool {
        self.link.runs
    }

    fn replies(&self, frames: &mut Buffer, count: u64) {
        turns::answers(&self.link, frames, count);
    }

    fn reply(&self, slot: u32, generation: u32, value: &dyn Value) {
        turns::answer(&self.link, (slot, generation), value);
    }

    fn undelivered(&self) {
        self.link.sending().statistics.tells_undeliverable += 1;
    }

    fn fail(&self, slot: u32, generation: u32, kind: CallErrorKind, detail: &str) {
        let link = &self.link;
        let code = Code(kind.code());
        turns::publish(link);
        let asker = (slot, generation);
        let detail: String = detail.chars().take(ERROR_TEXT_CHARS_MAX).collect();
        let mut sending = link.sending();
        if sending.ended.is_none() {
            sending.sender.outbox.append(|out| write::error(out, asker, code, &detail));
        }
        drop(sending);
        turns::flush_soon(link);
    }
}
