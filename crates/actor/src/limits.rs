//! The numbers that bound an actor, each with its reason.

use std::time::Duration;

/// Calls that wait in a mailbox for its local senders: at 16 ns a call the actor has 16 µs of work
/// ahead, more than a thread switch takes, and a full mailbox of 64-byte calls is 64 KiB.
pub const MAILBOX_CALLS: usize = 1024;

/// Calls that the actor takes at once from one sender's queue before it looks at the next one.
/// One lock per so many calls costs a fraction of a nanosecond each, and no sender waits for more.
pub const RUN_CALLS_MAX: usize = 64;

/// Calls of a session's run. Short calls are read from where they lie; the cost of a run, with two
/// locks of the session, would be a fifth of a call otherwise.
pub const INBOUND_CHUNK_CALLS_MAX: usize = 256;

/// Urgent calls that may wait for an actor: a quarter of what its mailbox holds, because a flood of
/// them is not urgent, and at most four runs that a newer one waits for.
pub const URGENT_CALLS_MAX: usize = 256;

/// Runs of urgent calls in a row while others wait: one run of those is granted then, so urgent calls
/// hold up the others and never stop them.
pub const URGENT_RUNS_MAX: usize = 16;

/// Calls that an actor may have put aside: as many as wait in a mailbox, so that one that is full of
/// calls that come too soon can be gone through.
pub const STASH_CALLS_MAX: usize = MAILBOX_CALLS;

/// Runs in one turn before other tasks of the thread get theirs: about 100 µs of short calls, four
/// times as much of a session's.
pub const TURN_RUNS_MAX: usize = 64;

/// Empty chunks that a queue keeps for the next burst: what a batch of 128 KiB of small calls
/// fills, so that a busy lane never asks for memory.
pub const SPARE_CHUNKS_MAX: usize = 192;

/// Bytes that an empty chunk of a lane may hold on to: a run of calls of one unit each.
pub const SPARE_BYTES_MAX: usize = 16 * 1024;

/// Bytes that a sleeping actor may hold on to for the next answers: the room for one short answer,
/// and little beside what an idle actor takes anyhow.
pub const IDLE_REPLY_BYTES_MAX: usize = 256;

/// How long an ask outside of a handler waits when the caller set no time limit.
pub const ASK_WAIT_MAX: Duration = Duration::from_secs(30);

/// How long a tell or an ask inside a handler waits when the caller set no time limit. Two handlers
/// that wait for each other would wait for ever; after this time one of them gets an error.
pub const HANDLER_WAIT_MAX: Duration = Duration::from_secs(5);

/// How long an asker looks for its answer before it sleeps: longer than a round trip over loopback
/// takes when the answerer must be woken (60 µs on a virtual machine), and far below what anybody
/// would notice.
pub const ANSWER_SPIN_MAX: Duration = Duration::from_micros(100);

/// Asks at most that do not look before one tries again whether looking pays: a try that fails
/// costs [`ANSWER_SPIN_MAX`] of a processor, so it costs a tenth of a microsecond an ask at most.
pub const SPIN_SKIPS_MAX: u32 = 1024;

/// Items of a stream that its producer may be ahead of its consumer unless the caller says otherwise:
/// as many as an actor takes calls at once, so that each side is woken once for many of them.
pub const ITEMS_AHEAD: usize = 64;

/// Items that a caller may let a producer be ahead: 4 MiB of 64 bytes each.
pub const ITEMS_AHEAD_MAX: usize = 65_536;

/// Monitors of an actor, links of it and tasks that wait for its end, together: 4 MiB of memory, and
/// its end is told to all of them by one thread.
pub const WATCHERS_MAX: usize = 65_536;

/// Children of one supervisor. More of them are better off below several.
pub const CHILDREN_MAX: usize = 65_536;

/// Failures of a supervisor's children that it bears within [`RESTARTS_WITHIN`].
pub const RESTARTS_MOST: u32 = 3;

/// The time in which [`RESTARTS_MOST`] counts: a child that fails at every call is given up after a
/// moment, one that fails twice a day never.
pub const RESTARTS_WITHIN: Duration = Duration::from_secs(5);

