//! An OpenAPI document of many actors takes memory in proportion to its text.
//!
//! The test binary has an allocator that counts the bytes which a thread holds.
#![allow(clippy::unwrap_used, reason = "a test ends where it fails")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use wigwag::dynamic::Described;
use wigwag_describe::openapi::{Actor, document};

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator, with a count.
struct Counting;

fn count(bytes: isize) {
    // Gone while a thread ends; later allocations belong to no document.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = MOST.try_with(|most| most.set(most.get().max(held.get())));
    });
}

// SAFETY: each method passes its arguments to the system's allocator unchanged, so a caller that
// keeps the promises of this one keeps those of that one; counting touches no allocated memory.
// `realloc` is the one of the trait, which calls these two.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promise about `layout` is the one needed.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: `place` came from `System` with this `layout`, because `alloc` took it there.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

struct Orders;

#[wigwag::actor]
impl Orders {
    /// Places an order.
    pub fn place(&mut self, item: String, count: u64) -> Result<u64, String> {
        let _ = item;
        Ok(count)
    }

    pub fn orders(&self, most: Option<u64>) -> Vec<u64> {
        most.into_iter().collect()
    }
}

const ACTORS: usize = 500;

/// The text itself, a copy while it grows, and the operation that is written.
const TIMES_ITS_TEXT: isize = 6;

#[test]
fn a_document_of_many_actors_takes_a_few_times_the_memory_of_its_text() {
    let actors: Vec<Actor> = (0..ACTORS)
        .map(|number| Actor {
            name: format!("orders{number}"),
            described: Described::of::<Orders>(),
            routes: Vec::new(),
        })
        .collect();
    let before = HELD.get();
    MOST.set(before);
    let document = document("Orders", None, &actors);
    let most = MOST.get() - before;
    // Four paths for each actor: an ask and a tell of each method.
    assert_eq!(document.matches(r#""post":"#).count(), 4 * ACTORS);
    let parsed: serde_json::Value = serde_json::from_str(&document).unwrap();
    let written = parsed.to_string();
    assert!(written == document, "the text is that of its values");
    let allowed = TIMES_ITS_TEXT * document.len() as isize;
    assert!(most <= allowed, "{most} bytes for a text of {}", document.len());
}
