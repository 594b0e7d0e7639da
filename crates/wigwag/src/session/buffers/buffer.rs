//! The send buffer of a thread's turns for one session: its frames, and what other threads never
//! see.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::task::Waker;

use wigwag_actor::reference::run_log::RunLog;
use wigwag_actor::reference::run_writer::{self, OpenRun};
use wigwag_actor::turn::buffers::{AfterPublish, TurnBuffer};
use wigwag_link::credit::StreamId;
use wigwag_wire::Buffer;

use crate::limits::{LEASE_SLOTS, TURN_BYTES};
use crate::session::Session;
use crate::session::buffers::encoding::{Arguments, Encoding};
use crate::session::buffers::frames::{Frames, TurnFrames};
use crate::session::buffers::holders::RunRest;
use crate::session::buffers::{EncodeOutcome, ItemOutcome, RunHandout};
use crate::session::watchdog::watch_turn;
use crate::sync::MutexGuard;

/// The send buffer of a thread's turns for one session.
pub(crate) struct SendBuffer {
    session: Arc<Session>,
    turn: Arc<TurnFrames>,
    own: Own,
}

/// The state that only the thread of the turn uses.
#[derive(Default)]
struct Own {
    /// The current run is handed out to the caller's reference.
    is_handed_out: bool,
    /// The run that is handed out next, and the reading end of its log.
    run: Option<(OpenRun, RunLog)>,
    /// Free slots that this turn has taken and not used yet.
    slots: Vec<u32>,
    /// The outbox holds output that waits for a flush.
    flush: bool,
}

/// A send buffer whose frames are locked, and whose run is taken back.
pub(crate) struct OpenBuffer<'b> {
    session: &'b Arc<Session>,
    turn: &'b Arc<TurnFrames>,
    own: &'b mut Own,
    pub(crate) frames: MutexGuard<'b, Frames>,
}

impl TurnBuffer for SendBuffer {
    fn publish(&mut self) -> AfterPublish {
        self.publish_frames();
        if std::mem::take(&mut self.own.flush) {
            self.session.flush_turn();
        }
        // The next turn of this thread most likely sends to the same sessions.
        if self.session.has_ended() { AfterPublish::Drop } else { AfterPublish::Keep }
    }

    fn has_ended(&self) -> bool {
        self.session.has_ended()
    }
}

impl SendBuffer {
    pub(crate) fn new(session: &Arc<Session>) -> SendBuffer {
        SendBuffer { session: session.clone(), turn: TurnFrames::new(session), own: Own::default() }
    }

    /// Locks the frames and takes back the run that was handed out.
    #[inline(always)]
    pub(crate) fn open(&mut self) -> OpenBuffer<'_> {
        let SendBuffer { session, turn, own } = self;
        let frames = turn.lock();
        let mut open = OpenBuffer { session, turn, own, frames };
        if open.own.is_handed_out {
            open.take_back_run();
        }
        open
    }

    /// Publishes the frames and gives the leases and slots back. The caller flushes.
    pub(crate) fn publish_frames(&mut self) {
        let mut open = self.open();
        open.publish();
        drop(open);
        if !self.own.slots.is_empty() {
            self.release_slots();
        }
    }

    /// Encodes a call outside a turn. An ask whose caller may be alone is not held: its caller writes
    /// it when it waits for the answer.
    pub(crate) fn call_between_turns(
        &mut self,
        target: NonZeroUsize,
        call: &Encoding<'_, impl Arguments>,
        handout: Option<&RunHandout<'_>>,
    ) -> EncodeOutcome {
        let mut open = self.open();
        let is_held = open.frames.is_held;
        if call.asker.is_some() && !is_held && !open.session.is_driver_due() {
            return EncodeOutcome::NotHere;
        }
        open.frames.is_held = true;
        let outcome = open.call(target, call, handout);
        if !matches!(outcome, EncodeOutcome::Done) {
            open.frames.is_held = is_held;
            return outcome;
        }
        let encoded = open.frames.encoded.total();
        drop(open);
        if !is_held {
            self.session.hold(&self.turn);
        }
        self.publish_if_full(encoded);
        outcome
    }

    /// Encodes an item of a stream, of which earlier ones may be in `last`.
    #[inline(always)]
    pub(crate) fn item(
        &mut self,
        stream: StreamId,
        last: &mut Option<Arc<TurnFrames>>,
        encode: &dyn Fn(&mut Buffer),
    ) -> ItemOutcome {
        match last {
            Some(last) if !Arc::ptr_eq(last, &self.turn) => return ItemOutcome::Elsewhere,
            Some(_) => {}
            None => *last = Some(self.turn.clone()),
        }
        let mut open = self.open();
        let outcome = open.frames.item(open.session, stream, encode);
        open.watch();
        let encoded = open.frames.encoded.total();
        drop(open);
        self.publish_if_full(encoded);
        outcome
    }

    /// Publishes the frames if they fill a segment, and writes them.
    #[inline(always)]
    pub(crate) fn publish_if_full(&mut self, encoded: usize) {
        if encoded >= TURN_BYTES {
            self.publish_and_flush();
        }
    }

    #[cold]
    fn publish_and_flush(&mut self) {
        self.publish_frames();
        self.own.flush = false;
        self.session.flush();
    }

    /// Flushes the session when the turn ends.
    pub(crate) fn flush_soon(&mut self) {
        self.own.flush = true;
        // The watchdog sees the frames, not what only this thread uses.
        let SendBuffer { session, turn, own } = self;
        let mut open = OpenBuffer { session, turn, own, frames: turn.lock() };
        open.frames.flush = true;
        open.watch();
    }

    /// Takes a free slot for an ask.
    #[inline(always)]
    pub(crate) fn take_slot(&mut self) -> Option<u32> {
        self.own.slots.pop().or_else(|| self.take_slots())
    }

    #[cold]
    fn take_slots(&mut self) -> Option<u32> {
        self.session.asks.take(LEASE_SLOTS, &mut self.own.slots);
        self.own.slots.pop()
    }

    /// Keeps a slot for the turn's next ask, unless that makes more than `most`.
    #[inline(always)]
    pub(crate) fn keep_slot(&mut self, number: u32, most: usize) {
        self.own.slots.push(number);
        if self.own.slots.len() >= most {
            self.release_slots();
        }
    }

    /// Returns the unused slots and wakes the senders that wait for one.
    #[cold]
    fn release_slots(&mut self) {
        if self.session.asks.release(self.own.slots.drain(..)) {
            let front_wakers = self.session.sending().front_wakers();
            front_wakers.into_iter().for_each(Waker::wake);
        }
    }
}

