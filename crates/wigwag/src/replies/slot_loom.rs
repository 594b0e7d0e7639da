//! Models every interleaving of an asker and the reader of the connection.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use std::task::Wake;

use super::*;

/// A waker that counts. The model cannot block on a condition, so the tests check that a wake was
/// sent.
struct Woken(AtomicU32);

impl Wake for Woken {
    fn wake(self: std::sync::Arc<Woken>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A slot that two threads share.
struct Shared(HotSlot, ColdSlot);

impl Shared {
    fn new() -> Arc<Shared> {
        Arc::new(Shared(HotSlot::new(), ColdSlot::new()))
    }

    fn slot(&self) -> Slot<'_> {
        Slot { hot: &self.0, cold: &self.1 }
    }
}

fn failure() -> ReplyFailure {
    Box::new((CallErrorKind::Unknown, "gone".into()))
}

/// Answers with five bytes, with many, with a failure, or with as many as both parts of the slot hold.
fn answer(slot: Slot<'_>, generation: u32, how: u8) -> Completion {
    match how {
        0 => slot.complete(generation, b"small"),
        1 => slot.complete(generation, &[7; INLINE_BYTES + 1]),
        3 => slot.complete(generation, &[9; FIRST_BYTES + 8]),
        _ => slot.fail(generation, failure()),
    }
}

fn is_answer(fetched: &FetchedReply, how: u8) -> bool {
    match (how, fetched) {
        (0, Some(Ok(bytes))) => bytes[..] == *b"small",
        (1, Some(Ok(bytes))) => bytes[..] == [7; INLINE_BYTES + 1],
        (2, Some(Err(_))) => true,
        (3, Some(Ok(bytes))) => bytes[..] == [9; FIRST_BYTES + 8],
        _ => false,
    }
}

/// A pending asker is woken; it gets the answer that was sent, and the slot can be used again.
#[test]
fn loom_an_asker_is_woken_or_finds_the_answer() {
    for how in 0..4 {
        loom::model(move || {
            let shared = Shared::new();
            let slot = shared.slot();
            let generation = slot.hot.open();
            let woken = std::sync::Arc::new(Woken(AtomicU32::new(0)));
            let reader = {
                let shared = shared.clone();
                thread::spawn(move || match answer(shared.slot(), generation, how) {
                    Completion::Stored(waker) => waker.into_iter().for_each(Waker::wake),
                    other => panic!("{other:?}"),
                })
            };
            let poll = || slot.poll(generation, &Waker::from(woken.clone()));
            let mut outcome = poll();
            if outcome.is_pending() {
                // Poll again before the wake, as `select` does.
                outcome = poll();
            }
            let pending = outcome.is_pending();
            reader.join().unwrap();
            if pending {
                assert_eq!(woken.0.load(Ordering::SeqCst), 1, "nobody has woken the asker");
                outcome = poll();
            }
            match outcome {
                Poll::Ready(what) => assert!(is_answer(&what, how), "{what:?}"),
                Poll::Pending => panic!("the answer is lost"),
            }
            assert_eq!(slot.hot.open(), generation + 1);
        });
    }
}

/// The last of the two sides frees the slot, and only one of them does.
#[test]
fn loom_an_abandoned_slot_is_freed_once() {
    for how in 0..4 {
        loom::model(move || {
            let shared = Shared::new();
            let slot = shared.slot();
            let generation = slot.hot.open();
            assert!(slot.poll(generation, Waker::noop()).is_pending());
            let reader = {
                let shared = shared.clone();
                thread::spawn(move || {
                    matches!(answer(shared.slot(), generation, how), Completion::Unwanted)
                })
            };
            let freed_here = slot.abandon(generation) != Abandoned::Open;
            let freed_there = reader.join().unwrap();
            assert!(freed_here != freed_there, "freed here {freed_here}, there {freed_there}");
            assert_eq!(slot.hot.open(), generation + 1);
            assert!(slot.poll(generation + 1, Waker::noop()).is_pending());
        });
    }
}

/// The session ends while the answer arrives: the asker gets one of the two.
#[test]
fn loom_the_end_and_the_answer_do_not_both_count() {
    for how in 0..2 {
        loom::model(move || {
            let shared = Shared::new();
            let slot = shared.slot();
            let generation = slot.hot.open();
            let ending = {
                let shared = shared.clone();
                thread::spawn(move || shared.slot().fail_if_open(failure).flatten().is_some())
            };
            let answered = matches!(answer(slot, generation, how), Completion::Stored(_));
            ending.join().unwrap();
            match slot.poll(generation, Waker::noop()) {
                Poll::Ready(Some(Err(_))) => assert!(!answered),
                Poll::Ready(what) => assert!(answered && is_answer(&what, how), "{what:?}"),
                Poll::Pending => panic!("nobody has said anything"),
            }
        });
    }
}
