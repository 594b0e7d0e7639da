//! The mail of one sender group: the local senders of an actor, or one session (a lane).
//!
//! Mail lies in chunks. Senders fill the last chunk; the actor takes the first one whole, so it
//! pays one lock per chunk, and the chunk it gives back is filled again: no allocation in steady
//! state. A lane's reader fills chunks of its own, with calls as they came, and publishes them
//! together: the actor decodes each one when its turn has come.

use std::collections::VecDeque;
use std::sync::PoisonError;
use std::task::Waker;

use wigwag_wire::call::Calls;

use crate::chunks::Chunks;
use crate::error::CallErrorKind;
use crate::limits::{RUN_CALLS_MAX, SPARE_BYTES_MAX};
use crate::mails::{Asker, Mails};
use crate::options::WhenFull;
use crate::parked::{Parked, Ticket, Wakers};
use crate::sync::{Mutex, MutexGuard};

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
    /// Calls that may wait; a lane is bounded by credit instead, which its owner checks.
    capacity: usize,
}

struct State<M> {
    /// A call that came when none waited: it goes before those in `chunks`. Who sends one thing at a
    /// time needs no chunk at all.
    first: Option<(M, Asker)>,
    chunks: Chunks<M>,
    /// Calls here, and places that turns have leased.
    waiting: usize,
    /// The mailbox knows that there is mail.
    listed: bool,
    /// Nothing is let in any more.
    closed: bool,
    /// Nothing is handled any more.
    over: bool,
    when_full: WhenFull,
    /// From the first call on that found no room.
    crowd: Option<Box<Crowd>>,
}

/// What there is to remember of calls without room.
#[derive(Default)]
struct Crowd {
    parked: Parked,
    /// Calls that were dropped.
    dropped: u64,
}

impl<M> State<M> {
    fn crowd(&mut self) -> &mut Crowd {
        self.crowd.get_or_insert_default()
    }

    /// True when `room` suffices for everybody before the holder of `ticket` and for him.
    #[inline]
    fn may_pass(&self, ticket: &Ticket, room: u64) -> bool {
        match &self.crowd {
            None => room > 0,
            Some(crowd) => crowd.parked.may_pass(ticket, room),
        }
    }

    /// The sender has passed or gives up.
    #[inline]
    fn leave(&mut self, ticket: &mut Ticket) {
        if let Some(crowd) = &mut self.crowd {
            crowd.parked.leave(ticket);
        }
    }

    /// Those for whom `room` suffices.
    fn wakers(&self, room: usize) -> Option<Wakers> {
        self.crowd.as_ref().map(|crowd| crowd.parked.wakers(room as u64))
    }

    /// Everybody who waits; nobody does any more.
    fn drain_parked(&mut self) -> Vec<Waker> {
        self.crowd.as_mut().map(|crowd| crowd.parked.drain()).unwrap_or_default()
    }

    /// True when the mailbox must list the queue.
    fn push(&mut self, message: M, asker: Asker) -> bool {
        match self.chunks.last() {
            Some(Chunk::Mails(last)) if last.len() < RUN_CALLS_MAX => last.push(message, asker),
            None if self.first.is_none() => self.first = Some((message, asker)),
            _ => {
                let mut mails = self.chunks.empty_mails();
                mails.push(message, asker);
                self.chunks.push_last(Chunk::Mails(mails));
            }
        }
        self.waiting += 1;
        !std::mem::replace(&mut self.listed, true)
    }

    /// So many calls were taken out; true when there are more.
    fn took(&mut self, calls: usize) -> bool {
        self.waiting -= calls;
        self.listed = !self.chunks.is_empty();
        self.listed
    }

    /// The first chunk; the call that goes before all chunks is one by itself.
    fn pop_chunk(&mut self) -> Option<Chunk<M>> {
        let Some((message, asker)) = self.first.take() else { return self.chunks.pop_first() };
        let mut mails = self.chunks.empty_mails();
        mails.push(message, asker);
        Some(Chunk::Mails(mails))
    }

