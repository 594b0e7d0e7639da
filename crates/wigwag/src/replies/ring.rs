//! The asks of one pipeline, shared by the asker and the reader of the connection.
//!
//! Asks are numbered from 0 on, and ask n has place n modulo the ring's size: its slot says which
//! ask it may be, and its generation says which one it is. The asker counts what he sends, the
//! reader lays down what has come; they meet once for many answers.

use std::sync::{Arc, PoisonError};
use std::task::{Poll, Waker};

use wigwag_actor::CallErrorKind;
use wigwag_actor::answers::Answers;

use crate::sync::{AtomicBool, AtomicU64, Mutex, MutexGuard, Ordering};

/// Why no answer will come any more.
pub(crate) type RingEnd = (CallErrorKind, Arc<str>);

/// A ring of slots.
pub(crate) struct Ring {
    /// The number of the first slot.
    first: u32,
    /// There are 2 to the power of this many.
    bits: u32,
    /// The generation of the first asks.
    generation: u32,
    /// Asks that were sent. Written before an ask is published, so whoever has read an answer from
    /// the connection sees that it was asked for.
    sent: AtomicU64,
    /// The slots are somebody else's.
    closed: AtomicBool,
    shared: Mutex<RingState>,
}

struct RingState {
    answers: Answers,
    /// Asks whose answers were laid down.
    answered: u64,
    waker: Option<Waker>,
    end: Option<RingEnd>,
    /// Asks from this one on have certainly not reached anybody.
    unsent: u64,
    /// The asker went away.
    is_abandoned: bool,
}

/// What the reader must do after it has laid answers down.
#[derive(Default)]
pub(crate) struct PublishOutcome {
    /// Who waited for them.
    pub(crate) waker: Option<Waker>,
    /// The asker went away, and these were the last: the slots are free.
    pub(crate) is_free: bool,
}

impl Ring {
    /// Of 2 to the power of `bits` slots, which were asked from before `generation` only.
    pub(crate) fn new(first: u32, bits: u32, generation: u32) -> Ring {
        let answers = Answers::default();
        let (waker, end, unsent) = (None, None, u64::MAX);
        let shared = RingState { answers, answered: 0, waker, end, unsent, is_abandoned: false };
        Ring {
            first,
            bits,
            generation,
            sent: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            shared: Mutex::new(shared),
        }
    }

    /// The number of its first slot.
    pub(crate) fn first(&self) -> u32 {
        self.first
    }

    /// How many slots there are.
    pub(crate) fn slots(&self) -> u32 {
        1 << self.bits
    }

    /// Whether a slot is one of these.
    #[inline(always)]
    pub(crate) fn contains(&self, slot: u32) -> bool {
        slot.wrapping_sub(self.first) >> self.bits == 0
    }

    /// Slot and generation of ask `number`.
    #[inline(always)]
    pub(crate) fn asker(&self, number: u64) -> (u32, u32) {
        let place = number as u32 & (self.slots() - 1);
        (self.first + place, self.generation.wrapping_add((number >> self.bits) as u32))
    }

    /// A generation behind those of all asks that were sent.
    pub(crate) fn next_generation(&self) -> u32 {
        let rounds = self.sent().div_ceil(u64::from(self.slots()));
        self.generation.wrapping_add(rounds as u32)
    }

    /// Asks behind `number` whose slots follow its own, one after the other.
    pub(crate) fn slots_to_end(&self, number: u64) -> usize {
        (self.slots() - 1 - (number as u32 & (self.slots() - 1))) as usize
    }

    /// The first ask from `from` on that has this slot.
    pub(crate) fn number(&self, slot: u32, from: u64) -> u64 {
        let ahead = slot.wrapping_sub(self.asker(from).0) & (self.slots() - 1);
        from + u64::from(ahead)
    }

    /// Asks before `number` are sent.
    #[inline(always)]
    pub(crate) fn set_sent(&self, number: u64) {
        self.sent.store(number, Ordering::Release);
    }

    /// The same, unless more are known to be sent: the asker may be ahead on another thread.
    pub(crate) fn raise_sent(&self, number: u64) {
        self.sent.fetch_max(number, Ordering::AcqRel);
    }

    /// Asks that were sent.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Acquire)
    }

    /// Asks that somebody waits for.
    pub(crate) fn waiting(&self) -> usize {
        let shared = self.shared();
        if shared.is_abandoned { 0 } else { (self.sent() - shared.answered) as usize }
    }

    /// Takes the answers that have come, or has `waker` woken when some come. When none will come
    /// any more, why ask `next` has none.
    pub(crate) fn poll(
        &self,
        next: u64,
        into: &mut Answers,
        waker: &Waker,
    ) -> Poll<Result<(), RingEnd>> {
        let mut shared = self.shared();
        if !shared.answers.is_empty() {
            into.take_from(&mut shared.answers);
            return Poll::Ready(Ok(()));
        }
        if let Some((kind, why)) = &shared.end {
            let kind = if next < shared.unsent { *kind } else { CallErrorKind::NotDelivered };
            return Poll::Ready(Err((kind, why.clone())));
        }
        if !shared.waker.as_ref().is_some_and(|old| old.will_wake(waker)) {
            shared.waker = Some(waker.clone());
        }
        Poll::Pending
    }

    /// The answers of all asks before `answered` are there: those that were not yet, in `answers`.
    pub(crate) fn publish(&self, answers: &mut Answers, answered: u64) -> PublishOutcome {
        let mut shared = self.shared();
        shared.answered = answered;
        if shared.is_abandoned {
            answers.clear();
            return PublishOutcome { waker: None, is_free: answered == self.sent() };
        }
        shared.answers.take_from(answers);
        PublishOutcome { waker: shared.waker.take(), is_free: false }
    }

    /// The session has ended, and what was asked from there on has never left.
    pub(crate) fn mark_unsent_from(&self, (slot, generation): (u32, u32)) {
        let round = u64::from(generation.wrapping_sub(self.generation));
        let number = round << self.bits | u64::from(slot.wrapping_sub(self.first));
        let mut shared = self.shared();
        shared.unsent = shared.unsent.min(number);
    }

    /// No answers will come any more; gives who waits for one.
    pub(crate) fn end(&self, end: &RingEnd) -> Option<Waker> {
        let mut shared = self.shared();
        shared.end.get_or_insert_with(|| end.clone());
        shared.waker.take()
    }

    /// The asker goes away. True: the slots are free at once; otherwise they are when the last
    /// answer has come.
    pub(crate) fn abandon(&self) -> bool {
        let mut shared = self.shared();
        shared.is_abandoned = true;
        shared.waker = None;
        shared.answers = Answers::default();
        shared.answered == self.sent()
    }

    /// The slots are somebody else's from now on.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// True after [`close`](Self::close).
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    fn shared(&self) -> MutexGuard<'_, RingState> {
        // Whole between two statements, so a panic elsewhere has broken nothing.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
