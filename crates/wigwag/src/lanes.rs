//! A session as the actors see it: where replies go and who hears that places are free.

use std::sync::{Arc, OnceLock};

use wigwag_actor::{CallErrorKind, InboundQueueOwner};
use wigwag_link::credit::Grant;
use wigwag_link::frame::Frame;
use wigwag_link::{Code, write};
use wigwag_wire::Buffer;
use wigwag_wire::small::Value;

use crate::limits::ERROR_TEXT_CHARS_MAX;
use crate::link::{Link, Sending};
use crate::sync::Ordering;
use crate::turns;

/// One channel of one session, for as long as it is attached. Mail of a channel that is over may
/// still be handled; then `attach` differs from the living one and credit is left alone. It holds
/// the link, which lets go of its owners when it ends.
pub(crate) struct ChannelOwner {
    link: Arc<Link>,
    channel: u64,
    attach: u64,
    /// The grant of the channel when it ended. Its calls that wait to be handled hold that
    /// still, so a peer that attaches again and again is granted no more than one that does not.
    withdrawn: OnceLock<Grant>,
    _place: ChannelPlace,
}

/// The place of a channel among those of its session and its node, until its last call is handled.
pub(crate) struct ChannelPlace(Arc<Link>);

impl ChannelPlace {
    /// Takes a place; `None` when the session has as many as this node announced, or all sessions
    /// together have as many as a node may have.
    pub(crate) fn take(link: &Arc<Link>, most: u64) -> Option<ChannelPlace> {
        let before = link.inbound_channels.fetch_add(1, Ordering::Relaxed);
        if before < most && link.pools.channels.take_one() {
            return Some(ChannelPlace(link.clone()));
        }
        link.inbound_channels.fetch_sub(1, Ordering::Relaxed);
        None
    }
}

impl Drop for ChannelPlace {
    fn drop(&mut self) {
        self.0.inbound_channels.fetch_sub(1, Ordering::Relaxed);
        self.0.pools.channels.give_one_back();
    }
}

impl ChannelOwner {
    pub(crate) fn new(place: ChannelPlace, channel: u64, attach: u64) -> ChannelOwner {
        let link = place.0.clone();
        ChannelOwner { link, channel, attach, withdrawn: OnceLock::new(), _place: place }
    }

    /// The grant of the channel when it ended, if it has.
    pub(crate) fn withdrawn(&self) -> Option<&Grant> {
        self.withdrawn.get()
    }

    /// The channel has ended: takes its grant out of the session.
    pub(crate) fn withdraw(&self, sending: &mut Sending) {
        if let Some(grant) = sending.sender.take_grant(self.channel) {
            // Once only: a channel ends once, and its number has another owner then.
            let _ = self.withdrawn.set(grant);
        }
    }
}

impl Drop for ChannelOwner {
    fn drop(&mut self) {
        let mut sending = self.link.sending();
        if sending.grants.get(self.channel as usize) == Some(&self.attach) {
            self.withdraw(&mut sending);
        }
        if let Some(grant) = self.withdrawn.take() {
            sending.sender.close_grant(grant);
        }
        let has_output = sending.sender.has_output();
        drop(sending);
        if has_output {
            self.link.wake_driver();
        }
    }
}

impl InboundQueueOwner for ChannelOwner {
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
        self.withdraw(&mut sending);
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
