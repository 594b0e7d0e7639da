//! The reader's side of pipelines: stores their answers in order.
//!
//! State that only the reader needs is here without a lock: the next ask of each ring to be
//! answered, and the answers that came early. The answers of a batch are handed over together at
//! its end.

use std::collections::BTreeMap;
use std::sync::Arc;

use wigwag_actor::CallErrorKind;
use wigwag_actor::reference::answers::{AnswerOutcome, Answers, SHORT_BYTES_MAX};
use wigwag_link::recv_half::ReplyRun;
use wigwag_wire::run::ITEM_BYTES_MAX;

use crate::replies::ask_origin::AskOrigin;
use crate::replies::asks::AskTable;
use crate::replies::ring::Ring;
use crate::session::Session;

/// The reader's side of all rings of a session.
#[derive(Default)]
pub(crate) struct PipelinedReplies {
    /// Rings that have had answers; the last one used is the first.
    rings: Vec<RingFill>,
    /// Asks that have failed in this batch, with their channel and the kind of the error.
    failed: Vec<(AskOrigin, CallErrorKind)>,
    /// The first `dirty` rings hold answers that were not handed over.
    dirty: usize,
}

/// The reader's side of one ring.
struct RingFill {
    ring: Arc<Ring>,
    /// Asks that were sent when this batch was read.
    sent: u64,
    /// The ask whose answer is expected next.
    next: u64,
    ready: Answers,
    /// Answers that came before their turn.
    early: BTreeMap<u64, AnswerOutcome>,
    /// Kinds of the errors in `ready` that are not counted yet.
    failed: Vec<CallErrorKind>,
}

impl RingFill {
    fn new(ring: Arc<Ring>) -> RingFill {
        let sent = ring.sent();
        RingFill {
            ring,
            sent,
            next: 0,
            ready: Answers::default(),
            early: BTreeMap::new(),
            failed: Vec::new(),
        }
    }

    /// Stores the answer to an ask, which is the expected one nearly always. False if there is no
    /// such ask.
    #[inline(always)]
    fn complete(&mut self, asker: (u32, u32), value: &[u8]) -> bool {
        if asker == self.ring.asker(self.next) && self.next < self.sent && self.early.is_empty() {
            self.ready.push(value);
            self.next += 1;
            return true;
        }
        self.complete_any(asker, Ok(bytes::Bytes::copy_from_slice(value)))
    }

    /// Stores answers to consecutive asks. False if one of the asks does not exist.
    fn complete_run(&mut self, run: &ReplyRun<'_>) -> bool {
        let last = self.next + u64::from(run.count) - 1;
        let in_turn = (run.slot, run.generation) == self.ring.asker(self.next)
            && (run.slot + run.count - 1, run.generation) == self.ring.asker(last);
        if in_turn && last < self.sent && self.early.is_empty() {
            // A run has the layout of the stored answers.
            const { assert!(ITEM_BYTES_MAX <= SHORT_BYTES_MAX) };
            self.ready.push_all(run.values.rest());
            self.next = last + 1;
            return true;
        }
        (run.slot..).zip(run.values).all(|(slot, value)| {
            self.ring.contains(slot) && self.complete((slot, run.generation), value)
        })
    }

    /// Stores an answer in any order. False if there is no such ask.
    #[cold]
    fn complete_any(&mut self, (slot, generation): (u32, u32), outcome: AnswerOutcome) -> bool {
        let number = self.ring.number(slot, self.next);
        if number >= self.sent || self.ring.asker(number) != (slot, generation) {
            return false;
        }
        if self.early.insert(number, outcome).is_some() {
            return false;
        }
        while let Some(outcome) = self.early.remove(&self.next) {
            match outcome {
                Ok(value) => self.ready.push(&value),
                Err(failure) => {
                    self.failed.push(failure.0);
                    self.ready.push_aside(Err(failure));
                }
            }
            self.next += 1;
        }
        true
    }
}

