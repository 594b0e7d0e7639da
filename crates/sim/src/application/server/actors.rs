//! Actors that handle the calls in their queues at random times.

use wigwag_link::outbox::LongFrame;
use wigwag_link::{Code, SendHalf, write};
use wigwag_wire::Buffer;

use super::{Answer, QueuedCall, Server};
use crate::check::Violation;
use crate::setup::Mutant;
use crate::shared::Shared;

/// The most bytes of the body of a reply beside its value: slot and generation.
const REPLY_HEAD_BYTES: u64 = 10;

impl Server {
    /// Runs one turn of the actors. Without a sending half the session is over, and they handle the
    /// calls that are left.
    pub fn turn(
        &mut self,
        mut sender: Option<&mut SendHalf>,
        shared: &mut Shared,
    ) -> Result<(), Violation> {
        if sender.is_none() {
            self.deferred.clear();
            self.unsent_answers.clear();
        }
        self.retry(sender.as_deref_mut());
        let busy: Vec<usize> =
            (0..self.queues.len()).filter(|at| !self.queues[*at].calls.is_empty()).collect();
        if !busy.is_empty() {
            let at = shared.random.pick(&busy);
            if self.queues[at].is_open && shared.random.chance(self.workload.stop_percent) {
                if let Some(sender) = sender {
                    self.stop(at, sender, shared);
                }
                return Ok(());
            }
            for _ in 0..shared.random.between(1, 6) {
                self.handle_next(at, sender.as_deref_mut(), shared)?;
            }
        }
        if let (Some(sender), true) =
            (sender, shared.random.chance(50) && !self.deferred.is_empty())
        {
            let queued =
                self.deferred.swap_remove(shared.random.below(self.deferred.len() as u64) as usize);
            self.complete(queued, sender);
        }
        Ok(())
    }

    fn handle_next(
        &mut self,
        at: usize,
        sender: Option<&mut SendHalf>,
        shared: &mut Shared,
    ) -> Result<(), Violation> {
        let queue = &mut self.queues[at];
        let Some(queued) = queue.calls.pop_front() else {
            return Ok(());
        };
        queue.handled_calls += 1;
        queue.queued -= queued.units;
        queue.freed += queued.units;
        shared.oracle.handled(queued.call)?;
        let is_skipped = queued.cancelled;
        if is_skipped {
            shared.oracle.skipped(queued.call)?;
        }
        let what = if is_skipped { "skipped" } else { "handled" };
        shared.note(self.side, what, queued.call.attachment, queued.call.number);
        let Some(sender) = sender else { return Ok(()) };
        if queue.is_open {
            let times = match self.mutant {
                Some(Mutant::CreditTwice) => 2,
                Some(Mutant::CreditNever) => 0,
                _ => 1,
            };
            sender.handled(queue.channel, 1, 0);
            sender.freed(queue.channel, queued.units * times);
        }
        queue.close_if_empty(sender);
        if queued.asker.is_some() && !is_skipped && shared.random.chance(20) {
            self.deferred.push(queued);
        } else {
            self.complete(queued, sender);
        }
        Ok(())
    }

    fn complete(&mut self, queued: QueuedCall, sender: &mut SendHalf) {
        let Some(asker) = queued.asker else { return };
        let cancelled = queued.cancelled.then_some(Answer::Error(Code::CANCELLED));
        self.answer(asker, cancelled.unwrap_or(Answer::Reply(queued.call)), sender);
        if self.triggers(Mutant::ReplyTwice) {
            self.answer(asker, Answer::Reply(queued.call), sender);
        }
    }

    pub(super) fn answer(&mut self, asker: (u32, u32), answer: Answer, sender: &mut SendHalf) {
        self.unsent_answers.push_back((asker, answer));
        self.retry(Some(sender));
    }

    fn retry(&mut self, sender: Option<&mut SendHalf>) {
        let Some(sender) = sender else { return };
        while sender.outbox.has_room_for_answers() {
            let Some((asker, answer)) = self.unsent_answers.pop_front() else {
                break;
            };
            match answer {
                Answer::Reply(call) => {
                    let mut frame = Buffer::new();
                    let most = self.workload.reply_bytes_max;
                    let most = most.min(sender.message_max().saturating_sub(REPLY_HEAD_BYTES));
                    let body = write::reply(&mut frame, asker, |out| call.put_reply(out, most));
                    if body as u64 > sender.peer_limits().frame_max {
                        sender.long_answer(LongFrame::take(&mut frame, 0));
                    } else {
                        sender.outbox.append(|out| out.extend(frame.as_slice()));
                    }
                }
                Answer::Error(code) => {
                    sender.outbox.append(|out| write::error(out, asker, code, "as it happens"));
                }
            }
        }
    }

    /// Stops the actor: the calls in its inbound queue are discarded, and the sender is notified of
    /// the number that was handled.
    fn stop(&mut self, at: usize, sender: &mut SendHalf, shared: &mut Shared) {
        let queue = &mut self.queues[at];
        queue.is_open = false;
        let (channel, accepted, code) = (queue.channel, queue.handled_calls, Code::ACTOR_STOPPED);
        let queued = std::mem::take(&mut queue.calls);
        queue.grant = sender.end_channel(channel, code, accepted);
        queue.close_if_empty(sender);
        shared.note(self.side, "stopped", channel, accepted);
        for asker in queued.into_iter().filter_map(|queued| queued.asker) {
            self.answer(asker, Answer::Error(code), sender);
        }
    }
}
