//! The turns that may hold calls on one channel which are not published yet.
//!
//! A call that happened before another one must be handled before it, even if a turn of another
//! thread still holds it. At most one turn at a time may hold calls on a channel, its holder. A thread that
//! sends otherwise first publishes what the holder has encoded, and closes the run that the holder
//! may have handed out: the holder's next call takes the lock of its frames, and sees what has
//! become of its lease.
//!
//! Until then the holder may add calls to the closed run. Such a call is not preceded by any call
//! of a later holder, because what precedes it would include the closing, which the turn then
//! sees. So closed runs are published before everything that is published later on the channel,
//! the oldest first ([`run_log::ends`]). They only ever go to the outbox, under the session's
//! lock, so no thread looks for one while it is on its way.

use std::sync::Arc;
use std::task::Waker;

use wigwag_actor::reference::run_log::{self, RunLog};
use wigwag_actor::reference::run_writer::OpenRun;
use wigwag_wire::Buffer;
use wigwag_wire::run::{Run, RunItems};

use crate::replies::ring::Ring;
use crate::session::buffers::frames::TurnFrames;
use crate::session::outcome::UnsentCalls;
use crate::session::{SendState, Session};

/// Calls that go one by one after two threads have tried to hold calls of a channel between turns:
/// so many that the failed attempt costs little of each.
pub(super) const HOLDER_REST_CALLS: u16 = 256;

/// The turns that may hold unpublished calls on one channel.
#[derive(Default)]
pub(crate) struct Holders {
    /// The turn that has leased credit of the channel.
    holder: Option<Arc<TurnFrames>>,
    /// Runs that were closed, and whose turns have not noticed; the oldest first.
    closed: Vec<RunRest>,
    /// Calls for which no thread holds any between its turns, because two threads have tried to.
    rest: u16,
}

/// The further calls of a run, as they lie in its log.
pub(crate) struct RunRest {
    pub(crate) log: RunLog,
    pub(crate) channel: u64,
    /// The method, by the receiver's number; `None` if each call begins with its own.
    pub(crate) method: Option<u32>,
    /// For asks, the slot and generation of the next one.
    pub(crate) asker: Option<(u32, u32)>,
    /// For the asks of a pipeline, their ring and the number of the next one.
    pub(crate) ring: Option<(Arc<Ring>, u64)>,
    /// Calls that may still be added; their credit is leased.
    pub(crate) room: usize,
    /// The run was handed out between turns: its thread notices the closing at the first call that
    /// it adds behind it, and then publishes that call.
    pub(crate) is_between_turns: bool,
}

impl RunRest {
    /// Counts calls that were taken out of the log.
    pub(crate) fn taken(&mut self, count: usize) {
        self.room = self.room.saturating_sub(count);
        if let Some((slot, _)) = &mut self.asker {
            *slot = slot.wrapping_add(count as u32);
        }
        if let Some((ring, next)) = &mut self.ring {
            *next += count as u64;
            ring.raise_sent(*next);
        }
    }
}

impl SendState {
    /// Keeps all threads from holding calls of a channel between their turns for a while, because
    /// several threads call.
    pub(crate) fn rest_holders(&mut self, number: u64) {
        if let Some(state) = self.channels.get_mut(number as usize) {
            state.holders.rest = HOLDER_REST_CALLS;
        }
    }

    /// Publishes the calls of the closed runs of a channel. After the end of the session, returns
    /// them instead.
    #[inline]
    pub(crate) fn publish_closed_runs(&mut self, number: u64) -> Option<UnsentCalls> {
        let state = self.channels.get_mut(number as usize)?;
        if state.holders.closed.is_empty() {
            return None;
        }
        let mut frames = Buffer::new();
        let count = state.holders.collect(&mut frames);
        state.tally.called += count;
        if self.ended.is_some() {
            return Some(UnsentCalls::in_frames(frames.as_slice(), self));
        }
        self.sender.outbox.publish(&mut frames, count);
        None
    }
}

impl Session {
    /// Publishes what turns of other threads hold: a turn may last long, and its thread may block.
    pub(crate) fn publish_held(&self) {
        let held: Vec<(u64, Arc<TurnFrames>)> = {
            let sending = self.sending();
            let others = (0..).zip(&sending.channels);
            others
                .filter_map(|(number, channel)| Some((number, channel.holders.other()?.clone())))
                .collect()
        };
        for (number, turn) in held {
            turn.publish_for_other(self, number);
        }
    }

