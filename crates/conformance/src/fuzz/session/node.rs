//! A node with channels, calls and answers, and simple totals of all of them, against which the
//! session is checked.
//!
//! All frames that a node publishes are recorded in a [`FrameLog`]. Nothing here waits: a frame
//! that cannot be sent now is not sent.

use std::collections::VecDeque;

use wigwag_link::frame::{Frame, kind};
use wigwag_link::limits::units;
use wigwag_link::send_half::CallRefused;
use wigwag_link::{Code, Limits, SendHalf, write};
use wigwag_wire::{Buffer, varint};

use super::frame_log::{FrameLog, LogPosition};
use crate::fuzz::{Verdict, ensure};

/// The most calls of a turn.
const TURN_CALLS_MAX: usize = 40;

/// A channel that this node calls on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OutboundChannel {
    /// Neither ATTACHED nor DETACHED was received.
    pub(super) is_pending: bool,
    /// ATTACHED was received, and DETACH was not sent.
    pub(crate) is_open: bool,
    /// The highest limit that was received.
    pub(crate) limit: u64,
    pub(crate) used: u64,
}

/// A channel that the other node calls on.
#[derive(Debug, Default)]
pub(crate) struct InboundChannel {
    /// The actor runs. If not, calls are discarded until the next ATTACH.
    pub(crate) is_open: bool,
    pub(crate) used: u64,
    pub(crate) freed: u64,
    pub(crate) handled: u64,
    pub(super) queue: VecDeque<QueuedCall>,
}

/// A call that waits for its actor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueuedCall {
    pub(super) units: u64,
    pub(super) asker: Option<(u64, u64)>,
    pub(super) is_cancelled: bool,
}

/// The slot of an ask.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AskSlot {
    pub(super) generation: u64,
    pub(super) is_open: bool,
}

/// A node of a fuzzed session.
#[derive(Debug)]
pub(crate) struct Node {
    theirs: Limits,
    /// The frames that this node has published.
    pub(crate) published: FrameLog,
    /// The position up to which it has received the other node's log.
    pub(crate) received: LogPosition,
    pub(crate) outbound: Vec<Option<OutboundChannel>>,
    pub(crate) inbound: Vec<Option<InboundChannel>>,
    pub(super) slots: Vec<AskSlot>,
    /// CLOSE is queued, and no frame is sent after it.
    pub(crate) is_closing: bool,
    /// The other node has sent CLOSE.
    pub(crate) close_received: bool,
}

impl Node {
    /// A node whose peer has the limits `theirs`.
    pub(crate) fn new(theirs: Limits) -> Node {
        Node {
            theirs,
            published: FrameLog::default(),
            received: LogPosition::default(),
            outbound: Vec::new(),
            inbound: Vec::new(),
            slots: Vec::new(),
            is_closing: false,
            close_received: false,
        }
    }

    /// The number of asks without an answer.
    pub(crate) fn open_asks(&self) -> usize {
        self.slots.iter().filter(|slot| slot.is_open).count()
    }

    /// Publishes a frame that is not a call.
    pub(crate) fn send_frame(&mut self, sender: &mut SendHalf, frame: &Frame<'_>) {
        let mut bytes = Buffer::new();
        write::any(&mut bytes, frame);
        self.published.catch_up(&sender.outbox);
        self.published.append(bytes.as_slice());
        sender.outbox.append(|out| out.extend(bytes.as_slice()));
    }

    fn can_send(&self, sender: &SendHalf) -> bool {
        !self.is_closing && sender.outbox.has_room_for_answers()
    }

    /// Opens a channel.
    pub(crate) fn attach(&mut self, sender: &mut SendHalf) -> Verdict {
        let pending = self.outbound.iter().flatten().filter(|open| open.is_pending).count();
        if !self.can_send(sender) || pending as u64 >= self.theirs.attach_pending_max {
            return Ok(());
        }
        let free = self.outbound.iter().position(Option::is_none);
        let index = free.unwrap_or(self.outbound.len());
        let expected = Some(index as u64).filter(|number| *number < self.theirs.channels_max);
        let opened = sender.open_channel();
        ensure(opened == expected, || format!("channel {expected:?} is free, got {opened:?}"))?;
        let Some(channel) = opened else { return Ok(()) };
        self.outbound.resize(self.outbound.len().max(index + 1), None);
        self.outbound[index] =
            Some(OutboundChannel { is_pending: true, ..OutboundChannel::default() });
        let attach = Frame::Attach { channel, how: 0, target: b"actor", schema_hash: 7, codec: 0 };
        self.send_frame(sender, &attach);
        Ok(())
    }

    /// Detaches from a channel.
    pub(crate) fn detach(&mut self, sender: &mut SendHalf, which: usize) {
        let can_send = self.can_send(sender);
        let Some((channel, open)) = self.pick_channel(which).filter(|_| can_send) else { return };
        open.is_open = false;
        let mut bytes = Buffer::new();
        write::any(&mut bytes, &Frame::Detach { channel });
        self.published.append(bytes.as_slice());
        sender.detach(channel);
    }

