//! Models every order in which an old connection, its successor and a latecomer meet at the fence.

use loom::sync::Arc;
use loom::thread;

use super::Fence;

/// Accepts numbered frames in order.
#[derive(Default)]
struct AcceptedFrames {
    next: u64,
}

/// Reads `count` frames from `first` on as one connection, until it is shut out. Frames that were
/// accepted before are skipped; a gap is an error.
fn read(fence: &Fence<AcceptedFrames>, epoch: u64, first: u64, count: u64) -> u64 {
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

/// The number of accepted frames that a successor reads stays true until it reads frames itself:
/// all that it then sends from there on is accepted, and nothing twice.
#[test]
fn loom_the_resume_point_of_a_successor_stays_true() {
    loom::model(|| {
        let fence = Arc::new(Fence::new(AcceptedFrames::default()));
        let old = fence.clone();
        let old = thread::spawn(move || read(&old, 0, 0, 2));
        let resume_at = fence.advance(1).expect("it is the first").next;
        let fresh = read(&fence, 1, resume_at, 3 - resume_at);
        let before = old.join().expect("it has ended");
        assert_eq!(before, resume_at, "the old one got in after the number was resume_at");
        assert_eq!(before + fresh, 3);
        assert_eq!(fence.lock().next, 3);
    });
}

/// When two connections take over at once, the later one stays, in either order.
#[test]
fn loom_the_later_of_two_successors_stays() {
    loom::model(|| {
        let fence = Arc::new(Fence::new(AcceptedFrames::default()));
        let first = fence.clone();
        let first = thread::spawn(move || {
            let resume_at = first.advance(1).map(|state| state.next);
            resume_at.map_or(0, |resume_at| read(&first, 1, resume_at, 1))
        });
        let resume_at = fence.advance(2).expect("the latest is never too late").next;
        let fresh = read(&fence, 2, resume_at, 2 - resume_at);
        let before = first.join().expect("it has ended");
        assert_eq!(before, resume_at);
        assert_eq!(before + fresh, 2);
        assert!(fence.enter(1).is_none() && fence.advance(1).is_none());
    });
}