/// How long a child may take to stop before it is killed.
pub const CHILD_SHUTDOWN: Duration = Duration::from_secs(5);

/// How long a child's `started` hook may take.
pub const CHILD_START: Duration = Duration::from_secs(30);

/// Failures of a supervised actor that are remembered: those of a burst that its supervisor
/// gave up on by default, and some before it.
pub const FAILURES_KEPT: usize = 8;

/// Bytes of what an actor says of itself: a screen.
pub const SUMMARY_BYTES_MAX: usize = 4096;

/// Actors that wait for one another in a row, of which an ask looks whether they lead back to it. A
/// longer circle ends by the time limit of an ask in it.
pub const CYCLE_ACTORS_MAX: usize = 64;

/// Calls of an actor that run side by side or wait for their key, unless its options say otherwise:
/// what each holds is about a kilobyte, so a quarter of a megabyte.
pub const SIDE_BY_SIDE: usize = 256;

/// The most that the options may say: 64 MiB for an actor.
pub const SIDE_BY_SIDE_MAX: usize = 65_536;

/// Timers of an actor, together with their calls that are due and wait: each takes about half a
/// kilobyte, so half a megabyte at most.
pub const TIMERS_MAX: usize = 1024;

/// The shortest period of a timer: what the runtime's clock can tell apart.
pub const TIMER_PERIOD_MIN: Duration = Duration::from_millis(1);

/// The longest delay of a timer, ten years: more than any clock overflows at, and than any process
/// lives.
pub const TIMER_DELAY_MAX: Duration = Duration::from_secs(10 * 365 * 86_400);

/// Sends that a [`RateLimiter`](crate::RateLimiter) remembers: one time of 16 bytes each, a megabyte.
pub const RATE_LIMITER_SENDS_MAX: usize = 65_536;

/// Names of a process: as many as an actor may have watchers, and with the longest names 32 MiB.
pub const NAMES_MAX: usize = 65_536;

/// Bytes of a name: what a line of a log holds.
pub const NAME_BYTES_MAX: usize = 255;

/// Memberships of a scope of groups, every joining counted: about 100 bytes each, 25 MiB.
pub const MEMBERSHIPS_MAX: usize = 262_144;

/// Subscriptions to a scope of groups; each change is told to all of them by the one who makes it.
pub const SUBSCRIPTIONS_MAX: usize = 1024;

/// Changes that wait for one subscriber: an hour of eighteen a second.
pub const CHANGES_MAX: usize = 65_536;

/// Lost calls that wait for each subscriber to dead letters; a slower subscriber misses the oldest.
pub const LETTERS_MAX: usize = 1024;

/// Keys that a sticky router remembers: about 50 bytes each, 3 MiB.
pub const STICKY_KEYS_MAX: usize = 65_536;

/// Jobs that a runner runs before the other tasks of its thread have their turn: 3 ms when each has as
/// much to do as [`TURN_RUNS_MAX`] allows.
pub const EXECUTOR_JOBS_MAX: usize = 32;

/// Jobs in a row that a runner takes from its own thread while others wait in line.
pub const EXECUTOR_OWN_MAX: usize = 16;

/// The longest run of an actor that its caller executes inline: a few times the cost of switching
/// to the actor and back when its thread must be woken.
pub const SHORT_RUN: Duration = Duration::from_micros(10);

/// Runs that are taken for short after one was: a run that turns out to be long is one in so many.
pub const SHORT_RUNS_TRUSTED: u8 = 32;

/// Asks that may be answered at once for each of the 128 steps after which the runtime has a task let
/// others go first: about four thousand in all, a millisecond if they are as quick as most.
pub const INLINE_ASKS_PER_STEP: u32 = 32;

/// Actors that run one within another, each asked by the one before. Each takes some kilobytes of
/// stack.
pub const INLINE_DEPTH_MAX: u32 = 4;

/// Runs of an actor, in a turn, that its caller executes inline: the caller's own call, and a few
/// that came with it.
pub const INLINE_RUNS_MAX: usize = 4;
