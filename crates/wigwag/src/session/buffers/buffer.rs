//! The send buffer of the current turn for one session: encoded frames, leased credit, free slots.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::task::Waker;

use wigwag_actor::reference::run_writer;
use wigwag_actor::turn::buffers::{AfterPublish, TurnBuffer};
use wigwag_link::limits::units;
use wigwag_link::{Code, write};
use wigwag_wire::Buffer;
use wigwag_wire::run::RunBuilder;
use wigwag_wire::small::DynEncode;

use crate::limits::{LEASE_SLOTS, LEASE_UNITS_MAX, SMALL_ANSWER, TURN_BYTES};
use crate::replies::ring::Ring;
use crate::session::Session;
use crate::session::buffers::encoding::{Arguments, Encoding};
use crate::session::buffers::{EncodeOutcome, RunHandout};
use crate::session::outcome::UnsentCalls;

/// The send buffer of the current turn for one session.
pub(crate) struct SendBuffer {
    pub(crate) session: Arc<Session>,
    pub(crate) encoded: Buffer,
    /// Answers in `encoded`.
    answers: u64,
    run: RunBuilder,
    /// The current run is handed out to the caller's reference.
    is_handed_out: bool,
    /// The ring whose asks the run that is handed out holds, and the number of the first ask that
    /// may be added.
    ring: Option<(Arc<Ring>, u64)>,
    /// The current channel, which was called last, and the credit leased for it.
    channel: u64,
    credit: u64,
    /// Calls on the current channel in `encoded`.
    calls: u64,
    /// Leases of the other channels, by channel number.
    leases: Vec<Lease>,
    /// Channels that this turn has called.
    called_channels: Vec<u64>,
    /// Free slots that this turn has taken and not used yet.
    pub(crate) slots: Vec<u32>,
    /// Output waits for a flush, in `encoded` or in the outbox.
    pub(crate) flush: bool,
}

/// The lease of a channel that is not the current one.
#[derive(Clone, Copy, Default)]
struct Lease {
    /// Units left.
    credit: u64,
    /// Calls paid from this lease.
    calls: u64,
    /// The turn has called the channel.
    is_called: bool,
    /// The channel counts this turn among its open turns.
    is_registered: bool,
}

impl TurnBuffer for SendBuffer {
    fn publish(&mut self) -> AfterPublish {
        if !self.take_back_run() {
            return AfterPublish::Busy;
        }
        self.publish_frames();
        if std::mem::take(&mut self.flush) {
            self.session.flush();
        }
        // The next turn of this thread most likely sends to the same sessions.
        if self.session.has_ended() { AfterPublish::Drop } else { AfterPublish::Keep }
    }
}

impl SendBuffer {
    pub(crate) fn new(session: &Arc<Session>) -> SendBuffer {
        SendBuffer {
            session: session.clone(),
            encoded: Buffer::new(),
            answers: 0,
            run: RunBuilder::default(),
            is_handed_out: false,
            ring: None,
            channel: u64::MAX,
            credit: 0,
            calls: 0,
            leases: Vec::new(),
            called_channels: Vec::new(),
            slots: Vec::new(),
            flush: false,
        }
    }

    /// Takes back the run that was handed out. False inside an encoder that itself sends: that
    /// encoder holds the run.
    #[inline(always)]
    pub(crate) fn take_back_run(&mut self) -> bool {
        !self.is_handed_out || self.take_back_run_now()
    }

    fn take_back_run_now(&mut self) -> bool {
        let Some(added) = run_writer::take_back(&mut self.encoded) else { return false };
        self.is_handed_out = false;
        self.run.note_items(added);
        self.calls += added as u64;
        self.credit = self.credit.saturating_sub(added as u64);
        if let Some((ring, first)) = self.ring.take() {
            ring.raise_sent(first + added as u64);
        }
        true
    }

