//! What actors do with the calls in their lanes, in their own time.

use wigwag_link::{Code, SendHalf, write};

use super::{Answer, Mail, Server};
use crate::check::Violation;
use crate::setup::Mutant;
use crate::world::Shared;

impl Server {
    /// One turn of the actors. Without a sender the session is over, and they finish what they have.
    pub fn turn(
        &mut self,
        mut sender: Option<&mut SendHalf>,
        shared: &mut Shared,
    ) -> Result<(), Violation> {
        if sender.is_none() {
            self.held.clear();
            self.waiting.clear();
        }
        self.retry(sender.as_deref_mut());
        let busy: Vec<usize> =
            (0..self.lanes.len()).filter(|at| !self.lanes[*at].mail.is_empty()).collect();
        if !busy.is_empty() {
            let at = shared.random.pick(&busy);
            if self.lanes[at].living && shared.random.chance(self.habits.stops) {
                if let Some(sender) = sender {
                    self.stop(at, sender, shared);
                }
                return Ok(());
            }
            for _ in 0..shared.random.between(1, 6) {
                self.handle_next(at, sender.as_deref_mut(), shared)?;
            }
        }
        if let (Some(sender), true) = (sender, shared.random.chance(50) && !self.held.is_empty()) {
            let mail = self.held.swap_remove(shared.random.below(self.held.len() as u64) as usize);
            self.complete(mail, sender);
        }
        Ok(())
    }

    fn handle_next(
        &mut self,
        at: usize,
        sender: Option<&mut SendHalf>,
        shared: &mut Shared,
    ) -> Result<(), Violation> {
        let lane = &mut self.lanes[at];
        let Some(mail) = lane.mail.pop_front() else {
            return Ok(());
        };
        lane.taken += 1;
        lane.queued -= mail.units;
        lane.freed += mail.units;
        shared.oracle.handled(mail.call)?;
        shared.note(self.side, "handled", mail.call.attachment, mail.call.number);
        let Some(sender) = sender else { return Ok(()) };
        if lane.living {
            let times = match self.mutant {
                Some(Mutant::CreditTwice) => 2,
                Some(Mutant::CreditNever) => 0,
                _ => 1,
            };
            sender.handled(lane.channel, 1);
            sender.freed(lane.channel, mail.units * times);
        }
        lane.close_if_empty(sender);
        if mail.asker.is_some() && shared.random.chance(20) {
            self.held.push(mail);
        } else {
            self.complete(mail, sender);
        }
        Ok(())
    }

    fn complete(&mut self, mail: Mail, sender: &mut SendHalf) {
        let Some(asker) = mail.asker else { return };
        let cancelled = mail.cancelled.then_some(Answer::Error(Code::CANCELLED));
        self.answer(asker, cancelled.unwrap_or(Answer::Reply(mail.call)), sender);
        if self.strikes(Mutant::ReplyTwice) {
            self.answer(asker, Answer::Reply(mail.call), sender);
        }
    }

    pub(super) fn answer(&mut self, asker: (u32, u32), answer: Answer, sender: &mut SendHalf) {
        self.waiting.push_back((asker, answer));
        self.retry(Some(sender));
    }

    fn retry(&mut self, sender: Option<&mut SendHalf>) {
        let Some(sender) = sender else { return };
        while sender.outbox.has_room_for_answers() {
            let Some((asker, answer)) = self.waiting.pop_front() else {
                break;
            };
            match answer {
                Answer::Reply(call) => {
                    sender.outbox.append(|out| {
                        write::reply(out, asker, |out| call.put_reply(out));
                    });
                }
                Answer::Error(code) => {
                    sender.outbox.append(|out| write::error(out, asker, code, "as it happens"));
                }
            }
        }
    }

    /// The actor stops: what lies in its lane is thrown away, and the sender hears how much was not.
    fn stop(&mut self, at: usize, sender: &mut SendHalf, shared: &mut Shared) {
        let lane = &mut self.lanes[at];
        lane.living = false;
        let (channel, accepted, code) = (lane.channel, lane.taken, Code::ACTOR_STOPPED);
        let mail = std::mem::take(&mut lane.mail);
        lane.grant = sender.end_channel(channel, code, accepted);
        lane.close_if_empty(sender);
        shared.note(self.side, "stopped", channel, accepted);
        for asker in mail.into_iter().filter_map(|mail| mail.asker) {
            self.answer(asker, Answer::Error(code), sender);
        }
    }
}
