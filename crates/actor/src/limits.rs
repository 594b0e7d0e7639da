//! The limits of actors, each with its reason.

use std::time::Duration;

/// Calls of local senders that wait in a mailbox: at 16 ns a call they are 16 µs of work, more than
/// a thread switch takes, and a full mailbox of 64-byte calls is 64 KiB.
pub const MAILBOX_CALLS: usize = 1024;

/// Calls that the actor takes at once from one sender's queue before it turns to the next queue.
/// One lock per run of this size costs a fraction of a nanosecond a call, and no sender waits for
/// more calls of another.
pub const RUN_CALLS_MAX: usize = 64;

/// Calls that the actor takes at once from a session's inbound queue, whose short calls are read in
/// place: the cost of a run, with two locks of the session, would otherwise be a fifth of the cost
/// of a call.
pub const INBOUND_CHUNK_CALLS_MAX: usize = 256;

/// Asks of a session that may be marked as cancelled: as many short calls as wait in a window of
/// 8 MiB, the largest that a peer gets without a long round trip. The marks take 1 MiB.
pub const CANCELLED_MAX: usize = 131_072;

/// Urgent calls that may wait for an actor: a quarter of its mailbox, because a flood of them is
/// not urgent, and at most four runs that a newer one waits for.
pub const URGENT_CALLS_MAX: usize = 256;

/// Runs of urgent calls in a row while other calls wait: after these, one run of other calls is
/// handled, so urgent calls delay the others and never starve them.
pub const URGENT_RUNS_MAX: usize = 16;

/// Calls that an actor may have stashed: as many as wait in a mailbox, so that a mailbox full of
/// calls that come too soon can be worked through.
pub const STASH_CALLS_MAX: usize = MAILBOX_CALLS;

/// Runs in one turn before the other tasks of the thread get theirs: about 100 µs of short calls,
/// four times as much of a session's.
pub const TURN_RUNS_MAX: usize = 64;

/// How long a turn may hold answers to other processes, whose askers wait: a few times what it
/// costs to end a turn and to begin another one.
pub const TURN_TIME_MAX: Duration = Duration::from_millis(1);

/// Bytes of calls that are copied once more to join a chunk of their inbound queue that waits: 48
/// calls of 20 bytes.
pub const JOINED_BYTES_MAX: usize = 1024;

/// The average time of a call up to which an actor's handlers count as quick: a chunk of such calls
/// is over before [`TURN_TIME_MAX`].
pub const QUICK_CALL: Duration = Duration::from_micros(1);

/// Empty chunks that a queue keeps for the next burst: the number that a batch of 128 KiB of small
/// calls fills, so that a busy inbound queue never allocates.
pub const SPARE_CHUNKS_MAX: usize = 192;

/// Bytes that an empty chunk of an inbound queue may retain: a run of calls of one unit each.
pub const SPARE_BYTES_MAX: usize = 16 * 1024;

/// Bytes that a sleeping actor may retain for its next answers: the room for one short answer, and
/// little compared with the size of an idle actor.
pub const IDLE_REPLY_BYTES_MAX: usize = 256;

/// How long an ask outside a handler waits when the caller set no time limit: 30 s.
pub const ASK_WAIT_MAX: Duration = Duration::from_secs(30);

/// How long a tell or an ask inside a handler waits when the caller set no time limit: 5 s. Two
/// handlers that wait for each other would wait for ever; after this time one of them gets an
/// error.
pub const HANDLER_WAIT_MAX: Duration = Duration::from_secs(5);

/// Timers of calls that a thread keeps for the next ones, which are as many as calls that are
/// answered before the thread makes another one: 20 KiB.
pub(crate) const TIMERS_KEPT_MAX: usize = 64;

/// Asks that may wait in a chain, each for the reference in the answer before it
/// ([`Call::pipe`](crate::Call::pipe)): each takes some of the stack of a thread that looks at the last one.
/// Asks that were sent to another process do not count, since they wait there.
pub const PIPED_ASKS_MAX: usize = 128;

/// Items of a stream that its producer may be ahead of its consumer unless the caller sets another
/// number: as many as an actor takes calls at once, so that each side is woken once for many items.
pub const ITEMS_AHEAD: usize = 64;

/// Items that a caller may allow a producer to be ahead, at most: 4 MiB of 64 bytes each.
pub const ITEMS_AHEAD_MAX: usize = 65_536;

/// Monitors and links of an actor, and the tables that contain it, together: 4 MiB of memory, and one
/// thread notifies all of them of its end. Tasks that wait for the end do not count. For an actor of another process, the scopes of groups that it
/// is in by one reference.
pub const WATCHERS_MAX: usize = 65_536;

/// Children of one supervisor. Spread more of them over several supervisors.
pub const CHILDREN_MAX: usize = 65_536;

/// Failures of its children that a supervisor tolerates within [`RESTARTS_WITHIN`].
pub const RESTARTS_MOST: u32 = 3;

/// The window in which [`RESTARTS_MOST`] failures are counted: a child that fails at every call is
/// given up after a moment, a child that fails twice a day is restarted every time.
pub const RESTARTS_WITHIN: Duration = Duration::from_secs(5);

/// How long a child may take to stop before it is killed.
pub const CHILD_SHUTDOWN: Duration = Duration::from_secs(5);