    /// Hands out the run that a call was just joined to, if the run has room.
    pub(crate) fn hand_out_run(&mut self, target: NonZeroUsize, handout: &RunHandout<'_>) {
        let most = handout.ring.map_or(usize::MAX, |(_, _, most)| most);
        let room = self.run.room().min(self.credit as usize).min(most);
        let (owner, method) = (handout.run_owner, handout.method);
        if room > 0 && run_writer::hand_out(target, owner, method, room, &mut self.encoded) {
            self.ring = handout.ring.map(|(ring, next, _)| (ring.clone(), next));
            self.is_handed_out = true;
        }
    }

    /// Joins a call to the current run. False if it is of another kind or not short, or if the
    /// lease has no credit.
    #[inline(always)]
    pub(crate) fn join(&mut self, call: &Encoding<'_, impl Arguments>) -> bool {
        let is_open = self.channel == call.channel && self.credit > 0;
        if !is_open || !call.join(&mut self.run, &mut self.encoded) {
            return false;
        }
        self.credit -= 1;
        self.call_written();
        true
    }

    /// Writes a call as a frame. Without credit, nothing is written.
    #[inline(never)]
    pub(crate) fn call(&mut self, call: &Encoding<'_, impl Arguments>) -> EncodeOutcome {
        self.run.close(&mut self.encoded);
        let before = self.encoded.len();
        let body = call.write(&mut self.encoded);
        if body as u64 > self.session.identity.limits.frame_max {
            self.encoded.truncate(before);
            return EncodeOutcome::TooLarge(body);
        }
        if !self.charge(call.channel, units(body)) {
            self.encoded.truncate(before);
            return EncodeOutcome::NotHere;
        }
        self.call_written();
        if self.session.runs {
            call.note(&mut self.run);
        }
        EncodeOutcome::Done
    }

    /// Counts a call that was just encoded, and publishes when a segment is full.
    #[inline(always)]
    fn call_written(&mut self) {
        self.calls += 1;
        if self.encoded.len() >= TURN_BYTES {
            self.publish_and_flush();
        }
    }

    #[cold]
    pub(crate) fn publish_and_flush(&mut self) {
        self.publish_frames();
        self.session.flush();
    }

    #[cold]
    pub(crate) fn take_slots(&mut self) -> Option<u32> {
        self.session.asks.take(LEASE_SLOTS, &mut self.slots);
        self.slots.pop()
    }

    /// Returns the unused slots and wakes the senders that wait for one.
    #[cold]
    pub(crate) fn release_slots(&mut self) {
        if self.session.asks.release(self.slots.drain(..)) {
            let front_wakers = self.session.sending().front_wakers();
            front_wakers.into_iter().for_each(Waker::wake);
        }
    }

    /// Charges `cost` to the lease, and extends the lease if it is too small. False if there is no
    /// credit.
    #[inline]
    fn charge(&mut self, channel: u64, cost: u64) -> bool {
        if self.channel == channel && self.credit >= cost {
            self.credit -= cost;
            return true;
        }
        self.charge_slow(channel, cost)
    }

    #[cold]
    fn charge_slow(&mut self, channel: u64, cost: u64) -> bool {
        self.switch_to(channel);
        if self.credit >= cost {
            self.credit -= cost;
            return true;
        }
        let mut sending = self.session.sending();
        let closed = sending.ended.is_some() || sending.draining;
        if closed || !sending.sender.outbox.has_room_for_calls() {
            return false;
        }
        let Some(state) = sending.channels.get_mut(channel as usize) else {
            return false;
        };
        if state.gone.is_some() {
            return false;
        }
        if let Some(lease) = self.leases.get_mut(channel as usize)
            && !std::mem::replace(&mut lease.is_registered, true)
        {
            state.turns += 1;
        }
        // Waiting senders keep what they need, priced like this call.
        let reserved = state.parked.len() as u64 * cost;
        let Some(window) = sending.sender.window(channel) else {
            return false;
        };
        let free = window.free().saturating_sub(reserved);
        let most = (free / 4).clamp(cost.max(16), LEASE_UNITS_MAX.max(cost)).min(free);
        self.credit += window.lease(most);
        let enough = self.credit >= cost;
        if enough {
            self.credit -= cost;
        }
        enough
    }

