//! Every order in which an old connection, its successor and a latecomer can meet at the fence.

use loom::sync::Arc;
use loom::thread;

use super::Fence;

/// Frames that are accepted in order: each knows its number.
#[derive(Default)]
struct Accepted {
    next: u64,
}

/// A connection reads the frames from `first` on until it has read `count` or is shut out. Whatever
/// came before is skipped, and there are no gaps.
fn read(fence: &Fence<Accepted>, epoch: u64, first: u64, count: u64) -> u64 {
    let mut accepted = 0;
    for seq in first..first + count {
        let Some(mut state) = fence.enter(epoch) else { break };
        assert!(seq <= state.next, "a gap: {seq} after {}", state.next);
        if seq == state.next {
            state.next += 1;
            accepted += 1;
        }
    }
    accepted
}

/// A successor is told how much was accepted, and that stays true until it reads itself: what it then
/// brings from there on is accepted, all of it and nothing twice.
#[test]
fn loom_what_a_successor_was_told_stays_true() {
    loom::model(|| {
        let fence = Arc::new(Fence::new(Accepted::default()));
        let old = fence.clone();
        let old = thread::spawn(move || read(&old, 0, 0, 2));
        let told = fence.shut(1).expect("it is the first").next;
        let fresh = read(&fence, 1, told, 3 - told);
        let before = old.join().expect("it has ended");
        assert_eq!(before, told, "the old one got in after the number was told");
        assert_eq!(before + fresh, 3);
        assert_eq!(fence.inside().next, 3);
    });
}

/// Of two that take over at once the later one stays, whoever comes first.
#[test]
fn loom_of_two_successors_the_later_stays() {
    loom::model(|| {
        let fence = Arc::new(Fence::new(Accepted::default()));
        let first = fence.clone();
        let first = thread::spawn(move || {
            let told = first.shut(1).map(|state| state.next);
            told.map_or(0, |told| read(&first, 1, told, 1))
        });
        let told = fence.shut(2).expect("the latest is never too late").next;
        let fresh = read(&fence, 2, told, 2 - told);
        let before = first.join().expect("it has ended");
        assert_eq!(before, told);
        assert_eq!(before + fresh, 2);
        assert!(fence.enter(1).is_none() && fence.shut(1).is_none());
    });
}