/// How long a child's `started` hook may take: 30 s.
pub const CHILD_START: Duration = Duration::from_secs(30);

/// Failures of a supervised actor that are remembered: the burst that its supervisor gave up on by
/// default, and some before it.
pub const FAILURES_KEPT: usize = 8;

/// Bytes of an actor's summary of itself: they fit on a screen.
pub const SUMMARY_BYTES_MAX: usize = 4096;

/// Waiting actors in a row that an ask follows to see whether they lead back to it. A longer circle
/// ends by the time limit of one of its asks.
pub const CYCLE_ACTORS_MAX: usize = 64;

/// Calls of an actor that run side by side or wait for their key, unless its options set another
/// number: each holds about a kilobyte, so a quarter of a megabyte.
pub const SIDE_BY_SIDE: usize = 256;

/// The largest number of such calls that the options accept: 64 MiB for an actor.
pub const SIDE_BY_SIDE_MAX: usize = 65_536;

/// Timers of an actor, including their calls that are due and wait: each takes about half a
/// kilobyte, so half a megabyte at most.
pub const TIMERS_MAX: usize = 1024;

/// The shortest period of a timer: the resolution of the runtime's clock.
pub const TIMER_PERIOD_MIN: Duration = Duration::from_millis(1);

/// The longest delay of a timer, ten years: longer than any process lives, and short enough that no
/// clock overflows.
pub const TIMER_DELAY_MAX: Duration = Duration::from_secs(10 * 365 * 86_400);

/// Events that a [`RateLimiter`](crate::RateLimiter) remembers: one time of 16 bytes each, a
/// megabyte.
pub const RATE_LIMITER_SENDS_MAX: usize = 65_536;

/// Names in a process: as many as an actor may have watchers, and 32 MiB with the longest names.
pub const NAMES_MAX: usize = 65_536;

/// Bytes of a name: it fits in a line of a log.
pub const NAME_BYTES_MAX: usize = 255;

/// Memberships in a scope of groups, counting each join: about 100 bytes each, 25 MiB. A scope
/// watches each actor once, so it has no more watches than memberships.
pub const MEMBERSHIPS_MAX: usize = 262_144;

/// Subscriptions to a scope of groups; the caller that makes a change notifies all of them.
pub const SUBSCRIPTIONS_MAX: usize = 1024;

/// Changes that wait for one subscriber: those of an hour, at 18 a second.
pub const CHANGES_MAX: usize = 65_536;

/// Lost calls that wait for each subscriber to dead letters; a slower subscriber misses the oldest.
pub const LETTERS_MAX: usize = 1024;

/// Keys that a sticky router remembers: about 50 bytes each, 3 MiB.
pub const STICKY_KEYS_MAX: usize = 65_536;

/// Jobs that an executor task runs before the other tasks of its thread have their turn: 3 ms when
/// each job has as much to do as [`TURN_RUNS_MAX`] allows.
pub const EXECUTOR_JOBS_MAX: usize = 32;

/// Jobs in a row that an executor task takes from its own thread's queue while others wait in the
/// shared one.
pub const EXECUTOR_OWN_MAX: usize = 16;

/// Jobs that one thread wakes before those of a batch of wakes are enqueued.
pub const WAKE_BATCH_MAX: usize = 64;

/// The longest run of an actor that still counts as short, so that a task that asks it may run it
/// inline: a few times the cost of switching to the actor and back when its thread must be woken.
pub const SHORT_RUN: Duration = Duration::from_micros(10);

/// Attempts of an asker to begin an actor that runs on another thread, about 2 µs in all: a few runs of a
/// quick actor, and less than it takes to wake the asker.
pub(crate) const BUSY_TRIES: u32 = 16;

/// Pauses of the processor between two of them, about 0.1 µs.
pub(crate) const BUSY_PAUSES: u32 = 2;

/// Runs that are assumed to be short after one was measured as short: at most one in this many
/// turns out to be long.
pub const SHORT_RUNS_TRUSTED: u8 = 32;

/// Asks that may be answered inline for each of the 128 steps after which the runtime makes a task
/// yield: about four thousand in all, a millisecond if they are as quick as most.
pub const INLINE_ASKS_PER_STEP: u32 = 32;

/// Tells that join no batch for each of the 128 steps after which the runtime makes a task yield: about
/// eight thousand in all, which the actors find in the cache when the task has yielded to them.
pub const TELLS_PER_STEP: u32 = 64;

/// Actors that run inline within one another, each asked by the one before. Each takes some
/// kilobytes of stack.
pub const INLINE_DEPTH_MAX: u32 = 4;

/// Runs of an actor in one turn that its asker executes inline: the asker's own call, and a few
/// that arrived with it.
pub const INLINE_RUNS_MAX: usize = 4;

/// Actors to which one turn has open batches. Each holds places in the mailbox of its actor, and has
/// other threads that send there move its calls first.
pub(crate) const TURN_BATCHES_MAX: usize = 16;

/// Send buffers that a thread keeps between two turns. An idle thread may keep sessions alive that
/// have ended meanwhile, so they are few.
pub(crate) const TURN_BUFFERS_KEPT_MAX: usize = 64;

/// Bytes of a topic under which an actor publishes: as many as a name has.
pub const TOPIC_BYTES_MAX: usize = 255;
