//! The buffer between the producer of a stream and its consumer: the items that were sent and not
//! taken, and the end of the stream.
//!
//! The consumer takes several items at a time, up to half of what may be queued, so that it takes the
//! lock once for all of them. Items that it has taken and not given to the program count as queued.
//!
//! For a stream that answers a call, in the mailbox it takes the place of an asker's one-shot, so the consumer is told of the fate of
//! the call in the same way as an asker.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use crate::error::CallErrorKind;
use crate::limits::{ITEMS_AHEAD, ITEMS_AHEAD_MAX};
use crate::reply::LocalReply;
use crate::sync::{AtomicU64, Ordering};

/// The end of a stream: clean, or an error.
pub type StreamEnd = Result<(), (CallErrorKind, Option<Box<str>>)>;

/// The next event of a stream: an item or an error; `None` after the end.
pub type NextItem<T> = Option<Result<T, (CallErrorKind, Option<Box<str>>)>>;

/// The outcome of offering an item.
#[derive(Debug)]
pub enum Offered<T> {
    /// It is queued.
    In,
    /// The consumer must take items first.
    Full(T),
    /// The consumer has gone.
    Unwanted(T),
}

#[derive(Debug)]
struct FlowState<T> {
    items: VecDeque<T>,
    /// How many items may be queued.
    ahead: usize,
    end: Option<StreamEnd>,
    /// The consumer has gone, or has seen the end.
    over: bool,
    consumer: Option<Waker>,
    producer: Option<Waker>,
}

/// The shared state of a stream: filled by one producer, emptied by one consumer.
#[derive(Debug)]
pub struct Flow<T> {
    state: Mutex<FlowState<T>>,
    /// Items that the consumer has taken and not given to the program. It grows under the lock only.
    taken: AtomicU64,
}

impl<T> Default for Flow<T> {
    fn default() -> Flow<T> {
        Flow::new()
    }
}

impl<T> Flow<T> {
    /// An empty buffer, with room for [`ITEMS_AHEAD`] items.
    pub fn new() -> Flow<T> {
        Flow {
            state: Mutex::new(FlowState {
                items: VecDeque::new(),
                ahead: ITEMS_AHEAD,
                end: None,
                over: false,
                consumer: None,
                producer: None,
            }),
            taken: AtomicU64::new(0),
        }
    }

    /// Sets how many items may be queued, from 1 to [`ITEMS_AHEAD_MAX`].
    pub fn set_ahead(&self, items: usize) {
        self.lock().ahead = items.clamp(1, ITEMS_AHEAD_MAX);
    }

    /// The number of items that may be sent now.
    pub fn credit(&self) -> usize {
        let state = self.lock();
        if state.is_wanted() { state.ahead.saturating_sub(self.queued(&state)) } else { 0 }
    }

    /// Queues an item if there is credit; otherwise registers `waker`, which is woken when there is
    /// credit or when the consumer has gone.
    pub fn offer(&self, item: T, waker: Option<&Waker>) -> Offered<T> {
        let mut state = self.lock();
        if !state.is_wanted() {
            return Offered::Unwanted(item);
        }
        if self.queued(&state) >= state.ahead {
            if let Some(waker) = waker {
                state.producer = Some(waker.clone());
            }
            return Offered::Full(item);
        }
        state.items.push_back(item);
        let consumer = state.consumer.take();
        drop(state);
        wake(consumer);
        Offered::In
    }

    /// True while a consumer takes the items.
    pub fn is_wanted(&self) -> bool {
        self.lock().is_wanted()
    }

    /// Ready when the consumer has gone.
    pub fn poll_unwanted(&self, waker: &Waker) -> Poll<()> {
        let mut state = self.lock();
        if !state.is_wanted() {
            return Poll::Ready(());
        }
        state.producer = Some(waker.clone());
        Poll::Pending
    }

    /// Ends the stream behind its queued items; only the first end counts.
    pub fn end(&self, end: StreamEnd) {
        let mut state = self.lock();
        if !state.is_wanted() {
            return;
        }
        state.end = Some(end);
        let consumer = state.consumer.take();
        drop(state);
        wake(consumer);
    }

    /// Takes the next item, or the end. `taken` holds the items that the consumer has taken before.
    pub fn poll_next(&self, taken: &mut VecDeque<T>, waker: &Waker) -> Poll<NextItem<T>> {
        if let Some(item) = taken.pop_front() {
            // Relaxed: the lock is taken behind the last one, before a producer that waits is woken.
            self.taken.store(taken.len() as u64, Ordering::Relaxed);
            if taken.is_empty() {
                self.wake_producer(self.lock());
            }
            return Poll::Ready(Some(Ok(item)));
        }
        let mut state = self.lock();
        let count = (state.ahead / 2).max(1).min(state.items.len());
        taken.extend(state.items.drain(..count));
        if let Some(item) = taken.pop_front() {
            self.taken.store(taken.len() as u64, Ordering::Relaxed);
            self.wake_producer(state);
            return Poll::Ready(Some(Ok(item)));
        }
        if state.over {
            return Poll::Ready(None);
        }
        let Some(end) = state.end.take() else {
            state.consumer = Some(waker.clone());
            return Poll::Pending;
        };
        state.over = true;
        Poll::Ready(end.err().map(Err))
    }

