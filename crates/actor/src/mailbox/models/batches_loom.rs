//! A batch that another thread has closed may still get a call, because its thread reads the
//! closing without a lock. All calls that follow such a call must be moved behind it.

use std::sync::Arc;

use loom::thread;

use crate::mailbox::backlog::batches::{Batch, Batches};
use crate::sync::{AtomicBool, Ordering};

#[test]
fn loom_a_call_to_a_closed_batch_goes_before_what_follows_it() {
    loom::model(|| {
        let (mut batches, mut older, mut newer) =
            (Batches::default(), Batch::default(), Batch::default());
        assert!(batches.open(&mut older));
        older.lease(2);
        newer.lease(1);
        assert!(older.add(0).is_ok());
        // The tenure of the older batch is over.
        assert_eq!(batches.collect(|number| assert_eq!(number, 0)), 1);
        let is_sent = Arc::new(AtomicBool::new(false));
        let first = {
            let is_sent = is_sent.clone();
            thread::spawn(move || {
                is_sent.store(older.add(1).is_ok(), Ordering::Release);
                older
            })
        };
        assert!(batches.open(&mut newer));
        let second = thread::spawn(move || {
            if is_sent.load(Ordering::Acquire) {
                assert!(newer.add(2).is_ok());
            }
            newer
        });
        let mut moved = Vec::new();
        for _ in 0..2 {
            batches.collect(|number| moved.push(number));
        }
        // Their writing ends end after the last collection.
        drop((first.join().unwrap(), second.join().unwrap()));
        batches.collect(|number| moved.push(number));
        assert!([&[][..], &[1], &[1, 2]].contains(&&moved[..]), "{moved:?}");
    });
}