    /// One of the open channels.
    fn pick_channel(&mut self, which: usize) -> Option<(u64, &mut OutboundChannel)> {
        let open = self.outbound.iter_mut().enumerate();
        let mut open: Vec<_> = open
            .filter_map(|(at, one)| Some((at as u64, one.as_mut().filter(|one| one.is_open)?)))
            .collect();
        let at = which.checked_rem(open.len())?;
        Some(open.swap_remove(at))
    }

    /// Makes a call with `size` bytes, if all limits allow it, and reports a lack of credit.
    pub(crate) fn call(
        &mut self,
        sender: &mut SendHalf,
        (which, size): (usize, usize),
        asks: bool,
    ) -> Verdict {
        let asker = if asks { self.free_slot() } else { None };
        let can_send = !self.is_closing;
        let Some((channel, open)) =
            self.pick_channel(which).filter(|_| can_send && asks == asker.is_some())
        else {
            return Ok(());
        };
        let bytes = vec![size as u8; size];
        let mut encoded = Buffer::new();
        let encode = |out: &mut Buffer| match asker {
            None => write::tell(out, channel, 1, |out| out.extend(&bytes)),
            Some(asker) => write::ask(out, channel, asker, 1, |out| out.extend(&bytes)),
        };
        let body = encode(&mut encoded);
        let cost = units(body);
        let is_held_up = sender.is_long_under_way(channel);
        let expected = if is_held_up || !sender.outbox.has_room_for_calls() {
            Err(CallRefused::NoRoom)
        } else if body as u64 > sender.message_max() {
            Err(CallRefused::TooLarge { body })
        } else if open.used + cost > open.limit {
            Err(CallRefused::NoCredit { units: cost })
        } else {
            Ok(())
        };
        let called = sender.call(channel, encode);
        ensure(called == expected, || format!("a call of {cost}: {expected:?}, got {called:?}"))?;
        match called {
            Ok(()) => {
                open.used += cost;
                self.published.append(encoded.as_slice());
                if let Some((slot, _)) = asker {
                    self.slots[slot as usize].is_open = true;
                }
            }
            Err(CallRefused::NoCredit { units }) => {
                sender.stuck(channel, units);
            }
            Err(CallRefused::NoRoom | CallRefused::TooLarge { .. }) => {}
        }
        Ok(())
    }

    /// The slot and generation for the next ask.
    fn free_slot(&mut self) -> Option<(u32, u32)> {
        let free = self.slots.iter().position(|slot| !slot.is_open);
        let index = free.unwrap_or(self.slots.len());
        if index as u64 >= self.theirs.slots_max {
            return None;
        }
        self.slots.resize(self.slots.len().max(index + 1), AskSlot::default());
        Some((index as u32, self.slots[index].generation as u32))
    }

    /// Makes the calls of a turn: leases credit, encodes calls outside of the outbox, and gives
    /// back unused credit.
    pub(crate) fn turn(
        &mut self,
        sender: &mut SendHalf,
        (which, count): (usize, usize),
        as_run: bool,
    ) -> Verdict {
        let can_send = self.can_send(sender) && sender.outbox.has_room_for_calls();
        let Some((channel, open)) = self.pick_channel(which).filter(|_| can_send) else {
            return Ok(());
        };
        let wanted = 1 + count % TURN_CALLS_MAX;
        let Some(window) = sender.window(channel) else {
            return Err(format!("channel {channel} is open and has no window"));
        };
        let leased = window.lease(2 * wanted as u64);
        let expected = (open.limit - open.used).min(2 * wanted as u64);
        ensure(leased == expected, || format!("{expected} units to lease, got {leased}"))?;
        let calls = wanted.min(leased as usize);
        window.give_back(leased - calls as u64);
        open.used += calls as u64;
        let mut encoded = Buffer::new();
        if as_run && count % 3 == 0 && calls > 0 {
            write::frame(&mut encoded, kind::MIXED_TELLS, |out| {
                varint::put(out, channel);
                (0..calls).for_each(|item| out.extend(&[2, 1 + item as u8 % 3, count as u8]));
            });
        } else if as_run && calls > 0 {
            write::frame(&mut encoded, kind::TELLS, |out| {
                varint::put(out, channel);
                out.push(1);
                (0..calls).for_each(|item| out.extend(&[2, item as u8, count as u8]));
            });
        } else {
            for item in 0..calls {
                write::tell(&mut encoded, channel, 1, |out| out.extend(&[item as u8; 20]));
            }
        }
        self.published.append(encoded.as_slice());
        sender.outbox.publish(&mut encoded, calls as u64);
        ensure(calls == 0 || encoded.is_empty(), || "a turn was published and is kept".to_owned())
    }

