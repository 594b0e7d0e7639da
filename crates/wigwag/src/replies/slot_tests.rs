use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Wake;

use super::*;

#[derive(Default)]
struct Woken(AtomicU32);

impl Wake for Woken {
    fn wake(self: Arc<Woken>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn poll(slot: Slot<'_>, generation: u32) -> Poll<FetchedReply> {
    slot.poll(generation, Waker::noop())
}

#[test]
fn an_answer_of_any_length_arrives_as_it_was_sent() {
    let (hot, cold) = (HotSlot::new(), ColdSlot::new());
    let slot = Slot { hot: &hot, cold: &cold };
    let value: Vec<u8> = (1..=INLINE_BYTES as u8 + 9).collect();
    for length in 0..=value.len() {
        let sent = &value[..length];
        let generation = slot.hot.open();
        let mut small = [0; INLINE_BYTES];
        assert!(slot.is_waiting());
        assert_eq!(slot.take_small(generation, &mut small), None);
        assert!(matches!(slot.complete(generation, sent), Completion::Stored(None)));
        assert_eq!(slot.take_small(generation + 1, &mut small), None);
        assert!(matches!(poll(slot, generation), Poll::Ready(Some(Ok(bytes))) if bytes == sent));

        let generation = slot.hot.open();
        slot.complete(generation, sent);
        match slot.take_small(generation, &mut small) {
            Some(taken) => assert_eq!(small[..taken], *sent),
            None => {
                assert!(length > INLINE_BYTES);
                assert!(poll(slot, generation).is_ready());
            }
        }
        assert_eq!(slot.hot.open(), generation + 1);
        slot.close_unsent(generation + 1);
        // The next use has the generation of the ask that was never sent.
        assert_eq!(slot.hot.open(), generation + 1);
        slot.complete(generation + 1, b"");
        assert!(poll(slot, generation + 1).is_ready());
    }
}

#[test]
fn a_waiting_asker_is_woken_once_by_the_waker_of_its_last_poll() {
    let (first, last) = (Arc::new(Woken::default()), Arc::new(Woken::default()));
    let (hot, cold) = (HotSlot::new(), ColdSlot::new());
    let slot = Slot { hot: &hot, cold: &cold };
    for large in [false, true] {
        let value = if large { vec![7; INLINE_BYTES + 1] } else { vec![7] };
        let generation = slot.hot.open();
        for woken in [&first, &last, &last] {
            let waker = Waker::from(woken.clone());
            assert!(slot.poll(generation, &waker).is_pending());
        }
        match slot.complete(generation, &value) {
            Completion::Stored(Some(waker)) => waker.wake(),
            other => panic!("{other:?}"),
        }
        assert!(poll(slot, generation).is_ready());
        assert!(matches!(poll(slot, generation), Poll::Ready(None)));
    }
    assert_eq!(first.0.load(Ordering::SeqCst), 0);
    assert_eq!(last.0.load(Ordering::SeqCst), 2);
}

#[test]
fn an_abandoned_slot_is_free_when_its_completion_has_come() {
    let (hot, cold) = (HotSlot::new(), ColdSlot::new());
    let slot = Slot { hot: &hot, cold: &cold };
    let generation = slot.hot.open();
    assert!(poll(slot, generation).is_pending());
    assert_eq!(slot.abandon(generation), Abandoned::Open);
    assert!(!slot.is_waiting());
    assert!(matches!(slot.complete(generation + 1, b"x"), Completion::NotOpen));
    assert!(matches!(slot.complete(generation, b"x"), Completion::Unwanted));
    assert!(matches!(slot.complete(generation, b"x"), Completion::NotOpen));
    // The end of the session and the turn that has sent the ask may both fail it.
    let generation = slot.hot.open();
    assert_eq!(slot.abandon(generation), Abandoned::Open);
    let unheard = || slot.fail_if_open(|| Box::new((CallErrorKind::Unknown, "gone".into())));
    assert!(matches!(unheard(), Some(None)));
    assert!(unheard().is_none(), "it failed once");
    assert!(matches!(slot.complete(generation, b"x"), Completion::NotOpen));
    // An ask that is abandoned after its answer has arrived is free at once.
    for value in [&[7][..], &[7; 60], &[7; INLINE_BYTES + 1]] {
        let generation = slot.hot.open();
        assert!(matches!(slot.complete(generation, value), Completion::Stored(None)));
        // References in the answer must be let go.
        assert_eq!(slot.abandon(generation), Abandoned::Free(Bytes::copy_from_slice(value)));
        assert_eq!(slot.abandon(generation), Abandoned::Open);
    }
    let generation = slot.hot.open();
    assert_eq!(slot.abandon(generation), Abandoned::Open);
    let failure = || Box::new((CallErrorKind::Unknown, "gone".into()));
    assert!(matches!(slot.fail(generation, failure()), Completion::Unwanted));
}

#[test]
fn a_failure_reaches_the_waiting_asker() {
    let (hot, cold) = (HotSlot::new(), ColdSlot::new());
    let slot = Slot { hot: &hot, cold: &cold };
    let failure = || Box::new((CallErrorKind::Unknown, "gone".into()));
    let generation = slot.hot.open();
    assert_eq!(
        slot.fail_if_open(failure).map(|waker| waker.is_some()),
        Some(false),
        "nobody looks yet"
    );
    assert!(slot.fail_if_open(failure).is_none(), "one completion is enough");
    match poll(slot, generation) {
        Poll::Ready(Some(Err(failed))) => assert_eq!(*failed, *failure()),
        other => panic!("{other:?}"),
    }
    let generation = slot.hot.open();
    assert!(poll(slot, generation).is_pending());
    assert!(slot.fail_if_open(failure).flatten().is_some());
    // A failure that nobody took leaves nothing behind for the next use.
    assert!(matches!(slot.abandon(generation), Abandoned::Free(_)));
    let generation = slot.hot.open();
    assert!(poll(slot, generation).is_pending());
    assert!(matches!(slot.complete(generation, b"x"), Completion::Stored(Some(_))));
}

#[test]
fn an_answer_to_an_ask_that_was_never_sent_leaves_nothing_behind() {
    let (hot, cold) = (HotSlot::new(), ColdSlot::new());
    let slot = Slot { hot: &hot, cold: &cold };
    let generation = slot.hot.open();
    assert!(matches!(slot.complete(generation, &[7; INLINE_BYTES + 1]), Completion::Stored(None)));
    slot.close_unsent(generation);
    assert_eq!(slot.hot.open(), generation);
    assert!(poll(slot, generation).is_pending());
    assert!(matches!(slot.complete(generation, b"x"), Completion::Stored(Some(_))));
}
