//! The frames of a turn: what it has encoded for a session, with its leases of credit.
//!
//! The turn's own thread takes the lock for each call that does not join a run that is handed out.
//! Another thread takes it before it sends to the same actor, and publishes what is there.
//!
//! Locks: the frames of one turn, then the session's send half. No thread holds two turns' frames.

use std::sync::{Arc, PoisonError, TryLockError};
use std::task::Waker;
use std::thread::ThreadId;

use wigwag_actor::turn::buffers;
use wigwag_link::credit::StreamId;
use wigwag_link::limits::units;
use wigwag_link::outbox::LongFrame;
use wigwag_link::{Code, write};
use wigwag_wire::Buffer;
use wigwag_wire::run::{RunBuilder, RunItems};

use crate::limits::{LEASE_UNITS_MAX, SMALL_ANSWER, TENURE_CALLS};
use crate::session::Session;
use crate::session::buffers::encoding::{Arguments, Encoding};
use crate::session::buffers::holders::RunRest;
use crate::session::buffers::{EncodeOutcome, ItemOutcome};
use crate::session::outcome::UnsentCalls;
use crate::sync::{Mutex, MutexGuard};

/// The frames of the turns of one thread for one session, shared with the threads that send to the
/// same actors.
pub(crate) struct TurnFrames {
    thread: ThreadId,
    frames: Mutex<Frames>,
}

impl TurnFrames {
    /// Frames of the current thread.
    pub(crate) fn new(session: &Session) -> Arc<TurnFrames> {
        let run = RunBuilder::new(session.mixed_runs);
        let frames = Mutex::new(Frames { run, ..Frames::default() });
        Arc::new(TurnFrames { thread: std::thread::current().id(), frames })
    }

    /// True on the thread that encodes these frames.
    pub(crate) fn is_of_this_thread(&self) -> bool {
        self.thread == std::thread::current().id()
    }

