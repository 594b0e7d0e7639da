//! The send buffers of the current turn, with all that a thread has sent and not yet published.
//!
//! A buffer collects what one turn sends to one target: messages for a mailbox of this process
//! (`reference::local_batch`), or encoded frames for a session with another one. This registry
//! holds all buffers of a thread. It finds the buffer of a target, and it publishes all of them
//! when the turn ends.

use std::any::Any;
use std::cell::{Cell, RefCell, RefMut};

use super::entries::{Entries, Entry};
use crate::limits::TURN_BUFFERS_KEPT_MAX;

/// A buffer for what the current turn sends to one target.
pub trait TurnBuffer: Any {
    /// Publishes the content.
    fn publish(&mut self) -> AfterPublish;

    /// True if the buffer holds room of its target, which others could use. A turn has few of those:
    /// the oldest is published when there is another one.
    fn holds_room(&self) -> bool {
        false
    }

    /// True if the target has ended. A thread that sends between turns drops the buffer when it makes
    /// another one, and with it what the buffer keeps alive.
    fn has_ended(&self) -> bool {
        false
    }
}

/// The state of a buffer after it was to be published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterPublish {
    /// The buffer is empty and is dropped.
    Drop,
    /// The buffer is empty, and the thread's next turns find it again.
    Keep,
}

/// The buffers of one thread.
struct TurnBuffers {
    /// The target that was last looked for and had no buffer.
    missed: usize,
    /// The place of the entry that was used last.
    last: usize,
    entries: Entries,
    /// A buffer that another one has displaced, to be published.
    displaced: Option<Entry>,
}

thread_local! {
    static BUFFERS: RefCell<TurnBuffers> = const {
        RefCell::new(TurnBuffers { missed: 0, last: 0, entries: Entries::new(), displaced: None })
    };
    /// A turn has looked for a buffer since the buffers were published.
    static IS_USED: Cell<bool> = const { Cell::new(false) };
}

impl TurnBuffers {
    #[inline]
    fn find(&mut self, target: usize) -> Option<&mut Entry> {
        if self.entries.get_mut(self.last).is_none_or(|last| last.target != target) {
            self.last = self.entries.place(target)?;
        }
        self.entries.get_mut(self.last)
    }

    #[cold]
    fn add<B: TurnBuffer>(
        &mut self,
        target: usize,
        make: impl FnOnce(bool) -> Option<Box<B>>,
    ) -> Option<&mut Entry> {
        let buffer = make(std::mem::replace(&mut self.missed, target) == target)?;
        self.displaced = self.entries.add(Entry { target, buffer });
        self.last = self.entries.len() - 1;
        self.entries.get_mut(self.last)
    }

    #[inline]
    fn with<B: TurnBuffer, T>(
        &mut self,
        target: usize,
        make: impl FnOnce(bool) -> Option<Box<B>>,
        work: impl FnOnce(&mut B) -> T,
    ) -> Option<T> {
        // Searched twice, because a borrow that is returned lasts in the other branch as well.
        let entry = match self.find(target).is_some() {
            true => self.entries.get_mut(self.last),
            false => self.add(target, make),
        };
        let buffer: &mut dyn Any = &mut *entry?.buffer;
        buffer.downcast_mut().map(work)
    }
}

/// Runs `work` on this turn's buffer for `target`. If there is none, `make` may create it; it is
/// told whether `target` was also the last one that had none.
///
/// Returns `None` without a buffer, outside a turn, and inside `make` or `work`: a message that is
/// sent while another one is dropped is sent as if outside a turn.
#[inline]
pub fn with<B: TurnBuffer, T>(
    target: usize,
    make: impl FnOnce(bool) -> Option<Box<B>>,
    work: impl FnOnce(&mut B) -> T,
) -> Option<T> {
    BUFFERS.with(|buffers| {
        let mut buffers = buffers.try_borrow_mut().ok()?;
        if !IS_USED.get() {
            if !super::is_open() {
                return None;
            }
            IS_USED.set(true);
        }
        let outcome = buffers.with(target, make, work);
        if buffers.displaced.is_some() {
            publish_displaced(buffers);
        }
        outcome
    })
}

/// Publishes the buffer that another one has displaced, without the borrow: what goes with it may send.
#[cold]
fn publish_displaced(mut buffers: RefMut<'_, TurnBuffers>) {
    let displaced = buffers.displaced.take();
    drop(buffers);
    displaced.into_iter().for_each(publish_entry);
}

