//! A message allocates nothing once queues, blocks and slabs have grown to their size: not where it
//! is sent, not on its way, not where it is received.
//!
//! The test binary has an allocator that counts allocations for each thread. Both sockets and their
//! tasks share one thread, so everything that any of them does is counted. The bodies exist
//! beforehand; making one is up to the user.
#![allow(clippy::unwrap_used, reason = "a test ends where it fails")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::future::Future;

use bytes::Bytes;
use wigwag_net::socket::{Pair, Pull, Push, Rep, Req};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, with a count.
struct Counting;

fn count() {
    // Gone while a thread ends; later allocations belong to no message.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: each method passes its arguments to the system's allocator unchanged, so a caller that
// keeps the promises of this one keeps those of that one; counting touches no allocated memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise about `layout` is the one needed.
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

/// Lengths of the bodies: one that is copied into a slab, one that shares a block.
const LENGTHS: [usize; 2] = [16, 64 * 1024];

/// Enough for every queue, block and slab to reach its size.
const WARM_UP: usize = 3_000;

const MESSAGES: usize = 2_000;

/// Runs `test` for each transport and length.
fn each<F: Future<Output = ()>>(name: &str, test: impl Fn(String, Bytes) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let place = format!("{}/wigwag-{name}-{}", std::env::temp_dir().display(), std::process::id());
    for address in ["tcp://127.0.0.1:0".to_owned(), format!("ipc://{place}")] {
        for length in LENGTHS {
            eprintln!("{name}: {length} bytes at {address}");
            let body = Bytes::from(vec![7; length]);
            // Check of the counter: the body and its reference count are two allocations.
            let before = ALLOCATIONS.get();
            drop(Bytes::from(vec![7; 10]).clone());
            assert_eq!(ALLOCATIONS.get() - before, 2);
            runtime.block_on(async {
                // The runtime's list of tasks that yield takes its memory at the first one, and when
                // a call spins for the first time depends on the clock.
                tokio::task::yield_now().await;
                test(address.clone(), body).await;
            });
        }
    }
}

/// Allocations of this thread while `work` runs.
async fn allocations(work: impl Future<Output = ()>) -> u64 {
    let before = ALLOCATIONS.get();
    work.await;
    ALLOCATIONS.get() - before
}

#[test]
fn a_request_and_its_reply_allocate_nothing() {
    each("ask", |address, body| async move {
        let (rep, req) = (Rep::new(), Req::new());
        let address = rep.listen(&address).await.unwrap();
        req.dial(&address.to_string()).await.unwrap();
        let rounds = async |count: usize| {
            for _ in 0..count {
                req.send(body.clone()).await.unwrap();
                let question = rep.recv().await.unwrap();
                rep.send(question).await.unwrap();
                assert_eq!(req.recv().await.unwrap().len(), body.len());
            }
        };
        rounds(WARM_UP).await;
        assert_eq!(allocations(rounds(MESSAGES)).await, 0);
    });
}

#[test]
fn a_flood_allocates_nothing() {
    each("flood", |address, body| async move {
        let (pull, push) = (Pull::new(), Push::new());
        let address = pull.listen(&address).await.unwrap();
        push.dial(&address.to_string()).await.unwrap();
        let flood = async |count: usize| {
            let sending = async {
                for _ in 0..count {
                    push.send(body.clone()).await.unwrap();
                }
            };
            let receiving = async {
                for _ in 0..count {
                    assert_eq!(pull.recv().await.unwrap().len(), body.len());
                }
            };
            tokio::join!(sending, receiving);
        };
        // Several floods, because each starts at another position in the slabs.
        for _ in 0..5 {
            flood(WARM_UP).await;
        }
        assert_eq!(allocations(flood(MESSAGES)).await, 0);
    });
}

/// The receiver keeps the newest ten messages, so blocks and slabs are never free at once.
#[test]
fn messages_that_are_kept_for_a_while_allocate_nothing() {
    each("kept", |address, body| async move {
        let (here, there) = (Pair::new(), Pair::new());
        let address = here.listen(&address).await.unwrap();
        there.dial(&address.to_string()).await.unwrap();
        let mut kept = std::collections::VecDeque::with_capacity(16);
        let mut rounds = async |count: usize| {
            for _ in 0..count {
                there.send(body.clone()).await.unwrap();
                kept.push_back(here.recv().await.unwrap());
                if kept.len() > 10 {
                    assert_eq!(kept.pop_front().unwrap(), body);
                }
            }
        };
        rounds(WARM_UP).await;
        assert_eq!(allocations(rounds(MESSAGES)).await, 0);
    });
}

/// The future of a call is copied into that of each caller above it, so a large one costs every
/// message some nanoseconds although few of them wait.
#[test]
fn the_future_of_a_call_is_small() {
    let (push, pull) = (Push::new(), Pull::new());
    let sizes = [size_of_val(&push.send(Bytes::new())), size_of_val(&pull.recv())];
    assert!(sizes.iter().all(|size| *size <= 250), "{sizes:?} bytes");
}
