//! The thread that publishes what blocked threads hold back.
//!
//! A turn publishes what it has sent when it ends, and what a plain task has sent is written by a
//! task of the runtime. Code that blocks its thread delays both for as long as it blocks. So a
//! buffer that begins to hold something is watched: the watchdog looks at it every
//! [`WATCHDOG_TICK`](crate::limits::WATCHDOG_TICK), and publishes what it finds unchanged since the
//! time before. A turn that ends within a tick never meets it.
//!
//! The watchdog sleeps while nothing is watched. It forgets an object that holds nothing at a tick, and
//! the object announces itself again: a busy one does so once a tick, and an idle program is not woken.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;

use alarm::Alarm;

use crate::limits::WATCHED_MAX;

mod alarm;
mod turns;
mod wakes;

pub(crate) use turns::watch_turn;
pub(crate) use wakes::WakeWatch;

/// Something that may hold back messages while a thread blocks.
pub(crate) trait Watched: Send {
    /// Publishes what is held and has not moved since the last call. Runs every
    /// [`WATCHDOG_TICK`](crate::limits::WATCHDOG_TICK) on the watchdog's thread.
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
    /// The alarm is set, or the watchdog looks at the objects and sets it then.
    is_awake: bool,
    /// The thread was started, or cannot be.
    started: bool,
}

static WATCHDOG: Mutex<Watchdog> =
    Mutex::new(Watchdog { announced: Vec::new(), watched: 0, is_awake: false, started: false });
static ALARM: LazyLock<Alarm> = LazyLock::new(Alarm::new);

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
    let is_awake = std::mem::replace(&mut watchdog.is_awake, true);
    drop(watchdog);
    if !is_awake {
        ALARM.set();
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
        ALARM.wait();
        // Taken after the pause: what was announced during it is looked at now, so that two ticks
        // are the longest time for which anything is held back.
        watched.append(&mut watchdog().announced);
        // A waker of another runtime may panic; that must not end the watch of all others.
        watched.retain_mut(|one| {
            catch_unwind(AssertUnwindSafe(|| one.check())).is_ok_and(|watch| watch == Watch::On)
        });
        if is_needed(watched.len()) {
            ALARM.set();
        }
    }
}

/// True if there are objects to watch, beside the `kept` ones of this tick. Otherwise the next one that
/// is announced sets the alarm.
fn is_needed(kept: usize) -> bool {
    let mut watchdog = watchdog();
    watchdog.watched = kept + watchdog.announced.len();
    watchdog.is_awake = watchdog.watched > 0;
    watchdog.is_awake
}

/// When to publish what an object holds, and when its watch is over. `P` tells what it held at one
/// tick from what it holds at another one.
#[derive(Debug)]
pub(crate) struct Lateness<P> {
    seen: Option<P>,
}

impl<P> Default for Lateness<P> {
    fn default() -> Lateness<P> {
        Lateness { seen: None }
    }
}

/// What is due at a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Nothing: what is held may still be published by its owner.
    Nothing,
    /// What is held was held at the last tick already and is late.
    Publish,
    /// Nothing is held: the watch may end.
    End,
}

impl<P: PartialEq> Lateness<P> {
    /// Decides what is due, given what is held now.
    pub(crate) fn tick(&mut self, held: Option<P>) -> Due {
        let is_late = held.is_some() && self.seen == held;
        self.seen = held;
        match (is_late, &self.seen) {
            (true, _) => Due::Publish,
            (false, Some(_)) => Due::Nothing,
            (false, None) => Due::End,
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
    fn what_is_held_at_two_ticks_in_a_row_is_published_at_the_second() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.tick(Some(1)), Due::Nothing);
        assert_eq!(lateness.tick(Some(1)), Due::Publish);
        assert_eq!(lateness.tick(Some(1)), Due::Publish, "more may have been added meanwhile");
        assert_eq!(lateness.tick(Some(2)), Due::Nothing, "this is another turn");
        assert_eq!(lateness.tick(None), Due::End);
        assert_eq!(lateness.tick(Some(2)), Due::Nothing, "the turn before has ended");
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