    /// Wakes a waiting producer once for many items, when half of what may be queued is gone, or at the
    /// end of the items that were taken together when that was. A waiting
    /// consumer has taken them all.
    fn wake_producer(&self, mut state: MutexGuard<'_, FlowState<T>>) {
        let is_time = self.queued(&state) <= state.ahead / 2;
        let producer = if is_time { state.producer.take() } else { None };
        drop(state);
        wake(producer);
    }

    /// Items that were sent and not given to the program.
    fn queued(&self, state: &FlowState<T>) -> usize {
        state.items.len() + self.taken.load(Ordering::Relaxed) as usize
    }

    /// The consumer goes away: wakes the producer at once and drops the queued items.
    pub fn abandon(&self) {
        let mut state = self.lock();
        state.over = true;
        let left = std::mem::take(&mut state.items);
        let wakers = (state.producer.take(), state.consumer.take());
        drop(state);
        wake(wakers.0);
        // Dropping an item may wake others and may panic: done last and without the lock.
        drop(left);
    }

    fn lock(&self) -> MutexGuard<'_, FlowState<T>> {
        // The state is consistent between any two statements, so a panic elsewhere has broken
        // nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> FlowState<T> {
    fn is_wanted(&self) -> bool {
        !self.over && self.end.is_none()
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

impl<T: Send + 'static> LocalReply for Flow<T> {
    fn is_awaited(&self) -> bool {
        self.is_wanted()
    }

    fn fail(&self, kind: CallErrorKind, detail: Option<&str>) {
        self.end(Err((kind, detail.map(Box::from))));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Takes one item, and leaves the others.
    fn take<T>(flow: &Flow<T>) -> Poll<NextItem<T>> {
        let (mut taken, before) = (VecDeque::new(), flow.lock().ahead);
        flow.lock().ahead = 1;
        let next = flow.poll_next(&mut taken, Waker::noop());
        flow.lock().ahead = before;
        assert!(taken.is_empty());
        next
    }

    #[test]
    fn only_the_first_end_counts_and_it_stands_behind_the_items() {
        let flow = Flow::new();
        assert!(matches!(flow.offer(7, None), Offered::In));
        flow.end(Ok(()));
        flow.fail(CallErrorKind::ReplyDropped, None);
        assert!(matches!(flow.offer(8, None), Offered::Unwanted(8)));
        assert!(matches!(take(&flow), Poll::Ready(Some(Ok(7)))));
        assert!(matches!(take(&flow), Poll::Ready(None)));
        assert!(matches!(take(&flow), Poll::Ready(None)));
    }

    #[test]
    fn an_error_is_told_once() {
        let flow = Flow::<u8>::new();
        flow.fail(CallErrorKind::Panicked, Some("so"));
        let told = take(&flow);
        assert!(matches!(told, Poll::Ready(Some(Err((CallErrorKind::Panicked, Some(_)))))));
        assert!(matches!(take(&flow), Poll::Ready(None)));
    }

    #[test]
    fn no_more_lie_there_than_may() {
        let flow = Flow::new();
        for (asked, ahead) in [(0, 1), (3, 3), (usize::MAX, ITEMS_AHEAD_MAX)] {
            flow.set_ahead(asked);
            assert_eq!(flow.lock().ahead, ahead);
        }
        flow.set_ahead(2);
        assert!(matches!((flow.offer(1, None), flow.offer(2, None)), (Offered::In, Offered::In)));
        assert!(matches!(flow.offer(3, None), Offered::Full(3)));
        assert_eq!(flow.credit(), 0);
        assert!(matches!(take(&flow), Poll::Ready(Some(Ok(1)))));
        assert_eq!(flow.credit(), 1);
    }

    #[test]
    fn items_taken_by_the_consumer_count_until_they_are_given_out() {
        let (flow, mut taken) = (Flow::new(), VecDeque::new());
        flow.set_ahead(8);
        let mut next = 0..;
        for given in 0..100 {
            while let Offered::In = flow.offer(next.start, None) {
                next.next();
            }
            assert_eq!((next.start - given, flow.credit()), (8, 0));
            let item = flow.poll_next(&mut taken, Waker::noop());
            assert!(matches!(item, Poll::Ready(Some(Ok(number))) if number == given));
            assert!(taken.len() < 4, "no more than half are taken together");
        }
    }

    /// A producer that waits is woken when half is gone, and not before.
    #[test]
    fn a_waiting_producer_is_woken_when_half_of_the_items_were_given_out() {
        struct Woken(AtomicU64);
        impl std::task::Wake for Woken {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        for ahead in 1..9 {
            let (flow, mut taken) = (Flow::new(), VecDeque::new());
            let woken = Arc::new(Woken(AtomicU64::new(0)));
            flow.set_ahead(ahead);
            (0..ahead).for_each(|item| assert!(matches!(flow.offer(item, None), Offered::In)));
            assert!(matches!(flow.offer(9, Some(&woken.clone().into())), Offered::Full(9)));
            for given in 1..=ahead {
                assert!(flow.poll_next(&mut taken, Waker::noop()).is_ready());
                let is_time = given >= ahead.div_ceil(2);
                assert_eq!(woken.0.load(Ordering::Relaxed) > 0, is_time, "{given} of {ahead}");
            }
        }
    }

    #[test]
    fn items_in_the_inbox_go_with_the_consumer() {
        let (flow, item) = (Flow::new(), Arc::new(()));
        assert!(matches!(flow.offer(item.clone(), None), Offered::In));
        flow.abandon();
        assert_eq!(Arc::strong_count(&item), 1);
        assert!(matches!(flow.offer(item, None), Offered::Unwanted(_)));
    }
}
