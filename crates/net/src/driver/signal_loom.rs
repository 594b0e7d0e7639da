//! Every interleaving of a driver and of callers that leave notes for it.

use std::task::Wake;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use super::*;

/// A waker that counts. The model cannot block on a condition, so the test checks that a wake was
/// sent.
#[derive(Default)]
struct Woken(std::sync::atomic::AtomicU32);

impl Wake for Woken {
    fn wake(self: std::sync::Arc<Woken>) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }
}

/// Two callers each send something and leave a note. A driver that finds no note is woken, and what
/// was sent is there when it has taken the last one.
#[test]
fn loom_a_driver_that_sleeps_is_woken_for_whatever_it_has_not_seen() {
    loom::model(|| {
        let shared = Arc::new((Signal::default(), AtomicU32::new(0)));
        let callers = [(); 2].map(|()| {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.1.fetch_add(1, Ordering::Relaxed);
                shared.0.raise();
            })
        });
        let woken = std::sync::Arc::new(Woken::default());
        let waker = Waker::from(woken.clone());
        let poll = || shared.0.poll(&Context::from_waker(&waker));
        let mut seen = 0;
        while poll().is_ready() {
            seen = shared.1.load(Ordering::Relaxed);
        }
        for caller in callers {
            caller.join().unwrap();
        }
        if woken.0.load(std::sync::atomic::Ordering::SeqCst) > 0 && poll().is_ready() {
            seen = shared.1.load(Ordering::Relaxed);
        }
        assert_eq!(seen, 2, "something was sent, and the driver sleeps");
    });
}
