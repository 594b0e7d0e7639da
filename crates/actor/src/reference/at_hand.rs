//! The run at hand: the end of what this thread's turn is writing, lent to those who call.
//!
//! Calls of one method to one actor that follow each other become a run, and what each adds to it
//! is a few bytes. So the session lends the run's end to the turn, and such a call is encoded where
//! it is made: no way through the route, no lock, no credit to ask for. Before the session does
//! anything else, it takes the run back and counts what was added.

use std::cell::Cell;
use std::mem::ManuallyDrop;

use wigwag_wire::Buffer;
use wigwag_wire::run::{ITEM_BEGIN, ITEM_BYTES_MAX, end_item};
use wigwag_wire::small::WINDOW_BYTES;

use crate::message::Message;

/// Who may add calls: a route or a pipeline. No two of a process are the same, not even one after
/// the other: what was lent to one that another thread has dropped is nobody's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Borrower(u64);

impl Borrower {
    /// One that there was not before. `fixed`: arguments that have a width of their own go in that
    /// form; the lowest bit says so.
    #[expect(clippy::disallowed_types, reason = "it counts; nobody waits for what it says")]
    pub fn new(fixed: bool) -> Borrower {
        use std::sync::atomic::{AtomicU64, Ordering};

        static LAST: AtomicU64 = AtomicU64::new(0);
        Borrower(LAST.fetch_add(2, Ordering::Relaxed) | u64::from(fixed))
    }

    #[inline(always)]
    fn is_fixed(self) -> bool {
        self.0 & 1 != 0
    }
}

struct AtHand {
    borrower: Borrower,
    method: u32,
    /// Calls that may still be added, and were when the run was lent.
    room: usize,
    lent: usize,
    bytes: Buffer,
}

thread_local! {
    /// A box, so that it is taken out and put back as one word. Nothing is lent between turns, so
    /// there is nothing to drop when the thread ends; so no call need ask whether it has ended.
    static AT_HAND: Cell<ManuallyDrop<Option<Box<AtHand>>>> =
        const { Cell::new(ManuallyDrop::new(None)) };
    static SPARE: Cell<Option<Box<AtHand>>> = const { Cell::new(None) };
}

/// What was taken out to be worked with; should an encoder panic, it goes back all the same.
struct Taken(ManuallyDrop<Option<Box<AtHand>>>);

impl Drop for Taken {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(place) = self.0.take() {
            put_back(place);
        }
    }
}

#[cold]
fn put_back(place: Box<AtHand>) {
    AT_HAND.set(ManuallyDrop::new(Some(place)));
}

/// Lends the run at the end of `bytes`, which has room for so many calls more: of this method, by
/// this borrower. What was lent before must have been taken back.
pub fn lend(borrower: Borrower, method: u32, room: usize, bytes: &mut Buffer) {
    let mut place = SPARE.take().unwrap_or_else(|| {
        Box::new(AtHand { borrower, method, room, lent: room, bytes: Buffer::new() })
    });
    (place.borrower, place.method) = (borrower, method);
    (place.room, place.lent) = (room, room);
    bytes.make_ready(room * (ITEM_BEGIN + ITEM_BYTES_MAX) + WINDOW_BYTES);
    std::mem::swap(&mut place.bytes, bytes);
    AT_HAND.set(ManuallyDrop::new(Some(place)));
}

/// Takes back what was lent: its bytes go to `bytes`, and the number of calls that were added is
/// given. `None`: one is being encoded this moment, and its encoder asks for this.
pub fn take_back(bytes: &mut Buffer) -> Option<usize> {
    let mut place = ManuallyDrop::into_inner(AT_HAND.take())?;
    std::mem::swap(&mut place.bytes, bytes);
    let added = place.lent - place.room;
    SPARE.set(Some(place));
    Some(added)
}

/// Adds a call to the run at hand. False: it must go the way of all calls.
#[inline(always)]
pub(crate) fn add<M: Message>(borrower: Borrower, message: &M) -> bool {
    let mut taken = Taken(AT_HAND.take());
    let added = taken.0.as_mut().is_some_and(|place| place.add(borrower, message));
    // Nothing is there now: it was taken out by us, and nobody lends before he has taken back.
    AT_HAND.set(ManuallyDrop::new(taken.0.take()));
    added
}