    /// The local call that waits longest.
    fn pop_oldest(&mut self) -> Option<(M, Asker)> {
        if let Some(first) = self.first.take() {
            self.waiting -= 1;
            return Some(first);
        }
        let Some(Chunk::Mails(first)) = self.chunks.first() else { return None };
        let oldest = first.pop_first()?;
        self.waiting -= 1;
        if first.is_empty() {
            self.chunks.pop_first();
        }
        Some(oldest)
    }
}

impl<M> Queue<M> {
    pub(crate) fn new(capacity: usize, when_full: WhenFull) -> Queue<M> {
        let state = State {
            first: None,
            chunks: Chunks::new(),
            waiting: 0,
            listed: false,
            closed: false,
            over: false,
            when_full,
            crowd: None,
        };
        Queue { state: Mutex::new(state), capacity }
    }

    /// Takes the message out of its `Option` when it is let in. One lock, no allocation in
    /// steady state. `lost` hears of a tell that is dropped for want of room.
    pub(crate) fn push(
        &self,
        message: &mut Option<M>,
        asker: Asker,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
        lost: impl FnOnce(&M),
    ) -> Pushed {
        let mut state = self.lock();
        if state.closed {
            return Pushed::Closed;
        }
        let room = self.capacity.saturating_sub(state.waiting) as u64;
        if !state.may_pass(ticket, room) {
            return self.push_full(state, message, asker, ticket, waker, lost);
        }
        let Some(message) = message.take() else {
            return Pushed::In { list: false };
        };
        let list = state.push(message, asker);
        state.leave(ticket);
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
        lost: impl FnOnce(&M),
    ) -> Pushed {
        let (dropped, list) = match state.when_full {
            WhenFull::Refuse => return Pushed::Refused,
            WhenFull::Wait => {
                if let Some(waker) = waker {
                    state.crowd().parked.park(ticket, waker);
                }
                return Pushed::Full;
            }
            WhenFull::DropOldest => match (state.pop_oldest(), message.take()) {
                (Some(oldest), Some(message)) => (Some(oldest), state.push(message, asker)),
                (oldest, message) => (oldest.or(message.map(|message| (message, asker))), false),
            },
            WhenFull::DropNewest => (message.take().map(|message| (message, asker)), false),
        };
        state.crowd().dropped += u64::from(dropped.is_some());
        // Outside the lock: the message may do anything when it is dropped.
        drop(state);
        match dropped {
            Some((_, Some(asker))) => {
                let why = "the call was dropped: no room for it";
                asker.fail(CallErrorKind::Overloaded, Some(why));
            }
            Some((message, None)) => lost(&message),
            None => {}
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
            match state.chunks.last() {
                Some(Chunk::Mails(last)) if last.len() + mails.len() <= RUN_CALLS_MAX => {
                    last.append(mails);
                }
                _ => {
                    let empty = state.chunks.empty_mails();
                    state.chunks.push_last(Chunk::Mails(std::mem::replace(mails, empty)));
                }
            }
            list = !std::mem::replace(&mut state.listed, true);
        }
        let room = self.capacity.saturating_sub(state.waiting);
        let parked = state.crowd.as_ref().map_or(0, |crowd| crowd.parked.len());
        // Who stands in the queue finds the place that he needs, and others find some too.
        let leased = want.min(room.saturating_sub(parked).div_ceil(4));
        state.waiting += leased;
        let woken = if unused > 0 { state.wakers(room) } else { None };
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
        chunks.drain(..).for_each(|chunk| state.chunks.push_last(chunk));
        Pushed::In { list: !std::mem::replace(&mut state.listed, true) }
    }

    /// Takes the oldest call out again.
    pub(crate) fn withdraw(&self) -> Option<(M, Asker)> {
        self.lock().pop_oldest()
    }

