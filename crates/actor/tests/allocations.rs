//! A local tell of plain numbers allocates nothing once the mailbox has grown to its size.
//!
//! The test binary has its own allocator, which counts allocations per thread; the actor and its
//! sender share one thread, so the allocations of both are counted.
#![allow(clippy::unwrap_used, reason = "a test ends where it fails")]

mod tally;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use wigwag_actor::Actor;

use tally::{Tally, TallyRef};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, with a counter.
struct Counting;

fn count() {
    // The counter is gone while a thread ends; its allocations then belong to no message.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: each method passes its arguments on to the system's allocator unchanged, so a caller that
// keeps the contract of this allocator keeps that of the system's; counting touches no allocated
// memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise about `layout` is the one that is needed.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: `place` came from `System` with this `layout`, because `alloc` took it there.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as for `dealloc`, and the caller's promise about `size` is the one needed.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const TELLS: u64 = 100_000;

async fn flood(tally: &TallyRef) -> u64 {
    for number in 0..TELLS {
        tally.note(number).tell().await.unwrap();
    }
    tally.sum().without_limit().ask().await.unwrap()
}

#[test]
fn a_tell_allocates_nothing_in_steady_state() {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(async {
        let tally = Tally::default().spawn();
        let once = flood(&tally).await;
        // The counter is alive.
        let before = ALLOCATIONS.get();
        drop(std::hint::black_box(Box::new(once)));
        assert_eq!(ALLOCATIONS.get() - before, 1);

        let before = ALLOCATIONS.get();
        // The reply reuses the place of the previous ask, which has no other holder.
        assert_eq!(tally.sum().without_limit().ask().await.unwrap(), once);
        assert_eq!(flood(&tally).await, 2 * once);
        assert_eq!(ALLOCATIONS.get() - before, 0);
    });
}
