//! Every interleaving of two flushers: whatever each queues before its call is written.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use super::Handover;

#[test]
fn loom_no_flush_is_lost() {
    loom::model(|| {
        let queued = Arc::new(AtomicU32::new(0));
        let written = Arc::new(AtomicU32::new(0));
        let handover = Arc::new(Handover::new(()));
        let flush = {
            let (queued, written) = (queued.clone(), written.clone());
            move |handover: &Handover<()>| {
                queued.fetch_add(1, Ordering::SeqCst);
                handover.run(|()| {
                    let taken = queued.swap(0, Ordering::SeqCst);
                    written.fetch_add(taken, Ordering::SeqCst);
                });
            }
        };
        let other = {
            let (handover, flush) = (handover.clone(), flush.clone());
            thread::spawn(move || flush(&handover))
        };
        flush(&handover);
        other.join().unwrap();
        assert_eq!(queued.load(Ordering::SeqCst), 0, "a flush was lost");
        assert_eq!(written.load(Ordering::SeqCst), 2);
    });
}

/// One flusher goes on when there is no room, here after one message. The other waits for room, and
/// must not leave what it has queued to the first.
#[test]
fn loom_a_flush_that_waits_for_room_is_not_left_to_one_that_does_not() {
    loom::model(|| {
        let queued = Arc::new(AtomicU32::new(0));
        // The messages that were taken and not written.
        let handover = Arc::new(Handover::new(0_u32));
        let other = {
            let (handover, queued) = (handover.clone(), queued.clone());
            thread::spawn(move || {
                queued.fetch_add(1, Ordering::SeqCst);
                handover.run(|left| {
                    *left = (*left + queued.swap(0, Ordering::SeqCst)).saturating_sub(1);
                });
            })
        };
        queued.fetch_add(2, Ordering::SeqCst);
        handover.run_here(|left| {
            queued.swap(0, Ordering::SeqCst);
            *left = 0;
        });
        other.join().unwrap();
        assert_eq!(queued.load(Ordering::SeqCst), 0, "a flush was lost");
        assert_eq!(
            handover.run_alone(|left| *left),
            0,
            "a message waits for room, and nobody waits"
        );
    });
}