    /// Empty chunks for the reader of a lane.
    pub(crate) fn take_spare(&self, into: &mut Vec<Chunk<M>>) {
        self.lock().chunks.take_empty(into);
    }

    /// The call that came when none waited, for the actor; `None` when it was taken. `true`: more is
    /// waiting, list the queue again.
    #[inline]
    pub(crate) fn take_first(&self) -> Option<(M, Asker, bool)> {
        let mut state = self.lock();
        let (message, asker) = state.first.take()?;
        let more = state.took(1);
        let woken = state.wakers(self.capacity.saturating_sub(state.waiting));
        drop(state);
        woken.into_iter().for_each(Wakers::wake);
        Some((message, asker, more))
    }

    /// The first chunk, for the actor. `true`: more is waiting, list the queue again.
    pub(crate) fn take(&self) -> Option<(Chunk<M>, bool)> {
        let mut state = self.lock();
        let Some(chunk) = state.pop_chunk() else {
            state.listed = false;
            return None;
        };
        let more = state.took(chunk.calls());
        let woken = state.wakers(self.capacity.saturating_sub(state.waiting));
        drop(state);
        woken.into_iter().for_each(Wakers::wake);
        Some((chunk, more))
    }

    /// Gives an emptied chunk back.
    pub(crate) fn give_back(&self, mut chunk: Chunk<M>) {
        if !chunk.clear() {
            return;
        }
        let mut state = self.lock();
        // Nobody fills a queue that is closed.
        let too_many = if state.closed { Some(chunk) } else { state.chunks.keep(chunk) };
        drop(state);
        drop(too_many);
    }

    /// A parked sender gives up.
    pub(crate) fn leave(&self, ticket: &mut Ticket) {
        let mut state = self.lock();
        state.leave(ticket);
        let woken = state.wakers(self.capacity.saturating_sub(state.waiting));
        drop(state);
        woken.into_iter().for_each(Wakers::wake);
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
        if let Some((message, asker)) = state.first.take() {
            let mut mails = state.chunks.empty_mails();
            mails.push(message, asker);
            state.chunks.push_first(Chunk::Mails(mails));
        }
        state.chunks.push_first(chunk);
        Ok(!std::mem::replace(&mut state.listed, true))
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Calls that wait, and places that turns have leased.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting
    }

    /// What becomes of a call that finds no room.
    pub(crate) fn when_full(&self) -> WhenFull {
        self.lock().when_full
    }

    /// Calls that were dropped because there was no room.
    pub(crate) fn dropped(&self) -> u64 {
        self.lock().crowd.as_ref().map_or(0, |crowd| crowd.dropped)
    }

    /// Lets nothing in any more and wakes everybody who waits; what is in stays.
    pub(crate) fn seal(&self) {
        let mut state = self.lock();
        state.closed = true;
        let parked = state.drain_parked();
        drop(state);
        parked.into_iter().for_each(Waker::wake);
    }

    /// Lets nothing in any more, wakes everybody who waits, and hands out what was waiting.
    pub(crate) fn close(&self) -> VecDeque<Chunk<M>> {
        let mut state = self.lock();
        (state.closed, state.over) = (true, true);
        state.waiting = 0;
        let first = state.first.take().map(|first| Chunk::Mails([first].into_iter().collect()));
        let mut left = state.chunks.take_all();
        first.into_iter().for_each(|first| left.push_front(first));
        let parked = state.drain_parked();
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
        let queue = Queue::new(8, WhenFull::Wait);
        let push = |ticket: &mut Ticket| {
            queue.push(&mut Some(7), None, ticket, Some(Waker::noop()), |_| {})
        };
        for _ in 0..8 {
            assert!(matches!(push(&mut Ticket::default()), Pushed::In { .. }));
        }
        let mut waiting = [Ticket::default(), Ticket::default()];
        for ticket in &mut waiting {
            assert!(matches!(push(ticket), Pushed::Full));
        }
        // The first, and the chunk behind it.
        assert!(queue.take().is_some() && queue.take().is_some());
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
