//! Handling of credit, answers and ends of channels, and the outcomes of calls after a cut.

use wigwag_link::outbox::Outbox;
use wigwag_link::{Code, SendHalf};

use super::{Attachment, AttachmentState, BlockedOn, Client, DeliveryCounts, PendingAsk};
use crate::check::{Violation, must};
use crate::content::CallId;
use crate::shared::Shared;

impl Client {
    fn wake(&mut self, reason: BlockedOn) {
        for attachment in self.attachments.iter_mut().filter(|one| one.blocked_on == reason) {
            attachment.blocked_on = BlockedOn::Nothing;
        }
    }

    /// Handles room that an ack has made.
    pub fn has_room(&mut self) {
        self.wake(BlockedOn::Room);
    }

    /// Handles the end of a long call, which may have held up the end of its channel.
    pub fn long_call_ended(&mut self) {
        self.channels_exhausted = false;
        self.has_room();
    }

    fn open_attachment(&mut self, channel: u64) -> Option<&mut Attachment> {
        self.attachments
            .iter_mut()
            .find(|one| one.channel == channel && one.state != AttachmentState::Closed)
    }

    /// Handles ATTACHED.
    pub fn attached(&mut self, channel: u64) {
        if let Some(attachment) = self.open_attachment(channel) {
            attachment.state = AttachmentState::Open;
        }
    }

    /// Handles CREDIT.
    pub fn credited(
        &mut self,
        channel: u64,
        handled: u64,
        has_risen: bool,
        shared: &mut Shared,
    ) -> Result<(), Violation> {
        let caller = self.side;
        let Some(attachment) = self.open_attachment(channel) else {
            return Ok(());
        };
        if has_risen && attachment.blocked_on == BlockedOn::Credit {
            attachment.blocked_on = BlockedOn::Nothing;
        }
        attachment.handled = attachment.handled.max(handled);
        let any = CallId { caller, attachment: attachment.id, number: 0 };
        shared.oracle.reported_handled(any, handled)
    }

    /// Handles the answer to an ask.
    pub fn replied(
        &mut self,
        asker: (u32, u32),
        value: &[u8],
        shared: &mut Shared,
    ) -> Result<(), Violation> {
        let asked = self.complete(asker, Some(true), shared)?;
        let right = asked.call.is_reply(value);
        must(right, "a reply belongs to its ask", || format!("{:?}", asked.call))
    }

    /// Handles the error of an ask.
    pub fn failed(
        &mut self,
        asker: (u32, u32),
        code: Code,
        shared: &mut Shared,
    ) -> Result<(), Violation> {
        let was_begun = (code == Code::CANCELLED).then_some(false);
        let asked = self.complete(asker, was_begun, shared)?;
        let expected = code == Code::ACTOR_STOPPED || asked.cancelled && code == Code::CANCELLED;
        must(expected, "errors have their cause", || format!("{:?}: {code:?}", asked.call))
    }

    /// Handles DETACHED.
    pub fn detached(
        &mut self,
        channel: u64,
        code: Code,
        accepted: u64,
        sender: &mut SendHalf,
        shared: &mut Shared,
    ) -> Result<(), Violation> {
        let caller = self.side;
        let rule = "DETACHED comes once for each ATTACH";
        let Some(attachment) = self.open_attachment(channel) else {
            return Err(Violation::new(rule, format!("channel {channel}")));
        };
        let previous = std::mem::replace(&mut attachment.state, AttachmentState::Closed);
        let any = CallId { caller, attachment: attachment.id, number: 0 };
        self.channels_exhausted = false;
        if previous != AttachmentState::Detaching {
            // The actor has ended the channel, and this side does not use it.
            sender.detach(channel);
        }
        shared.note(caller, "detached", channel, accepted);
        if code == Code::ACTOR_STOPPED {
            shared.oracle.reported_stopped(any, accepted)?;
        }
        Ok(())
    }

    fn complete(
        &mut self,
        (slot, generation): (u32, u32),
        was_begun: Option<bool>,
        shared: &mut Shared,
    ) -> Result<PendingAsk, Violation> {
        let Some(asked) = self.slots.release(slot, generation) else {
            let detail = format!("slot {slot}, generation {generation}");
            return Err(Violation::new("an answer meets an open question", detail));
        };
        self.pending.retain(|one| *one != (slot, generation));
        shared.note(self.side, "completed", asked.call.attachment, asked.call.number);
        shared.oracle.completed(asked.call, was_begun)?;
        self.wake(BlockedOn::Slot);
        Ok(asked)
    }

    /// The open channels, with their free units and handled calls as far as this side knows.
    pub fn known_credit(&self, sender: &mut SendHalf) -> Vec<(u64, u64, u64)> {
        let open = self.attachments.iter().filter(|one| one.state == AttachmentState::Open);
        let told = open
            .filter_map(|one| Some((one.channel, sender.window(one.channel)?.free(), one.handled)));
        told.collect()
    }

    /// Counts the outcomes of the calls after a cut, as far as this side can know them.
    pub fn delivery_counts(
        &self,
        outbox: &Outbox,
        shared: &mut Shared,
    ) -> Result<DeliveryCounts, Violation> {
        let mut counts = DeliveryCounts::default();
        for attachment in &self.attachments {
            for (number, published) in attachment.sent.iter().enumerate() {
                let number = number as u64;
                let call = CallId { caller: self.side, attachment: attachment.id, number };
                if number < attachment.handled {
                    counts.delivered += 1;
                    shared.oracle.delivered(call)?;
                } else if !outbox.was_sent(*published) {
                    counts.not_delivered += 1;
                    shared.oracle.not_delivered(call)?;
                } else {
                    counts.unknown += 1;
                }
            }
        }
        Ok(counts)
    }
}
