//! The mail of one sender group: the local senders of an actor, or one session (a lane).
//!
//! Mail lies in chunks. Senders fill the last chunk; the actor takes the first one whole, so it
//! pays one lock per chunk, and the chunk it gives back is filled again: no allocation in steady
//! state. A lane's reader fills chunks of its own, with calls as they came, and publishes them
//! together: the actor decodes each one when its turn has come.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use wigwag_wire::call::Calls;

use crate::error::CallErrorKind;
use crate::lane::LaneOwner;
use crate::letters::{Loss, Origin};
use crate::limits::{RUN_CALLS_MAX, SPARE_BYTES_MAX, SPARE_CHUNKS_MAX};
use crate::mails::{Asker, Mails};
use crate::options::WhenFull;
use crate::parked::{Parked, Ticket, Wakers};

/// Calls of a session as they came.
#[derive(Default)]
pub(crate) struct Frames {
    pub(crate) bytes: Vec<u8>,
    pub(crate) calls: usize,
    /// Credit that the calls have used.
    pub(crate) units: u64,
    /// Calls at the front that were handled before the rest came back.
    pub(crate) skip: usize,
}

impl Frames {
    pub(crate) fn add(&mut self, bytes: &[u8], calls: usize, units: u64) {
        self.bytes.extend_from_slice(bytes);
        self.calls += calls;
        self.units += units;
    }

    /// Those that were not handled yet.
    pub(crate) fn left(&self) -> Calls<'_> {
        let mut calls = Calls::new(&self.bytes);
        calls.by_ref().take(self.skip).for_each(drop);
        calls
    }
}

/// Up to [`RUN_CALLS_MAX`] calls of one sender group, in order.
pub(crate) enum Chunk<M> {
    Mails(Mails<M>),
    Frames(Frames),
}

impl<M> Chunk<M> {
    pub(crate) fn calls(&self) -> usize {
        match self {
            Chunk::Mails(mails) => mails.len(),
            Chunk::Frames(frames) => frames.calls - frames.skip,
        }
    }

    /// Credit that the calls have used; none for local ones.
    pub(crate) fn units(&self) -> u64 {
        match self {
            Chunk::Mails(_) => 0,
            Chunk::Frames(frames) => frames.units,
        }
    }

    /// Empties it; false when it holds so much memory that it should not be kept.
    fn clear(&mut self) -> bool {
        match self {
            Chunk::Mails(mails) => {
                mails.clear();
                true
            }
            Chunk::Frames(frames) => {
                frames.bytes.clear();
                (frames.calls, frames.units, frames.skip) = (0, 0, 0);
                frames.bytes.capacity() <= SPARE_BYTES_MAX
            }
        }
    }
}

/// What a push came to.
pub(crate) enum Pushed {
    /// It is in. `list`: the queue was empty, so the mailbox must list it.
    In { list: bool },
    /// No room, or somebody is before us; we are parked if a waker was given.
    Full,
    /// No room, and nobody waits for some here.
    Refused,
    /// The actor has stopped.
    Closed,
}

/// One queue.
pub(crate) struct Queue<M> {
    state: Mutex<State<M>>,
    /// The session that owns this lane; `None` for the local senders.
    pub(crate) owner: Option<Arc<dyn LaneOwner>>,
    /// Calls that may wait; a lane is bounded by credit instead, which its owner checks.
    capacity: usize,
    when_full: WhenFull,
    /// The one call of a timer: it begins as soon as it is taken out, so that it is in here, and can
    /// be withdrawn, until then.
    pub(crate) is_timer: bool,
    /// For those who hear of lost calls.
    pub(crate) origin: Option<Origin<M>>,
}

struct State<M> {
    chunks: VecDeque<Chunk<M>>,
    spare: Vec<Chunk<M>>,
    /// Calls in `chunks`, and places that turns have leased.
    waiting: usize,
    /// The mailbox knows that there is mail.
    listed: bool,
    /// Nothing is let in any more.
    closed: bool,
    /// Nothing is handled any more.
    over: bool,
    parked: Parked,
    /// Calls that were dropped because there was no room.
    dropped: u64,
}

impl<M> State<M> {
    /// True when the mailbox must list the queue.
    fn push(&mut self, message: M, asker: Asker) -> bool {
        match self.chunks.back_mut() {
            Some(Chunk::Mails(last)) if last.len() < RUN_CALLS_MAX => last.push(message, asker),
            _ => {
                let mut mails = self.empty_mails();
                mails.push(message, asker);
                self.chunks.push_back(Chunk::Mails(mails));
            }
        }
        self.waiting += 1;
        !std::mem::replace(&mut self.listed, true)
    }