    #[inline(always)]
    pub(crate) fn lock(&self) -> MutexGuard<'_, Frames> {
        // The value is consistent between statements, so a panic elsewhere cannot have broken it.
        self.frames.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the frames, unless another thread has locked them.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, Frames>> {
        match self.frames.try_lock() {
            Ok(frames) => Some(frames),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Publishes the frames of a turn that takes long, or that a thread holds between its turns while
    /// the driver does not come. The caller flushes.
    #[cold]
    pub(crate) fn publish_late(
        self: &Arc<TurnFrames>,
        mut frames: MutexGuard<'_, Frames>,
        session: &Session,
    ) {
        frames.publish_by_other(session, self, u64::MAX);
        frames.flush = false;
    }

    /// Publishes what the thread holds between its turns. The caller flushes.
    #[cold]
    pub(crate) fn publish_between_turns(
        self: &Arc<TurnFrames>,
        mut frames: MutexGuard<'_, Frames>,
        session: &Session,
    ) {
        if !frames.is_held {
            return;
        }
        frames.publish_held(session, self);
    }

    /// Publishes the frames for another thread, which is about to send an item of a stream behind those
    /// that are here, or its end.
    #[cold]
    pub(crate) fn publish_items(self: &Arc<TurnFrames>, session: &Session) {
        self.publish_for_other(session, u64::MAX);
    }

    /// Publishes the frames for another thread, which is about to send on `channel`.
    #[cold]
    pub(crate) fn publish_for_other(self: &Arc<TurnFrames>, session: &Session, channel: u64) {
        // A waker that itself sends may run under the lock of its own turn's frames. It must not
        // wait for another turn's frames.
        let mut frames = match buffers::is_busy() {
            false => self.lock(),
            true => match self.try_lock() {
                Some(frames) => frames,
                None => return,
            },
        };
        if frames.is_held {
            session.sending().rest_holders(channel);
        }
        frames.publish_by_other(session, self, channel);
    }
}

/// Who publishes the frames of a turn. `rest` is the run that another thread has closed.
enum Publisher {
    /// The turn itself, or whoever publishes what is held between turns: all leases are over.
    Turn { rest: Option<RunRest> },
    /// Another thread, which is about to send on `channel`, or the watchdog, which sends on none.
    Other { channel: u64, rest: Option<RunRest> },
}

/// The frames that a turn has encoded for a session and not yet published.
pub(crate) struct Frames {
    pub(crate) encoded: Buffer,
    /// Answers and items in `encoded`, which belong to no channel.
    of_no_channel: u64,
    run: RunBuilder,
    /// The further calls of the current run, while it is handed out.
    handed_out: Option<RunRest>,
    /// The channel of a run that was closed while it was handed out.
    closed: Option<u64>,
    /// The current channel, which was called last, and the credit leased for it.
    channel: u64,
    credit: u64,
    /// Calls on the current channel in `encoded`.
    calls: u64,
    /// Leases of the other channels, by channel number.
    leases: Vec<Lease>,
    /// Channels that this turn has called.
    called_channels: Vec<u64>,
    /// Something was published and waits for a flush.
    pub(crate) flush: bool,
    /// Times that a turn has published these frames.
    turns: u64,
    /// The watchdog looks at these frames.
    pub(crate) is_watched: bool,
    /// The frames hold calls that were sent outside a turn: the next thread that writes publishes
    /// them.
    pub(crate) is_held: bool,
}

/// The lease of a channel that is not the current one.
#[derive(Clone, Copy, Default)]
struct Lease {
    /// Units left.
    credit: u64,
    /// Calls paid from this lease.
    calls: u64,
    /// Calls that other threads have published.
    published: u64,
    /// The turn has called the channel.
    is_called: bool,
}

impl Default for Frames {
    fn default() -> Frames {
        Frames {
            encoded: Buffer::new(),
            of_no_channel: 0,
            run: RunBuilder::default(),
            handed_out: None,
            closed: None,
            channel: u64::MAX,
            credit: 0,
            calls: 0,
            leases: Vec::new(),
            called_channels: Vec::new(),
            flush: false,
            turns: 0,
            is_watched: false,
            is_held: false,
        }
    }
}

impl Frames {
    /// The number of the turn, and whether it holds something, or may add calls to its leases without
    /// another announcement to the watchdog.
    pub(crate) fn turn(&self) -> (u64, bool) {
        let holds_nothing =
            self.of_no_channel == 0 && self.called_channels.is_empty() && !self.flush;
        (self.turns, !holds_nothing)
    }

    /// Calls that may be added to the current run by the caller.
    pub(crate) fn room_in_run(&self) -> usize {
        self.run.room().min(self.credit as usize)
    }

    /// True if calls of several methods may be added to the current run.
    pub(crate) fn is_run_mixed(&self) -> bool {
        self.run.is_mixed()
    }

    /// Ends a mixed run, because its last calls were of `method`, as the next one is.
    pub(crate) fn end_mixture(&mut self, method: u32) {
        self.run.end_mixture(method);
    }

    /// Records that the current run is handed out.
    pub(crate) fn hand_out(&mut self, rest: RunRest) {
        self.handed_out = Some(rest);
    }

    /// The rest of the current run, if it is handed out and not closed. Its calls are taken, and
    /// their number is counted unless it is known.
    #[inline]
    pub(crate) fn take_run(&mut self, added: Option<usize>) -> Option<RunRest> {
        let mut rest = self.handed_out.take()?;
        let from = self.encoded.len();
        self.encoded.extend(rest.log.take(rest.log.end()));
        let added = added.unwrap_or_else(|| {
            let items = self.encoded.written_behind(from);
            RunItems::new(items).checked_count().unwrap_or(0)
        });
        self.run.note_items(added);
        self.calls += added as u64;
        self.credit = self.credit.saturating_sub(added as u64);
        rest.taken(added);
        Some(rest)
    }

    /// Closes the run that is handed out. The credit of the calls that its turn may still add goes
    /// with it.
    fn close_run(&mut self) -> Option<RunRest> {
        self.handed_out.as_ref()?.log.close();
        let mut rest = self.take_run(None)?;
        if rest.is_between_turns {
            rest.room = rest.room.min(1);
        }
        self.credit = self.credit.saturating_sub(rest.room as u64);
        self.closed = Some(rest.channel);
        Some(rest)
    }

    /// The channel of the run that was closed while it was handed out, once.
    pub(crate) fn take_closed(&mut self) -> Option<u64> {
        self.closed.take()
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
        self.calls += 1;
        true
    }

    /// Writes a call as a frame. Without credit, nothing is written.
    #[inline(never)]
    pub(crate) fn call(
        &mut self,
        session: &Session,
        turn: &Arc<TurnFrames>,
        call: &Encoding<'_, impl Arguments>,
    ) -> EncodeOutcome {
        self.run.close(&mut self.encoded);
        let before = self.encoded.len();
        let body = self.encoded.gathering(|out| call.write(out));
        if body as u64 > session.identity.limits.frame_max {
            return EncodeOutcome::Long(Box::new(LongFrame::take(&mut self.encoded, before)));
        }
        if !self.charge(session, turn, call.channel, units(body)) {
            self.encoded.truncate(before);
            return EncodeOutcome::NotHere;
        }
        self.calls += 1;
        if session.runs {
            call.note(&mut self.run);
        }
        EncodeOutcome::Done
    }

    /// Charges `cost` to the lease, and extends the lease if it is too small. False if there is no
    /// credit, or if another turn holds calls on the channel.
    #[inline]
    fn charge(
        &mut self,
        session: &Session,
        turn: &Arc<TurnFrames>,
        channel: u64,
        cost: u64,
    ) -> bool {
        if self.channel == channel && self.credit >= cost {
            self.credit -= cost;
            return true;
        }
        self.charge_slow(session, turn, channel, cost)
    }

    #[cold]
    fn charge_slow(
        &mut self,
        session: &Session,
        turn: &Arc<TurnFrames>,
        channel: u64,
        cost: u64,
    ) -> bool {
        self.switch_to(channel);
        if self.credit >= cost {
            self.credit -= cost;
            return true;
        }
        let mut sending = session.sending();
        let closed = sending.ended.is_some() || sending.draining;
        // A call behind a long one waits until that is sent.
        let is_held_up = sending.sender.is_long_under_way(channel);
        if closed || is_held_up || !sending.sender.outbox.has_room_for_calls() {
            return false;
        }
        let Some(state) = sending.channels.get_mut(channel as usize) else {
            return false;
        };
        if state.gone.is_some() || !state.holders.hold(turn, self.is_held) {
            return false;
        }
        // Waiting senders keep what they need, priced like this call.
        let reserved = (state.parked.len() as u64 * cost).max(state.kept_for_long_call(None));
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
        self.of_no_channel += count;
        self.flush = true;
    }

    /// Appends the answer to one ask. `encode` runs no code of the program.
    pub(crate) fn answer(
        &mut self,
        session: &Session,
        asker: (u32, u32),
        encode: &dyn Fn(&mut Buffer),
    ) {
        self.run.close(&mut self.encoded);
        let (frame_max, message_max) = (session.identity.limits.frame_max, session.message_max);
        let before = self.encoded.len();
        let body = self.encoded.gathering(|out| write::reply(out, asker, encode));
        // A peer that leaves much unacknowledged gets no large replies.
        let is_overfull = || session.sending().sender.outbox.is_overfull();
        if body as u64 > message_max {
            drop(LongFrame::take(&mut self.encoded, before));
            session.sending().statistics.asks_failed += 1;
            let text = session.too_large("the reply", body, "the asker");
            write::error(&mut self.encoded, asker, Code::TOO_LARGE, &text);
        } else if body > SMALL_ANSWER && is_overfull() {
            self.encoded.truncate(before);
            session.sending().statistics.asks_failed += 1;
            let text = "replies pile up because the asker does not read them";
            write::error(&mut self.encoded, asker, Code::OVERLOADED, text);
        } else if body as u64 > frame_max {
            let long = LongFrame::take(&mut self.encoded, before);
            let mut sending = session.sending();
            if sending.ended.is_none() {
                sending.sender.long_answer(long);
            }
            self.flush = true;
            return;
        }
        self.of_no_channel += 1;
        self.flush = true;
    }

    /// Appends an item of a stream. `encode` runs no code of the program.
    ///
    /// The first frame of a turn or of a segment finds out whether the outbox has room, so that what
    /// waits grows by one segment beyond.
    #[inline(always)]
    pub(crate) fn item(
        &mut self,
        session: &Session,
        stream: StreamId,
        encode: &dyn Fn(&mut Buffer),
    ) -> ItemOutcome {
        if self.encoded.total() == 0 && !session.has_room_for_items() {
            return ItemOutcome::NotHere;
        }
        self.run.close(&mut self.encoded);
        let before = self.encoded.len();
        let body = self.encoded.gathering(|out| write::item(out, stream, encode));
        if body as u64 > session.identity.limits.frame_max {
            self.encoded.truncate(before);
            return ItemOutcome::Long(body);
        }
        self.of_no_channel += 1;
        self.flush = true;
        ItemOutcome::Encoded(body)
    }

    /// Publishes the frames of the turn itself and gives its leases back. The caller flushes.
    pub(crate) fn publish_turn(&mut self, session: &Session, turn: &Arc<TurnFrames>) {
        self.publish(session, turn, Publisher::Turn { rest: None });
        self.turns += 1;
    }

    /// Publishes what is held between turns. No lease is kept for calls that may not come.
    fn publish_held(&mut self, session: &Session, turn: &Arc<TurnFrames>) {
        let rest = self.close_run();
        self.publish(session, turn, Publisher::Turn { rest });
        self.turns += 1;
    }

    /// Publishes for another thread, which is about to send on `channel`, or for the watchdog. What is
    /// held between turns has no end of a turn that would give its leases back.
    fn publish_by_other(&mut self, session: &Session, turn: &Arc<TurnFrames>, channel: u64) {
        if self.is_held {
            return self.publish_held(session, turn);
        }
        let rest = self.close_run();
        self.publish(session, turn, Publisher::Other { channel, rest });
    }

    fn publish(&mut self, session: &Session, turn: &Arc<TurnFrames>, publisher: Publisher) {
        self.run.close(&mut self.encoded);
        self.store_lease();
        self.is_held = false;
        if self.of_no_channel == 0 && self.called_channels.is_empty() {
            return;
        }
        let mut frames = std::mem::take(&mut self.of_no_channel);
        let mut unsent: Vec<UnsentCalls> = Vec::new();
        let mut wakers: Vec<Waker> = Vec::new();
        let mut to_detach = Vec::new();
        let mut sending = session.sending();
        let ended = sending.ended.clone();
        let leases = &mut self.leases;
        self.called_channels.retain(|&channel| {
            let Some(lease) = leases.get_mut(channel as usize) else { return false };
            let calls = std::mem::take(&mut lease.calls);
            lease.published += calls;
            frames += calls;
            let is_over = match &publisher {
                Publisher::Turn { .. } => true,
                // A turn that goes on sending keeps its lease for a while, so that two threads
                // which send to one actor do not change places at each call.
                Publisher::Other { channel: called, .. } => {
                    // Behind a long call the turn waits as every sender does.
                    let gives_way = calls == 0
                        || lease.published >= TENURE_CALLS
                        || sending.sender.is_long_under_way(channel);
                    ended.is_some() || (*called == channel && gives_way)
                }
            };
            unsent.extend(sending.publish_closed_runs(channel));
            if let Some(state) = sending.channels.get_mut(channel as usize) {
                state.tally.called += calls;
                if is_over {
                    state.holders.release(turn);
                }
                if state.take_detach() {
                    to_detach.push(channel);
                }
            }
            if is_over {
                let Lease { credit, .. } = std::mem::take(lease);
                if let Some(window) = sending.sender.window(channel) {
                    window.give_back(credit);
                }
                wakers.extend(sending.wakers_with_room(channel));
            }
            !is_over
        });
        let (Publisher::Turn { rest } | Publisher::Other { rest, .. }) = publisher;
        if let Some(rest) = rest
            && let Some(state) = sending.channels.get_mut(rest.channel as usize)
        {
            state.holders.add_closed(rest);
        }
        if ended.is_some() {
            unsent.push(UnsentCalls::in_frames(&self.encoded.flat(0..usize::MAX), &mut sending));
            self.encoded.clear();
        } else {
            sending.sender.outbox.publish(&mut self.encoded, frames);
            self.flush |= frames > 0;
        }
        drop(sending);
        if let Some(ended) = ended {
            // Of this buffer, only its own asks are known never to have left.
            for calls in unsent {
                wakers.append(&mut calls.fail(session, &ended.why));
            }
            session.announce_end();
        }
        wakers.into_iter().for_each(Waker::wake);
        to_detach.into_iter().for_each(|channel| session.detach(channel));
    }
}