impl OpenBuffer<'_> {
    fn take_back_run(&mut self) {
        let Some(mut run) = run_writer::take_back() else { return };
        self.own.is_handed_out = false;
        let log = match self.frames.take_run(Some(run.added())) {
            Some(rest) => {
                if let Some(method) = run.method_that_goes_on() {
                    self.frames.end_mixture(method);
                }
                Some(rest.log)
            }
            None => self.finish_closed_run(&run),
        };
        // Without the reading end, the next run gets a new log.
        self.own.run = log.and_then(|mut log| run.restart(&mut log).then_some((run, log)));
    }

    #[cold]
    fn finish_closed_run(&mut self, run: &OpenRun) -> Option<RunLog> {
        let channel = self.frames.take_closed()?;
        self.own.flush = true;
        self.session.finish_closed_run(channel, run)
    }

    /// Encodes a call, and hands out the run that it was joined to.
    #[inline(always)]
    pub(crate) fn call(
        &mut self,
        target: NonZeroUsize,
        call: &Encoding<'_, impl Arguments>,
        handout: Option<&RunHandout<'_>>,
    ) -> EncodeOutcome {
        if self.frames.join(call) {
            if let Some(handout) = handout
                && self.frames.encoded.total() < TURN_BYTES
            {
                self.hand_out_run(target, call, handout);
            }
            call.count_ask(&self.session.asks);
            return EncodeOutcome::Done;
        }
        let outcome = self.frames.call(self.session, self.turn, call);
        if let EncodeOutcome::Done = outcome {
            call.count_ask(&self.session.asks);
        }
        self.watch();
        outcome
    }

    /// Announces the frames to the watchdog, because they may hold something from now on.
    #[inline(always)]
    pub(crate) fn watch(&mut self) {
        if !self.frames.is_watched {
            watch_turn(self.session, self.turn, &mut self.frames);
        }
    }

    /// Hands out the run that a call was just joined to, if the run has room.
    fn hand_out_run<A>(
        &mut self,
        target: NonZeroUsize,
        call: &Encoding<'_, A>,
        handout: &RunHandout<'_>,
    ) {
        let most = handout.ring.map_or(usize::MAX, |(_, _, most)| most);
        let room = self.frames.room_in_run().min(most);
        let is_mixed = self.frames.is_run_mixed();
        if room == 0 || is_mixed && !handout.has_same_numbers {
            return;
        }
        let (run, log) = self.own.run.take().unwrap_or_else(OpenRun::new);
        let rest = RunRest {
            log,
            channel: call.channel,
            method: (!is_mixed).then_some(call.method),
            asker: call.asker.map(|(slot, generation)| (slot.wrapping_add(1), generation)),
            ring: handout.ring.map(|(ring, next, _)| (ring.clone(), next)),
            room,
            is_between_turns: self.frames.is_held,
        };
        let (owner, is_held) = (handout.run_owner, self.frames.is_held);
        let method = (!is_mixed).then_some(handout.method);
        match run_writer::hand_out(target, owner, method, room, is_held, run) {
            Ok(()) => {
                self.frames.hand_out(rest);
                self.own.is_handed_out = true;
            }
            Err(run) => self.own.run = Some((run, rest.log)),
        }
    }

    /// Publishes the frames and gives the leases back.
    fn publish(&mut self) {
        self.frames.publish_turn(self.session, self.turn);
        self.own.flush |= std::mem::take(&mut self.frames.flush);
    }
}
