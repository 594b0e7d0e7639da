//! The frames of a turn: what it has encoded for a session, with its leases of credit.
//!
//! The turn's own thread takes the lock for each call that does not join a run that is handed out.
//! Another thread takes it before it sends to the same actor, and publishes what is there.
//!
//! Locks: the frames of one turn, then the session's send half. No thread holds two turns' frames.

mod answers;
mod publishing;
mod runs;

use std::sync::{Arc, PoisonError, TryLockError};
use std::thread::ThreadId;

use wigwag_link::limits::units;
use wigwag_link::outbox::LongFrame;
use wigwag_wire::Buffer;
use wigwag_wire::run::RunBuilder;

use crate::limits::LEASE_UNITS_MAX;
use crate::session::Session;
use crate::session::buffers::EncodeOutcome;
use crate::session::buffers::encoding::{Arguments, Encoding};
use crate::session::buffers::holders::RunRest;
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
}

/// The frames that a turn has encoded for a session and not yet published.
pub(crate) struct Frames {
    pub(crate) encoded: Buffer,
    /// Answers and items in `encoded`, which belong to no channel.
    of_no_channel: u64,
    /// The asks of the peer that the answers in `encoded` complete.
    answered: u64,
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
            answered: 0,
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
}