    /// Publishes the calls of a closed run and forgets it: its turn has noticed that it is closed,
    /// and adds nothing more. Returns the reading end of its log.
    #[cold]
    pub(crate) fn finish_closed_run(&self, number: u64, run: &OpenRun) -> Option<RunLog> {
        let mut guard = self.sending();
        let unsent = guard.publish_closed_runs(number);
        let sending = &mut *guard;
        let state = sending.channels.get_mut(number as usize)?;
        let closed = state.holders.remove_closed(run);
        let unused = closed.as_ref().map_or(0, |rest| rest.room as u64);
        let is_to_detach = state.take_detach();
        if let Some(window) = sending.sender.window(number) {
            window.give_back(unused);
        }
        let mut wakers = sending.wakers_with_room(number);
        let ended = sending.ended.clone();
        drop(guard);
        if let Some(ended) = ended {
            wakers.extend(unsent.into_iter().flat_map(|calls| calls.fail(self, &ended.why)));
            self.announce_end();
        }
        wakers.into_iter().for_each(Waker::wake);
        if is_to_detach {
            self.detach(number);
        }
        closed.map(|rest| rest.log)
    }
}

impl Holders {
    /// True if no turn holds calls, and no turn may add one without asking.
    pub(crate) fn is_empty(&self) -> bool {
        self.holder.is_none() && self.closed.is_empty()
    }

    /// True while a turn holds calls that it has not counted. A run that was closed between turns has
    /// none, and its thread may never call again.
    pub(crate) fn are_counting(&self) -> bool {
        self.holder.is_some() || self.closed.iter().any(|rest| !rest.is_between_turns)
    }

    /// The turn that holds calls, apart from one of this thread.
    pub(crate) fn other(&self) -> Option<&Arc<TurnFrames>> {
        self.holder.as_ref().filter(|holder| !holder.is_of_this_thread())
    }

    /// Makes `turn` the holder, if there is none. True if it is the holder. Threads that both call
    /// between their turns would take each other's place all the time, so neither becomes the
    /// holder for a while.
    pub(crate) fn hold(&mut self, turn: &Arc<TurnFrames>, is_between_turns: bool) -> bool {
        if is_between_turns && self.rest > 0 {
            self.rest -= 1;
            return false;
        }
        let holds = Arc::ptr_eq(self.holder.get_or_insert_with(|| turn.clone()), turn);
        if is_between_turns && !holds {
            self.rest = HOLDER_REST_CALLS;
        }
        holds
    }

    /// Forgets the closed runs that only a call could still be added to: there is no reference any
    /// more that could make one.
    pub(crate) fn forget_closed(&mut self) {
        self.closed.retain(|rest| !rest.is_between_turns);
    }

    /// Records that `turn` holds no calls on the channel any more.
    pub(crate) fn release(&mut self, turn: &Arc<TurnFrames>) {
        self.holder.take_if(|holder| Arc::ptr_eq(holder, turn));
    }

    /// Adds a run that was closed while its turn may add to it.
    pub(crate) fn add_closed(&mut self, rest: RunRest) {
        self.closed.push(rest);
    }

    /// Removes a closed run whose turn has noticed that, and which was collected.
    fn remove_closed(&mut self, run: &OpenRun) -> Option<RunRest> {
        let at = self.closed.iter().position(|closed| run.writes_to(&closed.log))?;
        Some(self.closed.remove(at))
    }

    /// Appends the calls of the closed runs to `out`, as frames, and returns their number.
    fn collect(&mut self, out: &mut Buffer) -> u64 {
        let mut count = 0;
        let ends = run_log::ends(self.closed.iter().map(|rest| &rest.log));
        for (rest, end) in self.closed.iter_mut().zip(ends) {
            let items = RunItems::new(rest.log.take(end));
            let Some(calls) = items.checked_count() else { continue };
            let (channel, method) = (rest.channel, rest.method.map(u64::from));
            Run { channel, method, asker: rest.asker, items }.write_calls(out);
            rest.taken(calls);
            count += calls as u64;
        }
        count
    }
}
