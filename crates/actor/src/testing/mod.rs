//! Tests of actors with virtual time, and with a schedule that follows from a seed.
//!
//! Concurrent actors have many possible schedules, and a machine shows the same few of them day
//! after day. [`run`] shows others: whenever several actors are ready, a random choice decides
//! which of them runs, and its random numbers come from a seed. [`seeds`] runs a test under many
//! seeds and reports the seed that failed; with that seed the test fails again.
//!
//! # Time
//!
//! The clock of the run stands still while any task is ready and then jumps to the next timer:
//! hours of `tokio::time`, of [`This`](crate::This) and of time limits pass at once. `std::time` is
//! the machine's clock and is not affected. A body that waits when nothing can make progress ends
//! with a panic, since no time limit but [`VIRTUAL_TIME_MAX`] is left to wait for.
//!
//! # Random choices
//!
//! The seed decides which of the woken actors runs next, and after which calls the body and the
//! other tasks have their turn. An actor handles one call at a time and is drawn again for the
//! next; an `async` handler runs until it has to wait. Nothing else is interrupted: a tell that
//! finds room does not yield, neither in a handler nor in the body. To yield there, await
//! `tokio::task::yield_now()`. The messages of one sender to one actor keep their order, as always.
//! Actors with [spans](crate::ActorOptions::spans) handle up to
//! [`RUN_CALLS_MAX`](crate::limits::RUN_CALLS_MAX) calls in one run, and so do all actors with
//! calls from another process.
//!
//! # Not under the seed's control
//!
//! - Tasks of the runtime (`tokio::spawn`) among themselves: first come, first served.
//! - Random choices of the runtime itself: `tokio::select!` without `biased;` when two of its
//!   branches are ready at once.
//! - Other threads, among them `spawn_blocking`, a second runtime, and actors with
//!   [a thread of their own](crate::ActorOptions::own_thread). The clock does not wait for them
//!   either: an ask of such an actor may time out at once.
//! - Sockets, files and processes, for the same reason.
//! - The order of a `HashMap`, addresses, and numbers that continue from run to run, as those of
//!   actors do.
//!
//! A test that keeps to one thread, to actors and to `tokio::time` behaves the same for the same
//! seed and the same program. After a change of the program a seed may stand for another schedule.

mod seeds;

use std::future::Future;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::time::timeout;

use crate::scheduler::{QueuedOnly, Scheduler};

pub use seeds::{SEED_VARIABLE, seeds};

/// Virtual time that a run may take: more than the timers of a test need, and an actor that ticks
/// every second uses it up within seconds.
pub const VIRTUAL_TIME_MAX: Duration = Duration::from_secs(30 * 24 * 3600);

/// Runs `body` to its end on a runtime of its own, with a clock that stands still while any task is
/// ready, and with a schedule of the actors that follows from `seed`. Actors that still live at the
/// end are killed with the runtime.
///
/// A panic of `body` is passed on to the caller. A panic in an actor ends that actor, as always.
///
/// ```
/// # use std::time::Duration;
/// use wigwag_actor::testing;
///
/// testing::run(7, async {
///     tokio::time::sleep(Duration::from_secs(3600)).await; // passes at once
/// });
/// ```
///
/// # Panics
/// When called inside a runtime; when the body is not over after [`VIRTUAL_TIME_MAX`], which is at
/// once if it waits and nothing can make progress; when the operating system has no resources for a
/// runtime.
#[track_caller]
pub fn run<F: Future>(seed: u64, body: F) -> F::Output {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        // After each task the runtime checks whether the body was woken. Otherwise the body would
        // run dozens of turns of the actors later, whatever the seed says.
        .event_interval(1)
        .build()
        .expect("there is room for a runtime");
    let _queued_only = QueuedOnly::begin();
    Scheduler::start_random(runtime.handle(), seed);
    let ended = runtime.block_on(async { timeout(VIRTUAL_TIME_MAX, body).await });
    let Ok(output) = ended else {
        panic!(
            "nothing can go on: the body waits, and within {} days of virtual time nobody wakes it",
            VIRTUAL_TIME_MAX.as_secs() / (24 * 3600)
        );
    };
    output
}