impl PipelinedReplies {
    /// Stores the value of an ask whose slot belongs to a ring. False if there is no such ask.
    #[inline(always)]
    pub(crate) fn complete(&mut self, asks: &AskTable, asker: (u32, u32), value: &[u8]) -> bool {
        match self.fill_for(asks, asker.0) {
            Some(fill) => fill.complete(asker, value),
            None => false,
        }
    }

    /// Stores the values of asks in consecutive slots. False if one of the asks does not exist.
    pub(crate) fn complete_run(&mut self, asks: &AskTable, run: &ReplyRun<'_>) -> bool {
        let fill = self.fill_for(asks, run.slot);
        fill.is_some_and(|fill| fill.complete_run(run))
    }

    /// Stores the failure of an ask. False if there is no such ask.
    pub(crate) fn fail(
        &mut self,
        asks: &AskTable,
        asker: (u32, u32),
        outcome: AnswerOutcome,
    ) -> bool {
        let fill = self.fill_for(asks, asker.0);
        fill.is_some_and(|fill| fill.complete_any(asker, outcome))
    }

    #[inline(always)]
    fn fill_for(&mut self, asks: &AskTable, slot: u32) -> Option<&mut RingFill> {
        let is_first =
            self.dirty > 0 && self.rings.first().is_some_and(|it| it.ring.contains(slot));
        if !is_first {
            self.bring_to_front(asks, slot)?;
        }
        self.rings.first_mut()
    }

    /// Moves the ring of `slot` to the front.
    #[cold]
    fn bring_to_front(&mut self, asks: &AskTable, slot: u32) -> Option<()> {
        let matches = |it: &RingFill| it.ring.contains(slot) && !it.ring.is_closed();
        match self.rings.iter().position(matches) {
            Some(at) => {
                let is_dirty = at < self.dirty;
                let mut fill = self.rings.remove(at);
                fill.sent = fill.ring.sent();
                self.rings.insert(0, fill);
                self.dirty += usize::from(!is_dirty);
            }
            None => {
                self.rings.insert(0, RingFill::new(asks.rings.find(slot)?));
                self.dirty += 1;
            }
        }
        Some(())
    }

    /// Hands the answers of the batch over to their askers.
    #[inline]
    pub(crate) fn publish(&mut self, session: &Session) {
        if self.dirty > 0 {
            self.publish_now(session);
        }
    }

    #[inline(never)]
    fn publish_now(&mut self, session: &Session) {
        for fill in &mut self.rings[..self.dirty] {
            let origin = fill.ring.origin();
            self.failed.extend(fill.failed.drain(..).map(|kind| (origin, kind)));
            let published = fill.ring.publish(&mut fill.ready, fill.next);
            if published.is_free {
                session.close_ring(&fill.ring);
            }
            if let Some(waker) = published.waker {
                waker.wake();
            }
        }
        if !self.failed.is_empty() {
            session.sending().asks_failed(self.failed.drain(..));
        }
        self.dirty = 0;
        self.rings.retain(|fill| !fill.ring.is_closed());
    }
}

#[cfg(all(test, not(wigwag_loom)))]
mod tests {
    use super::*;
    use std::task::{Poll, Waker};
    use wigwag_actor::reference::answers::TakenAnswer;

    /// A table with a ring of 64 slots that has sent `sent` asks, and the reader's side of it.
    fn ring(sent: u64) -> (AskTable, Arc<Ring>, PipelinedReplies) {
        let asks = AskTable::new(1 << 16);
        let ring = asks.open_ring(64).expect("there is room");
        ring.set_sent(sent);
        (asks, ring, PipelinedReplies::default())
    }

    /// Hands over the stored answers and takes them as the asker does.
    fn take(replies: &mut PipelinedReplies, ring: &Ring) -> Vec<AnswerOutcome> {
        let fill = &mut replies.rings[0];
        ring.publish(&mut fill.ready, fill.next);
        let (mut answers, mut taken) = (Answers::default(), Vec::new());
        if let Poll::Ready(Ok(())) = ring.poll(0, &mut answers, Waker::noop()) {
            while let Some(one) = answers.take() {
                taken.push(match one {
                    TakenAnswer::Short(value) => Ok(value.to_vec().into()),
                    TakenAnswer::Aside(outcome) => outcome,
                });
            }
        }
        taken
    }

