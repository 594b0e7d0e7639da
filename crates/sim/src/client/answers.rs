//! What comes back: credit, answers, the end of a channel; and what is left when a session was cut.

use wigwag_link::{Code, SendHalf};

use super::{Asked, Attachment, Client, Fates, State, Waits};
use crate::check::{Violation, must};
use crate::content::CallId;
use crate::world::Shared;

impl Client {
    fn wake(&mut self, reason: Waits) {
        for attachment in self.attachments.iter_mut().filter(|one| one.waits == reason) {
            attachment.waits = Waits::Not;
        }
    }

    /// An ack has made room.
    pub fn has_room(&mut self) {
        self.wake(Waits::ForRoom);
    }

    fn living(&mut self, channel: u64) -> Option<&mut Attachment> {
        self.attachments.iter_mut().find(|one| one.channel == channel && one.state != State::Over)
    }

    /// ATTACHED has come.
    pub fn attached(&mut self, channel: u64) {
        if let Some(attachment) = self.living(channel) {
            attachment.state = State::Open;
        }
    }

    /// CREDIT has come.
    pub fn credited(
        &mut self,
        channel: u64,
        handled: u64,
        has_risen: bool,
        shared: &mut Shared,
    ) -> Result<(), Violation> {
        let caller = self.side;
        let Some(attachment) = self.living(channel) else {
            return Ok(());
        };
        if has_risen && attachment.waits == Waits::ForCredit {
            attachment.waits = Waits::Not;
        }
        attachment.handled = attachment.handled.max(handled);
        let any = CallId { caller, attachment: attachment.id, number: 0 };
        shared.oracle.told_handled(any, handled)
    }

    /// The answer to an ask has come.
    pub fn replied(
        &mut self,
        asker: (u32, u32),
        value: &[u8],
        shared: &mut Shared,
    ) -> Result<(), Violation> {
        let asked = self.complete(asker, shared)?;
        let right = asked.call.is_reply(value);
        must(right, "a reply belongs to its ask", || format!("{:?}", asked.call))
    }

    /// An ask has failed.
    pub fn failed(
        &mut self,
        asker: (u32, u32),
        code: Code,
        shared: &mut Shared,
    ) -> Result<(), Violation> {
        let asked = self.complete(asker, shared)?;
        let expected = code == Code::ACTOR_STOPPED || asked.cancelled && code == Code::CANCELLED;
        must(expected, "errors have their cause", || format!("{:?}: {code:?}", asked.call))
    }

    /// DETACHED has come.
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
        let Some(attachment) = self.living(channel) else {
            return Err(Violation::new(rule, format!("channel {channel}")));
        };
        let was_left = std::mem::replace(&mut attachment.state, State::Over);
        let any = CallId { caller, attachment: attachment.id, number: 0 };
        self.no_channel = false;
        if was_left != State::Detaching {
            // The actor has ended the channel, and nobody here holds it.
            sender.detach(channel);
        }
        shared.note(caller, "detached", channel, accepted);
        if code == Code::ACTOR_STOPPED {
            shared.oracle.told_stopped(any, accepted)?;
        }
        Ok(())
    }

    fn complete(
        &mut self,
        (slot, generation): (u32, u32),
        shared: &mut Shared,
    ) -> Result<Asked, Violation> {
        let Some(asked) = self.slots.release(slot, generation) else {
            let detail = format!("slot {slot}, generation {generation}");
            return Err(Violation::new("an answer meets an open question", detail));
        };
        self.asked.retain(|one| *one != (slot, generation));
        shared.note(self.side, "completed", asked.call.attachment, asked.call.number);
        shared.oracle.completed(asked.call)?;
        self.wake(Waits::ForSlot);
        Ok(asked)
    }

    /// Each channel that is open, with the units that are free and the calls that were handled, as far
    /// as this side was told.
    pub fn told(&self, sender: &mut SendHalf) -> Vec<(u64, u64, u64)> {
        let open = self.attachments.iter().filter(|one| one.state == State::Open);
        let told = open
            .filter_map(|one| Some((one.channel, sender.window(one.channel)?.free(), one.handled)));
        told.collect()
    }

    /// The session was cut: what became of the calls, as far as this side can know. Frames from
    /// `untaken_from` on were never handed to the transport.
    pub fn fates(&self, untaken_from: u64, shared: &mut Shared) -> Result<Fates, Violation> {
        let mut fates = Fates::default();
        for attachment in &self.attachments {
            for (number, seq) in attachment.sent.iter().enumerate() {
                let number = number as u64;
                let call = CallId { caller: self.side, attachment: attachment.id, number };
                if number < attachment.handled {
                    fates.delivered += 1;
                    shared.oracle.delivered(call)?;
                } else if *seq >= untaken_from {
                    fates.not_delivered += 1;
                    shared.oracle.not_delivered(call)?;
                } else {
                    fates.unknown += 1;
                }
            }
        }
        Ok(fates)
    }
}
