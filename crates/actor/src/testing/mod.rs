//! Tests of actors: time that is made up, and an order that follows from a seed.
//!
//! Actors that wait for each other have more orders than one, and a machine shows the same few of them
//! day after day. [`run`] shows others: whenever several actors have something to do, it is drawn
//! which of them goes on, and the numbers for that come from a seed. [`seeds`] runs a test under many
//! seeds and says which one failed; with that seed it fails again.
//!
//! # Time
//!
//! The clock of the run stands still while anything can go on and then jumps to the next timer: hours
//! of `tokio::time`, of [`This`](crate::This) and of time limits pass at once. `std::time` is the
//! machine's clock and knows nothing of this. A body that waits when nothing can go on ends with a
//! panic, since no time limit but [`VIRTUAL_TIME_MAX`] is left to wait for.
//!
//! # What is drawn
//!
//! The order in which woken actors run, and the calls after which the test body and other tasks
//! have their turn. An actor handles one call at a time and is drawn again for the next; an `async`
//! handler runs until it must wait. Nothing else is interrupted: a tell that finds room does not
//! yield, in a handler or in the body; await `tokio::task::yield_now()` there. Messages of one
//! sender to one actor keep their order, as always. Actors with [spans](crate::ActorOptions::spans)
//! handle up to [`RUN_CALLS_MAX`](crate::limits::RUN_CALLS_MAX) calls at once, and so do all actors
//! with calls from another process.
//!
//! # What is not
//!
//! - Tasks of the runtime (`tokio::spawn`) among themselves: first come, first served.
//! - What the runtime itself draws without our seed: `tokio::select!` without `biased;` when two of
//!   its branches are ready at once.
//! - Other threads, among them `spawn_blocking`, actors with [`Placement::OwnThread`](crate::Placement) and a
//!   second runtime. Nor does the clock wait for them: an ask of such an actor may be over time at
//!   once.
//! - Sockets, files and processes, for the same reason.
//! - The order of a `HashMap`, addresses, and numbers that go on counting from run to run, as those of
//!   actors do.
//!
//! A test that keeps to one thread, to actors and to `tokio::time` is the same for the same seed and
//! the same program. After a change of the program a seed may mean another order.

mod seeds;

use std::future::Future;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::time::timeout;

use crate::scheduler::{QueuedOnly, Scheduler};

pub use seeds::{SEED_VARIABLE, seeds};

/// Virtual time that a run may take: more than the timers of a test, and a clock of an actor that
/// ticks every second comes to its end here in seconds.
pub const VIRTUAL_TIME_MAX: Duration = Duration::from_secs(30 * 24 * 3600);

/// Runs `body` to its end on a runtime of its own, with a clock that stands still while anything can
/// go on, and with actors whose order follows from `seed`. Actors that are left end with the runtime,
/// and are killed as they are then.
///
/// A panic of `body` goes on to the caller. One in an actor ends that actor, as ever.
///
/// # Panics
/// In a runtime; when the body is not over after [`VIRTUAL_TIME_MAX`], which is at once if it waits
/// and nothing can go on; when the operating system has no room for a runtime.
#[track_caller]
pub fn run<F: Future>(seed: u64, body: F) -> F::Output {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        // After each task the runtime looks whether the body was woken. It would else be behind
        // dozens of turns of the actors, whatever is drawn.
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