    /// Makes `channel` the current one.
    fn switch_to(&mut self, channel: u64) {
        if self.channel == channel {
            return;
        }
        self.store_lease();
        let at = channel as usize;
        if self.leases.len() <= at {
            self.leases.resize(at + 1, Lease::default());
        }
        let lease = &mut self.leases[at];
        if !std::mem::replace(&mut lease.is_called, true) {
            self.called_channels.push(channel);
        }
        (self.channel, self.credit, self.calls) = (channel, lease.credit, lease.calls);
    }

    /// Stores the lease of the current channel; no channel is current afterwards.
    fn store_lease(&mut self) {
        if let Some(lease) = self.leases.get_mut(self.channel as usize) {
            (lease.credit, lease.calls) = (self.credit, self.calls);
            (self.channel, self.credit, self.calls) = (u64::MAX, 0, 0);
        }
    }

    /// Appends answers that are encoded already.
    pub(crate) fn answers(&mut self, frames: &[u8], count: u64) {
        self.run.close(&mut self.encoded);
        self.encoded.extend(frames);
        self.answers += count;
        self.flush = true;
    }

    /// Appends the answer to one ask.
    pub(crate) fn answer(&mut self, asker: (u32, u32), value: &dyn DynEncode, frame_max: u64) {
        self.run.close(&mut self.encoded);
        let before = self.encoded.len();
        let body = write::reply(&mut self.encoded, asker, |out| value.encode(out));
        if body as u64 > frame_max {
            self.encoded.truncate(before);
            let text = format!("the reply has {body} bytes, the asker accepts {frame_max}");
            write::error(&mut self.encoded, asker, Code::TOO_LARGE, &text);
        } else if body > SMALL_ANSWER && self.is_overfull() {
            self.encoded.truncate(before);
            let text = "replies pile up because the asker does not read them";
            write::error(&mut self.encoded, asker, Code::OVERLOADED, text);
        }
        self.answers += 1;
        self.flush = true;
    }

    /// True if the peer leaves so much unacknowledged that large replies are refused.
    #[cold]
    fn is_overfull(&self) -> bool {
        self.session.sending().sender.outbox.is_overfull()
    }

    /// Publishes the frames and gives the leases back. The caller flushes.
    pub(crate) fn publish_frames(&mut self) {
        self.run.close(&mut self.encoded);
        self.store_lease();
        if !self.slots.is_empty() {
            self.release_slots();
        }
        if self.answers == 0 && self.called_channels.is_empty() {
            return;
        }
        let mut frames = std::mem::take(&mut self.answers);
        let mut wakers: Vec<Waker> = Vec::new();
        let mut sending = self.session.sending();
        let mut to_detach = Vec::new();
        let ended = sending.ended.clone();
        for channel in self.called_channels.drain(..) {
            let lease = self.leases.get_mut(channel as usize).map(std::mem::take);
            let Lease { credit, calls, is_registered, .. } = lease.unwrap_or_default();
            frames += calls;
            if let Some(state) = sending.channels.get_mut(channel as usize) {
                state.tally.called += calls;
                state.turns -= u32::from(is_registered);
                if is_registered && state.turns == 0 && state.detach_wanted {
                    to_detach.push(channel);
                }
            }
            if let Some(window) = sending.sender.window(channel) {
                window.give_back(credit);
            }
            wakers.extend(sending.wakers_with_room(channel));
        }
        let mut unsent = None;
        if ended.is_some() {
            unsent = Some(UnsentCalls::in_frames(self.encoded.as_slice(), &mut sending));
            self.encoded.clear();
        } else {
            sending.sender.outbox.publish(&mut self.encoded, frames);
            self.flush |= frames > 0;
        }
        drop(sending);
        if let (Some(ended), Some(unsent)) = (ended, unsent) {
            // Of this buffer, only its own asks are known never to have left.
            wakers.append(&mut unsent.fail(&self.session, &ended.why));
            self.session.announce_end();
        }
        wakers.into_iter().for_each(Waker::wake);
        to_detach.into_iter().for_each(|channel| self.session.detach(channel));
    }
}