    /// The local call that waits longest.
    fn pop_oldest(&mut self) -> Option<(M, Asker)> {
        let Some(Chunk::Mails(first)) = self.chunks.front_mut() else { return None };
        let oldest = first.pop_first()?;
        self.waiting -= 1;
        if first.is_empty() {
            self.chunks.pop_front();
        }
        Some(oldest)
    }

    fn empty_mails(&mut self) -> Mails<M> {
        match self.spare.pop() {
            Some(Chunk::Mails(mails)) => mails,
            _ => Mails::with_askers(),
        }
    }
}

impl<M> Queue<M> {
    /// The queue of local senders.
    pub(crate) fn of_senders(capacity: usize, when_full: WhenFull, origin: Origin<M>) -> Queue<M> {
        Queue { when_full, origin: Some(origin), ..Queue::new(None, capacity) }
    }

    /// The queue of a timer.
    pub(crate) fn of_timer() -> Queue<M> {
        Queue { when_full: WhenFull::Refuse, is_timer: true, ..Queue::new(None, 1) }
    }

    /// A queue whose senders wait for room.
    pub(crate) fn new(owner: Option<Arc<dyn LaneOwner>>, capacity: usize) -> Queue<M> {
        let state = State {
            chunks: VecDeque::new(),
            spare: Vec::new(),
            waiting: 0,
            listed: false,
            closed: false,
            over: false,
            parked: Parked::default(),
            dropped: 0,
        };
        Queue {
            state: Mutex::new(state),
            owner,
            capacity,
            when_full: WhenFull::Wait,
            is_timer: false,
            origin: None,
        }
    }