/// As [`with`], also outside a turn: `work` has what it leaves in the buffer published by other
/// means than the end of a turn.
pub fn with_between_turns<B: TurnBuffer, T>(
    target: usize,
    make: impl FnOnce() -> Box<B>,
    work: impl FnOnce(&mut B) -> T,
) -> Option<T> {
    BUFFERS.with(|buffers| {
        let mut buffers = buffers.try_borrow_mut().ok()?;
        // Once for a target that finds no room, since that looks at all buffers.
        let ended = match buffers.find(target).is_none() && buffers.missed != target {
            true => buffers.entries.take_ended(),
            false => Vec::new(),
        };
        let has_room = buffers.entries.len() < TURN_BUFFERS_KEPT_MAX;
        let outcome = buffers.with(target, |_| has_room.then(make), work);
        if !ended.is_empty() {
            drop(buffers);
            ended.into_iter().for_each(publish_entry);
        }
        outcome
    })
}

/// Runs `work` on this thread's buffer for `target`, if there is one, also outside a turn.
pub fn with_existing<B: TurnBuffer, T>(target: usize, work: impl FnOnce(&mut B) -> T) -> Option<T> {
    BUFFERS.with(|buffers| {
        let mut buffers = buffers.try_borrow_mut().ok()?;
        let buffer: &mut dyn Any = &mut *buffers.find(target)?.buffer;
        buffer.downcast_mut().map(work)
    })
}

/// True inside [`with`], where a message that is dropped or a waker may send.
pub fn is_busy() -> bool {
    BUFFERS.with(|buffers| buffers.try_borrow().is_err())
}

/// Gives `message` to this turn's buffer for `target`, if that is the buffer that was used last.
///
/// # Errors
/// The message, if that is another buffer, or what `add` returns.
#[inline(always)]
pub(crate) fn add_to_last<B: TurnBuffer, M>(
    target: usize,
    message: M,
    add: impl FnOnce(&mut B, M) -> Result<(), M>,
) -> Result<(), M> {
    BUFFERS.with(|buffers| {
        let Ok(mut buffers) = buffers.try_borrow_mut() else { return Err(message) };
        let last = buffers.last;
        if let Some(entry) = buffers.entries.get_mut(last)
            && entry.target == target
            && let Some(buffer) = (&mut *entry.buffer as &mut dyn Any).downcast_mut()
        {
            add(buffer, message)
        } else {
            Err(message)
        }
    })
}

/// Publishes this turn's buffer for `target`, so that what is sent next by another way follows it.
pub fn publish(target: usize) {
    if IS_USED.get() {
        publish_one(target);
    }
}

/// Publishes this thread's buffer for `target`, also outside a turn.
pub(crate) fn publish_one(target: usize) {
    let taken = BUFFERS.with(|buffers| buffers.try_borrow_mut().ok()?.entries.take(target));
    taken.into_iter().for_each(publish_entry);
}

/// Publishes a buffer that was taken out.
fn publish_entry(mut entry: Entry) {
    if entry.buffer.publish() == AfterPublish::Keep {
        put_back(Entries::from(entry), usize::MAX);
    }
}

/// Publishes all buffers of this thread.
#[inline]
pub fn publish_all() {
    // Publishing may send, which is published too.
    while IS_USED.take() {
        publish_entries();
    }
}

fn publish_entries() {
    let mut entries = BUFFERS.with(|buffers| {
        let Ok(mut buffers) = buffers.try_borrow_mut() else { return Entries::new() };
        buffers.missed = 0;
        std::mem::replace(&mut buffers.entries, Entries::new())
    });
    if entries.is_empty() {
        return;
    }
    entries.retain(|entry| entry.buffer.publish() == AfterPublish::Keep);
    put_back(entries, TURN_BUFFERS_KEPT_MAX);
}