    #[test]
    fn answers_that_come_before_their_turn_wait_for_it() {
        let (asks, ring, mut replies) = ring(200);
        let failure = || Err((CallErrorKind::Panicked, "".into()));
        for number in [0, 3, 2_u64] {
            assert!(replies.complete(&asks, ring.asker(number), &[number as u8]));
        }
        assert_eq!(take(&mut replies, &ring), [Ok(vec![0].into())]);
        assert!(replies.fail(&asks, ring.asker(4), failure()));
        assert!(replies.complete(&asks, ring.asker(1), &[1]));
        let expected: [AnswerOutcome; 4] =
            [Ok(vec![1].into()), Ok(vec![2].into()), Ok(vec![3].into()), failure()];
        assert_eq!(take(&mut replies, &ring), expected);
        for number in 5..200 {
            assert!(replies.complete(&asks, ring.asker(number), &[7; 9]), "{number}");
        }
        assert_eq!(take(&mut replies, &ring).len(), 195);
    }

    #[test]
    fn an_answer_without_an_ask_is_rejected() {
        let (asks, ring, mut replies) = ring(70);
        let (slot, generation) = ring.asker(0);
        assert!(!replies.complete(&asks, (slot, generation + 1), b"one lap ahead"));
        assert!(!replies.complete(&asks, ring.asker(70), b"not asked yet"));
        assert!(replies.complete(&asks, ring.asker(1), b"early"));
        assert!(!replies.complete(&asks, ring.asker(1), b"twice"));
        assert!(replies.complete(&asks, ring.asker(0), b"in its turn"));
        assert!(!replies.complete(&asks, ring.asker(0), b"again"));
        assert!(!replies.complete(&asks, ring.asker(1), b"again"));
        assert!(!replies.complete(&asks, (slot - 1, 0), b"no ring"));
    }

    /// The unsent asks are the last ones, even if they wrap around the ring.
    #[test]
    fn a_session_that_ends_gives_each_ask_its_exact_outcome() {
        for unsent in [0, 63, 64, 130, 200] {
            let (asks, ring, _) = ring(200);
            for number in [199, unsent].into_iter().filter(|number| *number < 200) {
                asks.mark_unsent_from(ring.asker(number));
            }
            asks.fail_all(|| Box::new((CallErrorKind::Unknown, "it ended".into())));
            for next in 0..200 {
                let outcome = ring.poll(next, &mut Answers::default(), Waker::noop());
                let Poll::Ready(Err((kind, _))) = outcome else { panic!("{next} is awaited") };
                let never_left = next >= unsent.min(199);
                assert_eq!(kind == CallErrorKind::NotDelivered, never_left, "{next} of {unsent}");
                assert_eq!(kind == CallErrorKind::Unknown, !never_left, "{next} of {unsent}");
            }
        }
    }

    #[test]
    fn released_slots_serve_later_rings() {
        let (asks, first, mut replies) = ring(0);
        let floor = asks.rings.floor();
        let second = asks.open_ring(64).expect("there is room");
        assert!(first.abandon().is_empty(), "nothing was asked");
        asks.close_ring(&first);
        assert_eq!(asks.rings.floor(), floor - 64, "one below is in use");
        let third = asks.open_ring(64).expect("there is room");
        assert_eq!(third.first(), first.first());
        third.set_sent(1);
        assert!(replies.complete(&asks, third.asker(0), b"to the living one"));
        assert!(second.abandon().is_empty());
        asks.close_ring(&second);
        assert_eq!(asks.rings.floor(), floor);
        assert!(!third.abandon().is_empty(), "an answer is ready down and was not handed over");
        let fill = &mut replies.rings[0];
        assert!(third.publish(&mut fill.ready, fill.next).is_free);
        asks.close_ring(&third);
        assert_eq!(asks.rings.floor() as usize, 1 << 16);
    }
}
