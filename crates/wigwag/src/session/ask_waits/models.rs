//! Every interleaving of a task that looks at the asks and of asks that begin to wait.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use loom::thread;

use super::*;

const NOW: u64 = 10;

/// The state that the asks and the tasks share: one note for each ask, and the number of tasks.
struct Shared {
    waits: AskWaits,
    notes: [AtomicU64; 2],
    tasks: AtomicUsize,
}

impl Shared {
    /// An ask begins to wait.
    fn begin_wait(&self, ask: usize, end: u64) {
        self.notes[ask].store(end, Ordering::Release);
        if self.waits.look_at(Time::from_nanos(end)) {
            self.tasks.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// The task looks.
    fn look(&self) {
        self.waits.begin_look();
        let ends = self.notes.iter().map(|note| note.load(Ordering::Acquire));
        let next = ends.filter(|end| *end > NOW).min();
        if !next.is_some_and(|next| self.waits.look_at(Time::from_nanos(next))) {
            self.tasks.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// One task remains, and looks in time for the first ask, for all asks that may come while it looks.
#[test]
fn loom_one_task_looks_in_time() {
    for [first, second] in [[NOW + 5, NOW + 6], [NOW + 6, NOW + 5]] {
        loom::model(move || {
            let waits = AskWaits::default();
            assert!(waits.look_at(Time::from_nanos(NOW)), "there was no task");
            let tasks = AtomicUsize::new(1);
            let notes = [AtomicU64::new(0), AtomicU64::new(0)];
            let shared = Arc::new(Shared { waits, notes, tasks });
            let asks = [first, second];
            let asks = [0, 1].map(|ask| {
                let shared = shared.clone();
                thread::spawn(move || shared.begin_wait(ask, asks[ask]))
            });
            shared.look();
            asks.into_iter().for_each(|ask| ask.join().unwrap());
            assert_eq!(shared.tasks.load(Ordering::SeqCst), 1);
            assert_eq!(shared.waits.next.load(Ordering::Relaxed), NOW + 5);
        });
    }
}