/// Puts buffers back that were taken out: at most `most`, because an idle thread keeps their
/// targets alive. Buffers that were created meanwhile stay.
#[inline]
fn put_back(entries: Entries, most: usize) {
    let dropped = BUFFERS.with(|buffers| match buffers.try_borrow_mut() {
        Ok(mut buffers) => Ok(buffers.entries.put_in_front(entries, most)),
        Err(_) => Err(entries),
    });
    // Outside the borrow: a target that goes with its last buffer may drop messages that send.
    drop(dropped);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::TURN_BATCHES_MAX;
    use crate::turn::open;

    thread_local! {
        static PUBLISHED: Cell<u32> = const { Cell::new(0) };
    }

    #[derive(Default)]
    struct Sum {
        sum: u32,
        stays: bool,
        has_ended: bool,
    }

    impl TurnBuffer for Sum {
        fn publish(&mut self) -> AfterPublish {
            PUBLISHED.set(PUBLISHED.get() + std::mem::take(&mut self.sum));
            let is_kept = self.stays && !self.has_ended;
            if is_kept { AfterPublish::Keep } else { AfterPublish::Drop }
        }

        fn holds_room(&self) -> bool {
            !self.stays
        }

        fn has_ended(&self) -> bool {
            self.has_ended
        }
    }

    fn add(target: usize, stays: bool, amount: u32) -> Option<u32> {
        let make = |_| Some(Box::new(Sum { stays, ..Sum::default() }));
        with(target, make, |buffer: &mut Sum| {
            buffer.sum += amount;
            buffer.sum
        })
    }

    #[test]
    fn a_buffer_is_published_once_at_the_end_of_the_outermost_turn() {
        {
            let _outer = open(true);
            assert_eq!(add(8, false, 1), Some(1));
            {
                let _inner = open(false);
                assert_eq!(add(16, false, 10), Some(10));
            }
            assert_eq!(add(8, false, 2), Some(3), "the buffer of a target is found again");
            assert_eq!(PUBLISHED.get(), 0);
        }
        assert_eq!(PUBLISHED.get(), 13);
    }

    #[test]
    fn there_is_no_buffer_outside_a_turn_and_inside_the_work_on_another() {
        assert_eq!(add(8, true, 1), None);
        let _turn = open(false);
        let nested = with(
            8,
            |_| Some(Box::new(Sum { stays: true, ..Sum::default() })),
            |_: &mut Sum| add(16, true, 1),
        );
        assert_eq!(nested, Some(None));
    }

    #[test]
    fn a_panicking_turn_publishes_its_buffers() {
        let caught = std::panic::catch_unwind(|| {
            let _turn = open(true);
            add(8, false, 5);
            panic!("on purpose");
        });
        assert!(caught.is_err());
        assert_eq!(PUBLISHED.get(), 5);
    }

    #[test]
    fn buffers_that_stay_are_bounded_and_empty_in_the_next_turn() {
        {
            let _turn = open(false);
            for target in 1..=2 * TURN_BUFFERS_KEPT_MAX {
                add(target, true, 1);
            }
        }
        let kept = BUFFERS.with_borrow(|buffers| buffers.entries.len());
        assert_eq!(kept, TURN_BUFFERS_KEPT_MAX);
        let _turn = open(false);
        assert_eq!(add(1, true, 7), Some(7), "nothing is left of the turn before");
    }

    /// A thread that never has a turn would otherwise keep what has ended, and have no room for others.
    #[test]
    fn buffers_whose_targets_have_ended_make_room_for_another_one_between_turns() {
        let make = || Box::new(Sum { stays: true, ..Sum::default() });
        let add = |target, ended| {
            with_between_turns(target, make, |buffer: &mut Sum| {
                (buffer.sum, buffer.has_ended) = (1, ended);
            })
        };
        for ended in [false, true] {
            for target in 1..=TURN_BUFFERS_KEPT_MAX {
                assert!(add(target, ended && target % 2 == 0).is_some());
            }
        }
        assert_eq!(PUBLISHED.get(), 0, "none was made since they have ended");
        assert!(add(1_000, false).is_some());
        assert_eq!(PUBLISHED.get(), TURN_BUFFERS_KEPT_MAX as u32 / 2);
        let kept = BUFFERS.with_borrow(|buffers| buffers.entries.len());
        assert_eq!(kept, TURN_BUFFERS_KEPT_MAX / 2 + 1);
    }

    #[test]
    fn a_buffer_that_holds_room_is_published_when_too_many_others_do() {
        let _turn = open(false);
        for target in 1..=TURN_BATCHES_MAX {
            add(target, false, 1);
        }
        assert_eq!(PUBLISHED.get(), 0);
        add(100, true, 10);
        assert_eq!(PUBLISHED.get(), 0, "one that holds none displaces none");
        assert_eq!(add(101, false, 1), Some(1));
        assert_eq!(PUBLISHED.get(), 1);
        assert_eq!(add(2, false, 1), Some(2), "only the oldest is gone");
    }

    #[test]
    fn a_published_buffer_has_nothing_left_for_the_end_of_the_turn() {
        {
            let _turn = open(false);
            add(8, true, 1);
            publish(8);
            assert_eq!(PUBLISHED.get(), 1);
            add(8, true, 2);
        }
        assert_eq!(PUBLISHED.get(), 3);
    }

    #[test]
    fn the_maker_learns_that_a_target_is_missed_twice_in_a_row() {
        let _turn = open(false);
        let told = Cell::new(None);
        let miss = |target| {
            with(
                target,
                |again| {
                    told.set(Some(again));
                    None
                },
                |_: &mut Sum| (),
            );
            told.take()
        };
        assert_eq!([miss(8), miss(8), miss(16), miss(8)], [false, true, false, false].map(Some));
    }
}
