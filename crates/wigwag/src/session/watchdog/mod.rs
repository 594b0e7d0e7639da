//! The thread that publishes what blocked threads hold back.
//!
//! A turn publishes what it has sent when it ends, and what a plain task has sent is written by a
//! task of the runtime. Code that blocks its thread delays both for as long as it blocks. So a
//! buffer that begins to hold something is watched: the watchdog looks at it every
//! [`WATCHDOG_TICK`], and publishes what it finds unchanged since the time before. A turn that ends
//! within a tick never meets it.
//!
//! The watchdog sleeps while nothing is watched. An object stays watched for some ticks after its
//! last use, so a busy one is not announced again and again, and an idle program is not woken.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::limits::{WATCHDOG_IDLE_TICKS, WATCHDOG_TICK, WATCHED_MAX};

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
    /// What was announced and not yet looked at.
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

/// When to publish what an object holds, and when its watch is over. `P` tells what it held at one
/// tick from what it holds at another one.
#[derive(Debug)]
pub(crate) struct Lateness<P> {
    seen: Option<P>,
    idle: u32,
}

impl<P> Default for Lateness<P> {
    fn default() -> Lateness<P> {
        Lateness { seen: None, idle: 0 }
    }
}

/// What is due at a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Nothing: what is held may still be published by its owner.
    Nothing,
    /// What is held was held at the last tick already and is late.
    Publish,
    /// Nothing was held for [`WATCHDOG_IDLE_TICKS`]: the watch may end.
    End,
}

impl<P: PartialEq> Lateness<P> {
    /// Decides what is due, given what is held now.
    pub(crate) fn tick(&mut self, held: Option<P>) -> Due {
        if held.is_none() {
            self.seen = None;
            self.idle += 1;
            return if self.idle < WATCHDOG_IDLE_TICKS { Due::Nothing } else { Due::End };
        }
        self.idle = 0;
        let is_late = self.seen == held;
        self.seen = held;
        if is_late { Due::Publish } else { Due::Nothing }
    }
}

#[cfg(test)]
mod tests {
    use std::iter;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_held_at_two_ticks_in_a_row_is_published_at_the_second() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.tick(Some(1)), Due::Nothing);
        assert_eq!(lateness.tick(Some(1)), Due::Publish);
        assert_eq!(lateness.tick(Some(1)), Due::Publish, "more may have been added meanwhile");
        assert_eq!(lateness.tick(Some(2)), Due::Nothing, "this is another turn");
        assert_eq!(lateness.tick(None), Due::Nothing);
        assert_eq!(lateness.tick(Some(2)), Due::Nothing, "the turn before has ended");
    }

    #[test]
    fn a_watch_ends_after_some_idle_ticks_in_a_row() {
        let mut lateness = Lateness::default();
        for _ in 1..WATCHDOG_IDLE_TICKS {
            assert_eq!(lateness.tick(None), Due::Nothing);
        }
        assert_eq!(lateness.tick(Some(1)), Due::Nothing);
        for _ in 1..WATCHDOG_IDLE_TICKS {
            assert_eq!(lateness.tick(None), Due::Nothing);
        }
        assert_eq!(lateness.tick(None), Due::End);
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
