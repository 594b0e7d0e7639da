//! Sending of calls: one by one, or many in a turn with leased credit.

use wigwag_link::credit::Window;
use wigwag_link::limits::units;
use wigwag_link::outbox::Published;
use wigwag_link::send_half::CallRefused;
use wigwag_link::{SendHalf, features, write};
use wigwag_wire::Buffer;
use wigwag_wire::run::{ITEM_BYTES_MAX, RUN_ITEMS_MAX};
use wigwag_wire::small::{Scratch, store};

use super::{BlockedOn, CALL_HEAD_BYTES, Client, PendingAsk};
use crate::check::Violation;
use crate::content::CallId;
use crate::shared::Shared;

/// Bytes of a run at most beside its items: the four numbers of its head.
const RUN_HEAD_BYTES: u64 = 40;

/// The room in the run in which one call has a wrong method.
const CONFUSED_AT: usize = RUN_ITEMS_MAX - 2;

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
            let Some(cost) = self.encode_in_turn(channel, call, asker, bytes, left) else {
                asker.map(|(slot, generation)| self.slots.release(slot, generation));
                break;
            };
            left -= cost;
            count += 1;
            let published = Published::Before(first_seq + count);
            self.published(at, call, asker, published, shared)?;
        }
        self.runs.close(&mut self.turn);
        sender.window(channel).into_iter().for_each(|window: &mut Window| window.give_back(left));
        sender.outbox.publish(&mut self.turn, count);
        Ok(count)
    }

    /// Encodes a call of a turn: joins it to a run, or writes a frame. Returns its cost; `None`, and
    /// nothing is written, if that is more than `left`.
    fn encode_in_turn(
        &mut self,
        channel: u64,
        call: CallId,
        asker: Option<(u32, u32)>,
        bytes: u64,
        left: u64,
    ) -> Option<u64> {
        if left > 0 && self.join(channel, call, asker, bytes) {
            return Some(1);
        }
        self.runs.close(&mut self.turn);
        let before = self.turn.len();
        let cost = units(encode(&mut self.turn, channel, call, asker, bytes));
        if cost > left {
            self.turn.truncate(before);
            return None;
        }
        if self.workload.features & features::RUNS != 0 {
            match asker {
                None => self.runs.note_tell(channel, call.method()),
                Some(asker) => self.runs.note_ask(channel, asker, call.method()),
            }
        }
        Some(cost)
    }

    /// Joins a call to the run at the end of the turn. False if it does not belong there.
    fn join(&mut self, channel: u64, call: CallId, asker: Option<(u32, u32)>, bytes: u64) -> bool {
        let Client { runs, turn, peer, .. } = self;
        // The most items that fit into a frame of the peer.
        let most = (peer.frame_max - RUN_HEAD_BYTES) as usize / (1 + ITEM_BYTES_MAX);
        if runs.room() > 0 && runs.room() <= RUN_ITEMS_MAX.saturating_sub(most) {
            return false;
        }
        let small = |scratch: &mut Scratch, place: usize| {
            if bytes > ITEM_BYTES_MAX as u64 {
                return None;
            }
            let mut arguments = Buffer::new();
            call.put_arguments(&mut arguments, bytes);
            for (at, byte) in arguments.as_slice().iter().enumerate() {
                store(scratch, place + at, [*byte]);
            }
            Some(place + arguments.len())
        };
        let is_confused = self.confuses_methods && runs.is_mixed() && runs.room() == CONFUSED_AT;
        let method = call.method() + u32::from(is_confused);
        match asker {
            None => runs.tell(turn, channel, method, small),
            Some(asker) => runs.ask(turn, channel, asker, method, small),
        }
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
        Some(asker) => {
            write::ask(out, channel, asker, call.method(), |out| call.put_arguments(out, bytes))
        }
        None => write::tell(out, channel, call.method(), |out| call.put_arguments(out, bytes)),
    }
}
