//! Sending of calls: one by one, or many in a turn with leased credit.

use wigwag_link::credit::Window;
use wigwag_link::limits::units;
use wigwag_link::outbox::Published;
use wigwag_link::send_half::CallRefused;
use wigwag_link::{SendHalf, write};
use wigwag_wire::Buffer;

use super::{BlockedOn, CALL_HEAD_BYTES, Client, PendingAsk};
use crate::check::Violation;
use crate::content::CallId;
use crate::world::Shared;

impl Client {
    /// The next call of an attachment, and whether it is an ask.
    fn next_call(&self, at: usize, sender: &SendHalf) -> (CallId, bool, u64) {
        let attachment = &self.attachments[at];
        let number = attachment.sent.len() as u64;
        let call = CallId { caller: self.side, attachment: attachment.id, number };
        let most = self.workload.bytes_max.min(sender.message_max() - CALL_HEAD_BYTES);
        (
            call,
            call.is_ask(self.workload.ask_percent),
            call.bytes(self.workload.bytes_min.min(most), most),
        )
    }

    /// A slot for an ask; `Err` when there is none.
    fn slot(&mut self, call: CallId, is_ask: bool) -> Result<Option<(u32, u32)>, ()> {
        if !is_ask {
            return Ok(None);
        }
        self.slots.take(PendingAsk { call, cancelled: false }).map(Some).ok_or(())
    }

    /// Sends calls outside a turn: each is charged and published alone.
    pub(super) fn call_one_by_one(
        &mut self,
        at: usize,
        sender: &mut SendHalf,
        shared: &mut Shared,
    ) -> Result<(), Violation> {
        for _ in 0..shared.random.between(1, 8) {
            if self.attachments[at].is_finished() {
                break;
            }
            let (call, is_ask, bytes) = self.next_call(at, sender);
            let Ok(asker) = self.slot(call, is_ask) else {
                self.attachments[at].blocked_on = BlockedOn::Slot;
                break;
            };
            let channel = self.attachments[at].channel;
            let encode = |out: &mut Buffer| encode(out, channel, call, asker, bytes);
            let refused = match sender.call_if(channel, encode, |_| true) {
                Ok(published) => {
                    self.published(at, call, asker, published, shared)?;
                    continue;
                }
                Err(refused) => refused,
            };
            if let Some((slot, generation)) = asker {
                self.slots.release(slot, generation);
            }
            self.attachments[at].blocked_on = match refused {
                CallRefused::NoRoom => BlockedOn::Room,
                CallRefused::NoCredit { units } => {
                    sender.stuck(channel, units);
                    BlockedOn::Credit
                }
                CallRefused::TooLarge { body } => {
                    return Err(Violation::new("calls fit into frames", format!("{body} bytes")));
                }
            };
            break;
        }
        Ok(())
    }

    /// Sends calls inside a turn: credit is leased, and the calls are published together. Returns
    /// their number.
    pub(super) fn call_in_turn(
        &mut self,
        at: usize,
        sender: &mut SendHalf,
        shared: &mut Shared,
    ) -> Result<u64, Violation> {
        let channel = self.attachments[at].channel;
        let is_held_up = sender.is_long_under_way(channel) && !self.overtakes;
        if is_held_up || !sender.outbox.has_room_for_calls() {
            return Ok(0);
        }
        let most = shared.random.between(1, 200);
        let Some(mut left) = sender.window(channel).map(|window| window.lease(most)) else {
            return Ok(0);
        };
        let first_seq = sender.outbox.next_seq();
        let mut count = 0;
        while !self.attachments[at].is_finished() {
            let (call, is_ask, bytes) = self.next_call(at, sender);
            // A long call is sent alone.
            if bytes + CALL_HEAD_BYTES > self.peer.frame_max {
                break;
            }
            let Ok(asker) = self.slot(call, is_ask) else {
                break;
            };
            let before = self.turn.len();
            let cost = units(encode(&mut self.turn, channel, call, asker, bytes));
            if cost > left {
                self.turn.truncate(before);
                asker.map(|(slot, generation)| self.slots.release(slot, generation));
                break;
            }
            left -= cost;
            count += 1;
            let published = Published::Before(first_seq + count);
            self.published(at, call, asker, published, shared)?;
        }
        sender.window(channel).into_iter().for_each(|window: &mut Window| window.give_back(left));
        sender.outbox.publish(&mut self.turn, count);
        Ok(count)
    }

    fn published(
        &mut self,
        at: usize,
        call: CallId,
        asker: Option<(u32, u32)>,
        published: Published,
        shared: &mut Shared,
    ) -> Result<(), Violation> {
        self.attachments[at].sent.push(published);
        self.pending.extend(asker);
        shared.note(
            self.side,
            if asker.is_some() { "ask" } else { "tell" },
            call.attachment,
            call.number,
        );
        shared.oracle.sent(call, asker.is_some())
    }
}

fn encode(
    out: &mut Buffer,
    channel: u64,
    call: CallId,
    asker: Option<(u32, u32)>,
    bytes: u64,
) -> usize {
    match asker {
        Some(asker) => write::ask(out, channel, asker, 1, |out| call.put_arguments(out, bytes)),
        None => write::tell(out, channel, 1, |out| call.put_arguments(out, bytes)),
    }
}
