//! The incarnations of an actor that one reference is attached to in turn, as a pure state machine.
//!
//! Each incarnation has a number, which the slots of its asks carry, so that an answer of an earlier
//! incarnation never reaches an ask of a later one. Between two incarnations, senders wait in a
//! queue of this reference. Tickets carry the tag of their queue: a sender that comes back with a
//! ticket of an earlier queue has no place any more.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use wigwag_actor::lifecycle::end_watchers::{EndWatcher, EndWatchers, NotWatched};
use wigwag_actor::{Disconnection, NextAttempt, Parked, Slot, Ticket};
use wigwag_wire::Time;

use crate::limits::{ASKS_MAX, FORMER_INCARNATIONS_MAX};

/// The bits of a slot's index that an ask needs; those above hold the incarnation.
const INDEX_BITS: u32 = 22;

/// Incarnations whose slots differ. An answer would have to be left alone for as many restarts to
/// be taken for another.
const NUMBERS: u32 = 1 << (u32::BITS - INDEX_BITS);

const _: () = assert!(ASKS_MAX <= 1 << INDEX_BITS, "every slot has its own index");

/// The state of a reference that attaches anew. `R` is the route to one incarnation.
pub(crate) struct Attachments<R> {
    /// The number of the present incarnation, or else of the last one.
    number: u32,
    state: State<R>,
    /// Earlier incarnations, which may have answers that nobody has taken yet; the oldest first.
    former: VecDeque<(u32, R)>,
    /// Told when all is over.
    end_watchers: EndWatchers,
}

enum State<R> {
    Attached(R),
    Detached(Outage),
    /// There will be no other incarnation.
    Over(Arc<str>),
}

/// The time between two incarnations.
struct Outage {
    since: Time,
    /// Why the last attempt has failed; before the first one, why the session has ended.
    why: Arc<str>,
    /// The time of the next attempt; `None` during one.
    next_attempt: Option<Time>,
    parked: Parked,
}