    /// Cancels one of the open asks.
    pub(crate) fn cancel(&mut self, sender: &mut SendHalf, which: usize) {
        let open: Vec<_> = (0_u64..).zip(&self.slots).filter(|(_, slot)| slot.is_open).collect();
        let Some(at) = which.checked_rem(open.len()) else { return };
        let (slot, generation) = (open[at].0, open[at].1.generation);
        if self.can_send(sender) {
            self.send_frame(sender, &Frame::Cancel { slot, generation });
        }
    }

    /// Handles up to `most` calls of a channel, and answers with `size` bytes.
    pub(crate) fn handle(&mut self, sender: &mut SendHalf, which: usize, most: usize, size: usize) {
        let Some(index) = which.checked_rem(self.inbound.len()) else { return };
        for _ in 0..most {
            if !self.can_send(sender) {
                return;
            }
            let Some(open) = self.inbound[index].as_mut() else { return };
            let Some(call) = open.queue.pop_front() else { return };
            open.freed += call.units;
            open.handled += 1;
            let channel = index as u64;
            sender.freed(channel, call.units);
            sender.handled(channel, 1, 0);
            self.answer(sender, call, size);
        }
    }

    fn answer(&mut self, sender: &mut SendHalf, call: QueuedCall, size: usize) {
        let Some((slot, generation)) = call.asker else { return };
        // Slot and generation come first in the body.
        let size = size.min(self.theirs.frame_max as usize - 16);
        let value = &vec![slot as u8; size];
        let code = if call.is_cancelled { Some(Code::CANCELLED) } else { None };
        let code = if size % 7 == 3 { Some(Code::PANICKED) } else { code };
        let frame = match code {
            Some(code) => Frame::Error { slot, generation, code, text: b"no", data: &[] },
            None => Frame::Reply { slot, generation, value },
        };
        self.send_frame(sender, &frame);
    }

    /// Accepts a call that was paid for: it waits in its inbound queue, or fails if its actor has
    /// stopped.
    pub(super) fn accept(&mut self, sender: &mut SendHalf, index: usize, call: QueuedCall) {
        let Some(open) = self.inbound[index].as_mut() else { return };
        if open.is_open {
            open.used += call.units;
            open.queue.push_back(call);
        } else if let Some((slot, generation)) = call.asker {
            let code = Code::ACTOR_STOPPED;
            self.send_frame(sender, &Frame::Error { slot, generation, code, text: &[], data: &[] });
        }
    }

    /// Handles all calls that wait in the inbound queues.
    pub(crate) fn handle_all_calls(&mut self, sender: &mut SendHalf) {
        for index in 0..self.inbound.len() {
            self.handle(sender, index, usize::MAX, 1);
        }
    }

    /// Stops the actor of a channel: calls that wait fail, and the channel ends.
    pub(crate) fn stop(&mut self, sender: &mut SendHalf, which: usize) {
        let Some(index) = which.checked_rem(self.inbound.len()) else { return };
        if !self.can_send(sender) {
            return;
        }
        if self.inbound[index].as_ref().is_some_and(|open| open.is_open) {
            self.end_channel(sender, index, Code::ACTOR_STOPPED);
        }
    }

    /// Fails the calls that wait and ends the channel.
    fn end_channel(&mut self, sender: &mut SendHalf, index: usize, code: Code) {
        let accepted = self.inbound[index].as_ref().map_or(0, |open| open.handled);
        self.refuse_waiting(sender, index);
        let channel = index as u64;
        let mut bytes = Buffer::new();
        write::any(&mut bytes, &Frame::Detached { channel, code, accepted, reason: &[] });
        self.published.append(bytes.as_slice());
        let grant = sender.end_channel(channel, code, accepted);
        grant.into_iter().for_each(|grant| sender.close_grant(grant));
    }

    /// Closes a channel and fails the asks that wait.
    pub(super) fn refuse_waiting(&mut self, sender: &mut SendHalf, index: usize) {
        let Some(open) = self.inbound[index].as_mut() else { return };
        open.is_open = false;
        for QueuedCall { asker, .. } in std::mem::take(&mut open.queue) {
            if let Some((slot, generation)) = asker {
                let code = Code::ACTOR_STOPPED;
                let gone = Frame::Error { slot, generation, code, text: &[], data: &[] };
                self.send_frame(sender, &gone);
            }
        }
    }

    /// Announces that the node will close.
    pub(crate) fn drain(&mut self, sender: &mut SendHalf) {
        if self.can_send(sender) {
            self.send_frame(sender, &Frame::Drain { stop_seq: 0 });
        }
    }

    /// Queues a CLOSE behind all other frames.
    pub(crate) fn close(&mut self, sender: &mut SendHalf) {
        sender.close(Code::BYE, "");
        self.is_closing = true;
    }
}
