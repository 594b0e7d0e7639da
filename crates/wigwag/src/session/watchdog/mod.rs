//! The thread that publishes what blocked threads hold back.
//!
//! A turn publishes what it has sent when it ends, and what a plain task has sent is written by a
//! task of the runtime. Code that blocks its thread delays both for as long as it blocks. So a
//! buffer that begins to hold something is watched: the watchdog looks at it every
//! [`WATCHDOG_TICK`], and publishes what it finds unchanged since the time before. A turn that ends
//! within a tick never meets it.
//!
//! The watchdog sleeps while nothing is watched. An object that holds nothing and is used no more than
//! once a tick is forgotten, and announces itself again: a busy one stays watched, and an idle program
//! is not woken. The watchdog has no descriptor, such as a timer of the kernel: a server that has none
//! left needs it all the same.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::limits::{WATCHDOG_TICK, WATCHED_MAX};

mod turns;
mod wakes;

pub(crate) use turns::watch_turn;
pub(crate) use wakes::WakeWatch;

/// Something that may hold back messages while a thread blocks.
pub(crate) trait Watched: Send {
    /// Publishes what is held and has not moved since the last call. Runs every
    /// [`WATCHDOG_TICK`] on the watchdog's thread.
    fn check(&mut self) -> Watch;
}

/// Whether the watchdog looks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    /// It looks again at its next tick.
    On,
    /// It forgets the object, which must announce itself when it holds something again.
    Over,
}

struct Watchdog {
    /// Objects that were announced and not yet looked at.
    announced: Vec<Box<dyn Watched>>,
    /// All objects that are watched.
    watched: usize,
    /// The watchdog's thread waits for an object.
    sleeps: bool,
    /// The thread was started, or cannot be.
    started: bool,
}

static WATCHDOG: Mutex<Watchdog> =
    Mutex::new(Watchdog { announced: Vec::new(), watched: 0, sleeps: false, started: false });
static ANNOUNCED: Condvar = Condvar::new();

fn watchdog() -> MutexGuard<'static, Watchdog> {
    // The state is consistent between any two statements.
    WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Announces an object to the watchdog, which looks at it until its check says that the watch is
/// over. False if it already watches [`WATCHED_MAX`] objects: then the turn or the task of the
/// runtime publishes, as late as it may be.
pub(crate) fn watch(object: impl Watched + 'static) -> bool {
    // A model has no threads of its own.
    if cfg!(wigwag_loom) {
        return false;
    }
    let mut watchdog = watchdog();
    if watchdog.watched >= WATCHED_MAX {
        return false;
    }
    watchdog.watched += 1;
    watchdog.announced.push(Box::new(object));
    let starts = !std::mem::replace(&mut watchdog.started, true);
    let wakes = std::mem::take(&mut watchdog.sleeps);
    drop(watchdog);
    if wakes {
        ANNOUNCED.notify_one();
    }
    if starts {
        start();
    }
    true
}

#[cold]
fn start() {
    let thread = thread::Builder::new().name("wigwag-watchdog".to_owned());
    if let Err(error) = thread.spawn(run) {
        tracing::warn!(%error, "no thread for the watchdog: a blocked thread holds back messages");
    }
}

fn run() {
    let mut watched: Vec<Box<dyn Watched>> = Vec::new();
    loop {
        wait_for_objects(watched.len());
        thread::sleep(WATCHDOG_TICK);
        // Taken after the pause: what was announced during it is looked at now, so that two ticks
        // are the longest time for which anything is held back.
        watched.append(&mut watchdog().announced);
        // A waker of another runtime may panic; that must not end the watch of all others.
        watched.retain_mut(|one| {
            catch_unwind(AssertUnwindSafe(|| one.check())).is_ok_and(|watch| watch == Watch::On)
        });
    }
}

/// Sleeps until there is an object to watch, beside the `kept` ones of the last tick.
fn wait_for_objects(kept: usize) {
    let mut watchdog = watchdog();
    watchdog.watched = kept + watchdog.announced.len();
    while watchdog.watched == 0 {
        watchdog.sleeps = true;
        watchdog = ANNOUNCED.wait(watchdog).unwrap_or_else(PoisonError::into_inner);
    }
}

/// When to publish what an object holds, and when its watch is over. The uses of an object are
/// numbered: turns, or wakes.
#[derive(Debug)]
pub(crate) struct Lateness {
    /// The number of the use at the last tick.
    number: u64,
    /// That use held something at the last tick.
    was_held: bool,
}

/// The action that is due at a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Nothing: what is held may still be published by its owner, or is so soon again.
    Nothing,
    /// The calls that are held were held at the last tick already and are late.
    Publish,
    /// Nothing is held, and the object is used rarely: the watch may end.
    End,
}

impl Lateness {
    /// Begins a watch in the use of this number.
    pub(crate) fn since(number: u64) -> Lateness {
        Lateness { number, was_held: false }
    }

    /// Decides what is due, given the number of the use and whether it holds something now.
    pub(crate) fn tick(&mut self, (number, is_held): (u64, bool)) -> Due {
        let uses = number.wrapping_sub(self.number);
        let is_late = uses == 0 && self.was_held && is_held;
        (self.number, self.was_held) = (number, is_held);
        match is_held {
            true if is_late => Due::Publish,
            true => Due::Nothing,
            false if uses > 1 => Due::Nothing,
            false => Due::End,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::iter;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn calls_held_at_two_ticks_in_a_row_are_published_at_the_second() {
        let mut lateness = Lateness::since(1);
        assert_eq!(lateness.tick((1, true)), Due::Nothing);
        assert_eq!(lateness.tick((1, true)), Due::Publish);
        assert_eq!(lateness.tick((1, true)), Due::Publish, "more may have been added meanwhile");
        assert_eq!(lateness.tick((2, true)), Due::Nothing, "this is another turn");
        assert_eq!(lateness.tick((3, false)), Due::End);
        assert_eq!(lateness.tick((3, true)), Due::Nothing, "it held nothing at the last tick");
    }

    #[test]
    fn an_object_that_is_used_more_than_once_a_tick_stays_watched() {
        let mut lateness = Lateness::since(7);
        assert_eq!(lateness.tick((9, false)), Due::Nothing);
        assert_eq!(lateness.tick((11, false)), Due::Nothing);
        assert_eq!(lateness.tick((12, false)), Due::End);
        assert_eq!(Lateness::since(7).tick((7, false)), Due::End);
    }

    /// Tells each tick, and is over at the third one or panics at the second.
    struct Ticks {
        ticks: u32,
        panics: bool,
        tell: mpsc::Sender<u32>,
    }

    impl Watched for Ticks {
        fn check(&mut self) -> Watch {
            self.ticks += 1;
            self.tell.send(self.ticks).unwrap();
            assert!(self.ticks < 2 || !self.panics, "on purpose");
            if self.ticks < 3 { Watch::On } else { Watch::Over }
        }
    }

    #[test]
    fn an_object_is_checked_until_its_watch_is_over_also_beside_one_that_panics() {
        let watched = [true, false].map(|panics| {
            let (tell, told) = mpsc::channel();
            assert!(watch(Ticks { ticks: 0, panics, tell }));
            told
        });
        let all = watched.map(|told| {
            let patience = Duration::from_secs(60);
            iter::from_fn(|| told.recv_timeout(patience).ok()).collect::<Vec<u32>>()
        });
        assert_eq!(all, [vec![1, 2], vec![1, 2, 3]]);
    }
}