/// Where a call goes now.
pub(crate) enum Way<'a, R> {
    /// To this incarnation.
    Attached(u32, &'a R),
    /// Nowhere yet.
    Detached,
    /// Nowhere any more, for this reason.
    Over(&'a Arc<str>),
}

impl<R> Attachments<R> {
    pub(crate) fn new(first: R) -> Attachments<R> {
        Attachments {
            number: 0,
            state: State::Attached(first),
            former: VecDeque::new(),
            end_watchers: EndWatchers::default(),
        }
    }

    #[inline]
    pub(crate) fn way(&self) -> Way<'_, R> {
        match &self.state {
            State::Attached(route) => Way::Attached(self.number, route),
            State::Detached(_) => Way::Detached,
            State::Over(why) => Way::Over(why),
        }
    }

    /// The route to the present incarnation, or else to the last one.
    pub(crate) fn last(&self) -> Option<&R> {
        match &self.state {
            State::Attached(route) => Some(route),
            State::Detached(_) | State::Over(_) => self.former.back().map(|(_, route)| route),
        }
    }

    /// The present tag of tickets.
    #[inline]
    pub(crate) fn tag(&self) -> u16 {
        (self.number.wrapping_mul(2) + u32::from(!matches!(self.state, State::Attached(_)))) as u16
    }

    /// The tag of tickets that wait at the next incarnation.
    pub(crate) fn next_tag(&self) -> u16 {
        self.number.wrapping_add(1).wrapping_mul(2) as u16
    }

    /// The slot of an ask at incarnation `number`, as the caller sees it.
    #[inline]
    pub(crate) fn outer_slot(number: u32, slot: Slot) -> Slot {
        let number = number % NUMBERS;
        Slot::new(number << INDEX_BITS | slot.index(), slot.generation())
    }

    /// The route to the incarnation of a slot, and the slot there. `None` if that was too long ago.
    #[inline]
    pub(crate) fn inner_slot(&self, slot: Slot) -> Option<(&R, Slot)> {
        let number = slot.index() >> INDEX_BITS;
        let slot = Slot::new(slot.index() & ((1 << INDEX_BITS) - 1), slot.generation());
        match &self.state {
            State::Attached(route) if self.number % NUMBERS == number => Some((route, slot)),
            _ => {
                let mut former = self.former.iter().rev();
                let (_, route) = former.find(|(former, _)| former % NUMBERS == number)?;
                Some((route, slot))
            }
        }
    }

    /// Notes that incarnation `number` takes no calls any more. False if that is known.
    pub(crate) fn detach(&mut self, number: u32, why: &Arc<str>, now: Time) -> bool {
        if number != self.number || !matches!(self.state, State::Attached(_)) {
            return false;
        }
        let parked = Parked::tagged((number.wrapping_mul(2) + 1) as u16);
        let outage = Outage { since: now, why: why.clone(), next_attempt: None, parked };
        let before = std::mem::replace(&mut self.state, State::Detached(outage));
        if let State::Attached(route) = before {
            if self.former.len() == FORMER_INCARNATIONS_MAX {
                self.former.pop_front();
            }
            self.former.push_back((number, route));
        }
        true
    }

    /// Makes a sender wait for the next incarnation.
    pub(crate) fn park(&mut self, ticket: &mut Ticket, waker: &Waker) {
        ticket.renew(self.tag());
        if let State::Detached(outage) = &mut self.state {
            outage.parked.park(ticket, waker);
        }
    }

    /// Removes a sender that waits for the next incarnation and gives up.
    pub(crate) fn leave(&mut self, ticket: &mut Ticket) {
        ticket.renew(self.tag());
        if let State::Detached(outage) = &mut self.state {
            outage.parked.leave(ticket);
        }
    }

    /// Notes when the next attempt is; `None` when it begins.
    pub(crate) fn plan(&mut self, at: Option<Time>) {
        if let State::Detached(outage) = &mut self.state {
            outage.next_attempt = at;
        }
    }

    /// Notes why an attempt has failed.
    pub(crate) fn failed(&mut self, reason: &str) {
        if let State::Detached(outage) = &mut self.state {
            outage.why = reason.into();
        }
    }

    /// Attaches to the next incarnation, whose route is `route`. Returns the time of the loss of
    /// the last one and the senders to wake; `None` if nothing was lost, or all is over.
    ///
    /// Earlier incarnations that `is_done` says have no answers left are let go.
    pub(crate) fn attach(
        &mut self,
        route: R,
        is_done: impl Fn(&R) -> bool,
    ) -> Option<(Time, Vec<Waker>)> {
        let State::Detached(outage) = &mut self.state else { return None };
        let (since, wakers) = (outage.since, outage.parked.drain());
        self.state = State::Attached(route);
        self.number = self.number.wrapping_add(1);
        self.former.retain(|(_, former)| !is_done(former));
        Some((since, wakers))
    }

    /// Tells `watcher` when all is over.
    pub(crate) fn watch_end(&mut self, number: u64, watcher: EndWatcher) -> Result<(), NotWatched> {
        match self.state {
            State::Attached(_) | State::Detached(_) => self.end_watchers.add(number, watcher),
            State::Over(_) => Err(NotWatched::Ended),
        }
    }

    pub(crate) fn unwatch_end(&mut self, number: u64) {
        drop(self.end_watchers.remove(number));
    }

    /// Ends it all, for this reason. Returns the senders to wake, and the watchers to tell.
    pub(crate) fn end(&mut self, why: &str) -> (Vec<Waker>, EndWatchers) {
        match &mut self.state {
            State::Detached(outage) => {
                let wakers = outage.parked.drain();
                self.state = State::Over(why.into());
                (wakers, std::mem::take(&mut self.end_watchers))
            }
            // The calls to the present incarnation say themselves why they fail.
            State::Attached(_) | State::Over(_) => Default::default(),
        }
    }

    /// Why the actor cannot be called now, if it can be later.
    pub(crate) fn disconnection(&self, now: Time) -> Option<Disconnection> {
        let State::Detached(outage) = &self.state else { return None };
        let next = outage.next_attempt;
        Some(Disconnection {
            why: outage.why.clone(),
            since: now.since(outage.since),
            next_attempt: next.map_or(NextAttempt::UnderWay, |at| NextAttempt::In(at.since(now))),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use wigwag_actor::Reason;

    use super::*;
    use crate::sync::{AtomicU64, Ordering};

    type Named = Attachments<&'static str>;

    fn at(seconds: u64) -> Time {
        Time::START + Duration::from_secs(seconds)
    }

    fn route(attachments: &Named) -> Option<&'static str> {
        match attachments.way() {
            Way::Attached(_, route) => Some(route),
            Way::Detached | Way::Over(_) => None,
        }
    }

    #[test]
    fn an_answer_of_an_earlier_incarnation_never_reaches_an_ask_of_a_later_one() {
        let mut attachments = Named::new("first");
        let slot = Slot::new(5, 7);
        let first = Named::outer_slot(0, slot);
        assert_eq!(attachments.inner_slot(first), Some((&"first", slot)));
        assert!(attachments.detach(0, &"gone".into(), at(1)));
        assert_eq!(attachments.inner_slot(first), Some((&"first", slot)), "the outcome is there");
        assert!(attachments.attach("second", |_| false).is_some());
        let second = Named::outer_slot(1, slot);
        assert_eq!(attachments.inner_slot(first), Some((&"first", slot)));
        assert_eq!(attachments.inner_slot(second), Some((&"second", slot)));
        assert!(attachments.detach(1, &"gone".into(), at(2)));
        assert!(attachments.attach("third", |route| *route == "first").is_some());
        assert_eq!(attachments.inner_slot(first), None, "all its answers were taken");
        assert_eq!(attachments.inner_slot(second), Some((&"second", slot)));
    }

    #[test]
    fn the_last_index_and_the_numbers_of_incarnations_fit_a_slot() {
        let mut attachments = Named::new("one");
        let last = Slot::new(ASKS_MAX as u32 - 1, u32::MAX);
        for number in 0..2 * NUMBERS {
            let slot = Named::outer_slot(number, last);
            assert_eq!(attachments.inner_slot(slot), Some((&"one", last)));
            assert!(attachments.detach(number, &"gone".into(), at(0)));
            assert!(attachments.attach("one", |_| true).is_some());
            assert_eq!(attachments.inner_slot(slot), None);
        }
    }

    #[test]
    fn a_bounded_number_of_earlier_incarnations_is_kept() {
        let mut attachments = Named::new("one");
        let slots: Vec<Slot> = (0..=FORMER_INCARNATIONS_MAX as u32)
            .map(|number| {
                assert!(attachments.detach(number, &"gone".into(), at(0)));
                assert!(attachments.attach("one", |_| false).is_some());
                Named::outer_slot(number, Slot::new(0, 0))
            })
            .collect();
        let is_kept = |slot: &Slot| attachments.inner_slot(*slot).is_some();
        assert!(!is_kept(&slots[0]) && slots[1..].iter().all(is_kept));
    }

    #[test]
    fn only_the_present_incarnation_can_be_lost_and_only_once() {
        let mut attachments = Named::new("first");
        assert!(attachments.attach("early", |_| true).is_none(), "nothing was lost");
        assert!(!attachments.detach(1, &"not yet".into(), at(1)));
        assert!(attachments.detach(0, &"gone".into(), at(1)));
        assert!(!attachments.detach(0, &"again".into(), at(2)));
        let (since, _) = attachments.attach("second", |_| true).expect("it was lost");
        assert_eq!(since, at(1));
        assert!(!attachments.detach(0, &"late".into(), at(3)));
        assert_eq!(route(&attachments), Some("second"));
    }

    #[test]
    fn senders_wait_between_incarnations_with_tickets_of_their_own_queue() {
        let mut attachments = Named::new("first");
        let mut there = Parked::tagged(attachments.tag());
        let (mut one, mut two) = (Ticket::default(), Ticket::default());
        there.park(&mut one, Waker::noop());
        assert!(attachments.detach(0, &"gone".into(), at(1)));
        attachments.park(&mut two, Waker::noop());
        attachments.park(&mut one, Waker::noop());
        attachments.park(&mut one, Waker::noop());
        let next = attachments.next_tag();
        let (_, wakers) = attachments.attach("second", |_| true).expect("it was lost");
        assert_eq!(wakers.len(), 2);
        assert_eq!(attachments.tag(), next);
        one.renew(attachments.tag());
        assert!(!one.is_parked());
        attachments.leave(&mut two);
        assert!(!two.is_parked());
    }

    #[test]
    fn a_sender_or_watcher_that_gives_up_hears_nothing_and_the_others_hear_of_the_end() {
        let mut attachments = Named::new("first");
        let (mut one, mut two) = (Ticket::default(), Ticket::default());
        let told = Arc::new(AtomicU64::new(0));
        let watcher = || -> EndWatcher {
            let told = told.clone();
            Box::new(move |_| {
                told.fetch_add(1, Ordering::Relaxed);
            })
        };
        attachments.watch_end(1, watcher()).unwrap();
        attachments.watch_end(2, watcher()).unwrap();
        let (woken, early) = attachments.end("too early");
        early.tell(&Reason::Unknown);
        assert_eq!((woken.len(), told.load(Ordering::Relaxed)), (0, 0));
        assert_eq!(route(&attachments), Some("first"));
        assert!(attachments.detach(0, &"gone".into(), at(1)));
        attachments.park(&mut one, Waker::noop());
        attachments.park(&mut two, Waker::noop());
        attachments.leave(&mut one);
        attachments.watch_end(3, watcher()).unwrap();
        attachments.unwatch_end(2);
        let (woken, end_watchers) = attachments.end("this node is closed");
        end_watchers.tell(&Reason::Unknown);
        assert_eq!((woken.len(), told.load(Ordering::Relaxed)), (1, 2));
        assert_eq!(attachments.watch_end(4, watcher()), Err(NotWatched::Ended));
        assert!(matches!(attachments.way(), Way::Over(why) if &**why == "this node is closed"));
        assert!(attachments.attach("late", |_| true).is_none());
        assert!(attachments.disconnection(at(9)).is_none(), "there is no next attempt");
    }

    #[test]
    fn an_outage_has_its_last_reason_its_length_and_the_next_attempt() {
        let mut attachments = Named::new("first");
        assert!(attachments.disconnection(at(0)).is_none());
        assert!(attachments.detach(0, &"the session is over".into(), at(1)));
        let of = |attachments: &Named, now| {
            let gone = attachments.disconnection(at(now)).expect("there is an outage");
            (gone.why.to_string(), gone.since.as_secs(), gone.next_attempt)
        };
        let before = of(&attachments, 2);
        assert_eq!(before, ("the session is over".into(), 1, NextAttempt::UnderWay));
        attachments.failed("nobody listens there");
        attachments.plan(Some(at(7)));
        let next = NextAttempt::In(Duration::from_secs(2));
        assert_eq!(of(&attachments, 5), ("nobody listens there".into(), 4, next));
        attachments.plan(None);
        assert_eq!(of(&attachments, 7).2, NextAttempt::UnderWay);
    }
}
