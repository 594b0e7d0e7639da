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