    /// Takes the message out of its `Option` when it is let in. One lock, no allocation in
    /// steady state.
    pub(crate) fn push(
        &self,
        message: &mut Option<M>,
        asker: Asker,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Pushed {
        let mut state = self.lock();
        if state.closed {
            return Pushed::Closed;
        }
        let room = self.capacity.saturating_sub(state.waiting) as u64;
        if !state.parked.may_pass(ticket, room) {
            return self.push_full(state, message, asker, ticket, waker);
        }
        let Some(message) = message.take() else {
            return Pushed::In { list: false };
        };
        let list = state.push(message, asker);
        state.parked.leave(ticket);
        Pushed::In { list }
    }

    /// There is no room: the queue's rule says what becomes of the call.
    #[cold]
    fn push_full(
        &self,
        mut state: MutexGuard<'_, State<M>>,
        message: &mut Option<M>,
        asker: Asker,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Pushed {
        let (dropped, list) = match self.when_full {
            WhenFull::Refuse => return Pushed::Refused,
            WhenFull::Wait => {
                if let Some(waker) = waker {
                    state.parked.park(ticket, waker);
                }
                return Pushed::Full;
            }
            WhenFull::DropOldest => match (state.pop_oldest(), message.take()) {
                (Some(oldest), Some(message)) => (Some(oldest), state.push(message, asker)),
                (oldest, message) => (oldest.or(message.map(|message| (message, asker))), false),
            },
            WhenFull::DropNewest => (message.take().map(|message| (message, asker)), false),
        };
        state.dropped += u64::from(dropped.is_some());
        // Outside the lock: the message may do anything when it is dropped.
        drop(state);
        match (dropped, &self.origin) {
            (Some((_, Some(asker))), _) => {
                let why = "the call was dropped: no room for it";
                asker.fail(CallErrorKind::Overloaded, Some(why));
            }
            (Some((message, None)), Some(origin)) => origin.lost(Loss::NoRoom, &message),
            _ => {}
        }
        Pushed::In { list }
    }

    /// Moves in what a turn has staged, takes back the `unused` places that it leased, and leases up
    /// to `want` new ones. When the actor has stopped, the mails stay with the caller.
    pub(crate) fn publish_staged(
        &self,
        mails: &mut Mails<M>,
        unused: usize,
        want: usize,
    ) -> (Pushed, usize) {
        let mut state = self.lock();
        if state.closed {
            return (Pushed::Closed, 0);
        }
        state.waiting -= unused;
        let mut list = false;
        if !mails.is_empty() {
            match state.chunks.back_mut() {
                Some(Chunk::Mails(last)) if last.len() + mails.len() <= RUN_CALLS_MAX => {
                    last.append(mails);
                }
                _ => {
                    let empty = state.empty_mails();
                    state.chunks.push_back(Chunk::Mails(std::mem::replace(mails, empty)));
                }
            }
            list = !std::mem::replace(&mut state.listed, true);
        }
        let room = self.capacity.saturating_sub(state.waiting);
        // Who stands in the queue finds the place that he needs, and others find some too.
        let leased = want.min(room.saturating_sub(state.parked.len()).div_ceil(4));
        state.waiting += leased;
        let woken = (unused > 0).then(|| state.parked.wakers(room as u64));
        drop(state);
        woken.into_iter().for_each(Wakers::wake);
        (Pushed::In { list }, leased)
    }

    /// Moves full chunks in; those of a lane, whose places its credit has paid for.
    pub(crate) fn publish(&self, chunks: &mut Vec<Chunk<M>>) -> Pushed {
        let mut state = self.lock();
        if state.closed {
            return Pushed::Closed;
        }
        state.waiting += chunks.iter().map(Chunk::calls).sum::<usize>();
        state.chunks.extend(chunks.drain(..));
        Pushed::In { list: !std::mem::replace(&mut state.listed, true) }
    }

    /// Takes the oldest call out again.
    pub(crate) fn withdraw(&self) -> Option<(M, Asker)> {
        self.lock().pop_oldest()
    }

    /// Empty chunks for the reader of a lane.
    pub(crate) fn take_spare(&self, into: &mut Vec<Chunk<M>>) {
        into.append(&mut self.lock().spare);
    }

    /// The first chunk, for the actor. `true`: more is waiting, list the queue again.
    pub(crate) fn take(&self) -> Option<(Chunk<M>, bool)> {
        let mut state = self.lock();
        let Some(chunk) = state.chunks.pop_front() else {
            state.listed = false;
            return None;
        };
        state.waiting -= chunk.calls();
        let more = !state.chunks.is_empty();
        state.listed = more;
        let room = self.capacity.saturating_sub(state.waiting) as u64;
        let woken = state.parked.wakers(room);
        drop(state);
        woken.wake();
        Some((chunk, more))
    }

    /// Gives an emptied chunk back.
    pub(crate) fn give_back(&self, mut chunk: Chunk<M>) {
        if !chunk.clear() {
            return;
        }
        let mut state = self.lock();
        if state.spare.len() < SPARE_CHUNKS_MAX {
            state.spare.push(chunk);
        }
    }

    /// A parked sender gives up.
    pub(crate) fn leave(&self, ticket: &mut Ticket) {
        let mut state = self.lock();
        state.parked.leave(ticket);
        let room = self.capacity.saturating_sub(state.waiting) as u64;
        let woken = state.parked.wakers(room);
        drop(state);
        woken.wake();
    }

    /// Puts back what was taken out and not handled; true when the mailbox must list the queue.
    ///
    /// # Errors
    /// The chunk, when nothing will be handled any more.
    pub(crate) fn put_back(&self, chunk: Chunk<M>) -> Result<bool, Chunk<M>> {
        let mut state = self.lock();
        if state.over {
            return Err(chunk);
        }
        state.waiting += chunk.calls();
        state.chunks.push_front(chunk);
        Ok(!std::mem::replace(&mut state.listed, true))
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Calls that wait, and places that turns have leased.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting
    }

    /// Calls that were dropped because there was no room.
    pub(crate) fn dropped(&self) -> u64 {
        self.lock().dropped
    }

    /// Lets nothing in any more and wakes everybody who waits; what is in stays.
    pub(crate) fn seal(&self) {
        let mut state = self.lock();
        state.closed = true;
        let parked = state.parked.drain();
        drop(state);
        parked.into_iter().for_each(Waker::wake);
    }

    /// Lets nothing in any more, wakes everybody who waits, and hands out what was waiting.
    pub(crate) fn close(&self) -> Vec<Chunk<M>> {
        let mut state = self.lock();
        (state.closed, state.over) = (true, true);
        state.waiting = 0;
        let left = state.chunks.drain(..).collect();
        let parked = state.parked.drain();
        drop(state);
        parked.into_iter().for_each(Waker::wake);
        left
    }

    fn lock(&self) -> MutexGuard<'_, State<M>> {
        // Whole between two statements, so a panic elsewhere has broken nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_leases_only_what_those_who_wait_do_not_need() {
        let queue = Queue::new(None, 8);
        let push =
            |ticket: &mut Ticket| queue.push(&mut Some(7), None, ticket, Some(Waker::noop()));
        for _ in 0..8 {
            assert!(matches!(push(&mut Ticket::default()), Pushed::In { .. }));
        }
        let mut waiting = [Ticket::default(), Ticket::default()];
        for ticket in &mut waiting {
            assert!(matches!(push(ticket), Pushed::Full));
        }
        assert!(queue.take().is_some());
        let mut leased = 0;
        while let (_, more @ 1..) = queue.publish_staged(&mut Mails::default(), 0, RUN_CALLS_MAX) {
            leased += more;
        }
        assert_eq!(leased, 6);
        for ticket in &mut waiting {
            assert!(matches!(push(ticket), Pushed::In { .. }));
        }
        assert!(matches!(push(&mut Ticket::default()), Pushed::Full));
        // What was not used comes back.
        queue.publish_staged(&mut Mails::default(), leased, 0);
        assert!(matches!(push(&mut Ticket::default()), Pushed::In { .. }));
    }
}
