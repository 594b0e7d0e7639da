//! A local tell of plain numbers allocates nothing once the mailbox has grown to its size.
//!
//! The test binary has an allocator of its own that counts, for each thread by itself; the actor
//! and its sender share one thread, so everything that either of them does is counted.
#![allow(clippy::unwrap_used, reason = "a test ends where it fails")]

mod tally;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use wigwag_actor::Actor;

use tally::{Tally, TallyRef};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, with a count.
struct Counting;

fn count() {
    // Gone while a thread ends; what it allocates then is nobody's message.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: each method hands its arguments on to the system's allocator unchanged, so whoever keeps
// the promises of this one keeps those of that one; counting touches no memory that is allocated.
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
        // Its reply comes to the place of the ask before, which nobody needs any more.
        assert_eq!(tally.sum().without_limit().ask().await.unwrap(), once);
        assert_eq!(flood(&tally).await, 2 * once);
        assert_eq!(ALLOCATIONS.get() - before, 0);
    });
}