impl AtHand {
    #[inline(always)]
    fn add<M: Message>(&mut self, borrower: Borrower, message: &M) -> bool {
        if self.borrower != borrower || self.method != message.method() || self.room == 0 {
            return false;
        }
        // Nobody lends a run of a method whose calls stay; a constant, so nothing is paid for it.
        if !message.travels() {
            return false;
        }
        let Some(room) = self.bytes.ready_room() else { return false };
        let fixed =
            if borrower.is_fixed() { message.encode_fixed(room.place, ITEM_BEGIN) } else { None };
        let end = fixed.or_else(|| message.encode_small(room.place, ITEM_BEGIN));
        let Some(end) = end else { return false };
        if !end_item(room.place, end) {
            return false;
        }
        room.keep(end);
        self.room -= 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use wigwag_wire::small::{Window, store};
    use wigwag_wire::{DecodeError, Reader};

    use super::*;

    enum One {
        Byte(u8),
        Panics,
        TooLong,
        Sends(Borrower),
    }

    impl Message for One {
        fn method(&self) -> u32 {
            16
        }

        fn encode_arguments(&self, _: &mut Buffer) {}

        fn encode_small(&self, window: &mut Window, place: usize) -> Option<usize> {
            match self {
                One::Byte(byte) => store(window, place, [*byte]),
                One::Panics => panic!("on purpose"),
                One::TooLong => return None,
                One::Sends(borrower) => {
                    assert!(!add(*borrower, &One::Byte(1)), "it would lie in the middle of ours");
                    assert_eq!(take_back(&mut Buffer::new()), None);
                    store(window, place, [9]);
                }
            }
            Some(place + 1)
        }

        fn decode(_: u32, _: &mut Reader<'_>) -> Result<Option<One>, DecodeError> {
            Ok(None)
        }
    }

    fn lent(room: usize) -> Borrower {
        let borrower = Borrower::new(false);
        let mut bytes = Buffer::new();
        bytes.push(7);
        lend(borrower, 16, room, &mut bytes);
        assert!(bytes.is_empty());
        borrower
    }

    fn back() -> (usize, Vec<u8>) {
        let mut bytes = Buffer::new();
        let added = take_back(&mut bytes).expect("it was lent");
        (added, bytes.as_slice().to_vec())
    }

    #[test]
    fn what_the_borrower_adds_comes_back_with_what_was_there() {
        let borrower = lent(2);
        assert!(!add(Borrower::new(false), &One::Byte(1)));
        assert!(add(borrower, &One::Byte(2)));
        assert!(!add(borrower, &One::TooLong));
        assert!(add(borrower, &One::Byte(3)));
        assert!(!add(borrower, &One::Byte(4)), "there is no room");
        assert_eq!(back(), (2, vec![7, 1, 2, 1, 3]));
        assert!(!add(borrower, &One::Byte(5)), "it was taken back");
        assert_eq!(take_back(&mut Buffer::new()), None);
    }

    #[test]
    fn another_method_does_not_join() {
        let borrower = Borrower::new(false);
        lend(borrower, 17, 9, &mut Buffer::new());
        assert!(!add(borrower, &One::Byte(1)));
        assert_eq!(back(), (0, vec![]));
    }

    #[test]
    fn an_encoder_that_panics_loses_nothing_and_adds_nothing() {
        let borrower = lent(9);
        assert!(add(borrower, &One::Byte(2)));
        let caught = std::panic::catch_unwind(|| add(borrower, &One::Panics));
        assert!(caught.is_err());
        assert!(add(borrower, &One::Byte(3)));
        assert_eq!(back(), (2, vec![7, 1, 2, 1, 3]));
    }

    #[test]
    fn an_encoder_that_sends_does_not_find_the_run() {
        let borrower = lent(9);
        assert!(add(borrower, &One::Sends(borrower)));
        assert_eq!(back(), (1, vec![7, 1, 9]));
    }
}
