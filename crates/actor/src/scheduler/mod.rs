//! The scheduler that runs the actors of a runtime.
//!
//! An actor is not a task of the runtime: it is a job of a scheduler, whose executors are tasks,
//! one for each worker of the runtime. So waking an actor costs no more than an entry in a queue, a
//! sleeping actor takes half the memory of a task, and an asker may run an idle actor itself
//! (`inline`). Handlers run within the runtime: tasks, I/O and timers work in them as usual.
//!
//! An executor first takes the job that its own thread has just woken (`worker_local`), then the
//! run queue that all share. It ends its turn after [`EXECUTOR_JOBS_MAX`] jobs, or when the
//! runtime's task budget is used up, so that other tasks get theirs. When the runtime shuts down it
//! drops the executors, and the first executor dropped cancels all jobs.

mod hurry;
mod inline;
#[cfg(feature = "testing")]
mod random;
mod job;
mod wake_batch;
mod worker_local;
mod job_slab;
mod executor;
mod run_length;
mod task_state;

use std::any::Any;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::runtime::{self, Handle, RuntimeFlavor};
use wigwag_wire::call::EncodedCall;

use executor::Executor;
pub(crate) use hurry::hurry;
pub(crate) use inline::InlineRun;
pub use inline::proceed;
#[cfg(feature = "testing")]
pub(crate) use inline::{QueuedOnly, is_queued_only};
pub(crate) use inline::{proceed_to_tell, turn_runs_max};
use job::{Job, Runnable};
use job_slab::JobSlab;
#[cfg(all(test, wigwag_loom))]
pub(crate) use task_state::AfterRun;
pub(crate) use task_state::TaskState;
pub use wake_batch::WakeBatch;

use crate::reply::Asker;
use crate::turn;

/// A task that a scheduler runs.
pub(crate) trait ActorTask: Future<Output = ()> + Unpin + Send + 'static {
    /// Polls the task with a direct call, which is left in `call` if the task does not take it.
    fn poll_call(&mut self, context: &mut Context<'_>, call: &mut DirectCall<'_>) -> Poll<()>;
}

/// A call that is handed to the actor without going through its mailbox.
pub(crate) enum DirectCall<'a> {
    None,
    /// A call of a local sender.
    Local {
        /// An `Option` of the actor's message type, stored in its asker.
        message: &'a mut dyn Any,
        asker: &'a mut Asker,
    },
    /// An ask of a session, or of a client that has none.
    Encoded {
        ask: &'a EncodedCall<'a>,
        /// An `Option` of the source of the session's calls, with the actor's message type. Taken out
        /// with the ask.
        source: &'a mut dyn Any,
    },
}

/// The executors of one runtime, and their jobs.
pub(crate) struct Scheduler {
    runtime: runtime::Id,
    /// The runtime has more than one thread, so its tasks may run on any of them.
    is_wide: bool,
    queue: Mutex<RunQueue>,
    members: Mutex<JobSlab<dyn Runnable>>,
}

/// Queued jobs, each at most once, and the parked executors, by number.
struct RunQueue {
    jobs: VecDeque<Arc<dyn Runnable>>,
    parked: Vec<(usize, Waker)>,
    closed: bool,
}

/// The schedulers of this process.
static SCHEDULERS: Mutex<Option<HashMap<runtime::Id, Arc<Scheduler>>>> = Mutex::new(None);

thread_local! {
    /// The scheduler that this thread looked up last.
    static RECENT: RefCell<Option<Arc<Scheduler>>> = const { RefCell::new(None) };
}

impl Scheduler {
    /// Returns the scheduler of the caller's runtime.
    ///
    /// # Panics
    /// Outside of a runtime.
    #[track_caller]
    pub(crate) fn current() -> Arc<Scheduler> {
        let Ok(runtime) = Handle::try_current() else {
            panic!("an actor needs a tokio runtime here, or `ActorOptions::own_thread`");
        };
        Scheduler::recent(&runtime).unwrap_or_else(|| Scheduler::of_runtime(&runtime).remembered())
    }

    /// Returns the scheduler that this thread looked up last, if it is that of `runtime`.
    fn recent(runtime: &Handle) -> Option<Arc<Scheduler>> {
        RECENT.with_borrow(|recent| recent.clone().filter(|it| it.runtime == runtime.id()))
    }

    /// Notes that this thread has looked up this scheduler.
    fn remembered(self: Arc<Self>) -> Arc<Scheduler> {
        RECENT.set(Some(self.clone()));
        self
    }

    /// Returns the scheduler of `runtime` if it has run an actor.
    fn existing(runtime: &Handle) -> Option<Arc<Scheduler>> {
        lock(&SCHEDULERS).as_ref()?.get(&runtime.id()).cloned()
    }

    /// Returns the scheduler of `runtime`; its executors are started with its first job.
    pub(crate) fn of_runtime(runtime: &Handle) -> Arc<Scheduler> {
        Scheduler::with_executors(runtime, Executor::new)
    }

    /// Returns the scheduler of `runtime`; a new one gets the executors that `executor` makes.
    fn with_executors<R>(
        runtime: &Handle,
        executor: impl Fn(usize, Arc<Scheduler>) -> R,
    ) -> Arc<Scheduler>
    where
        R: Future<Output = ()> + Send + 'static,
    {
        let mut schedulers = lock(&SCHEDULERS);
        let known = schedulers.get_or_insert_default();
        if let Some(scheduler) = known.get(&runtime.id()) {
            return scheduler.clone();
        }
        let queue = RunQueue { jobs: VecDeque::new(), parked: Vec::new(), closed: false };
        let scheduler = Arc::new(Scheduler {
            runtime: runtime.id(),
            is_wide: runtime.runtime_flavor() != RuntimeFlavor::CurrentThread,
            queue: Mutex::new(queue),
            members: Mutex::new(JobSlab::new()),
        });
        known.insert(runtime.id(), scheduler.clone());
        // A runtime that has shut down drops the executors at once, and they close the scheduler.
        drop(schedulers);
        let executors = runtime.metrics().num_workers() + hurry::SPARE_EXECUTORS;
        for number in 0..executors {
            drop(runtime.spawn(executor(number, scheduler.clone())));
        }
        scheduler
    }

    /// Runs `task`; drops it when the runtime has shut down.
    pub(crate) fn spawn(self: &Arc<Self>, task: impl ActorTask) {
        if let Some(job) = self.add(task, TaskState::woken()) {
            self.push(job, true);
        }
    }

    /// Adds a task that has nothing to do before it is woken; returns its waker.
    pub(crate) fn add_idle(self: &Arc<Self>, task: impl ActorTask) -> Option<Waker> {
        self.add(task, TaskState::asleep()).map(Waker::from)
    }

    fn add<L: ActorTask>(self: &Arc<Self>, task: L, state: TaskState) -> Option<Arc<Job<L>>> {
        let mut members = lock(&self.members);
        // If the task is dropped, that happens outside of the lock.
        let at = members.next()?;
        let job = Arc::new(Job::new(task, state, at, self.clone()));
        members.add(job.clone());
        Some(job)
    }

    /// Removes a job that has ended.
    fn remove(&self, at: u32) -> Option<Arc<dyn Runnable>> {
        lock(&self.members).remove(at)
    }

    /// Enqueues a job, and wakes an executor for it. A closed scheduler does neither: closing cancels
    /// all jobs, one after the other, and an actor that was cancelled has often woken the next one. To
    /// cancel that one here would nest as deep as a chain of actors is long.
    fn push(&self, job: Arc<dyn Runnable>, wakes: bool) {
        let mut queue = lock(&self.queue);
        if queue.closed {
            return;
        }
        // A caller that pushes without waking takes the first job itself.
        let executor = if wakes || !queue.jobs.is_empty() { queue.parked.pop() } else { None };
        queue.jobs.push_back(job);
        drop(queue);
        if let Some((_, waker)) = executor {
            waker.wake();
        }
    }

    /// Enqueues jobs, and wakes an executor for each, as long as there are any.
    fn push_all(&self, jobs: impl ExactSizeIterator<Item = Arc<dyn Runnable>>) {
        let mut queue = lock(&self.queue);
        if queue.closed {
            return;
        }
        let left = queue.parked.len().saturating_sub(jobs.len());
        let executors = queue.parked.split_off(left);
        queue.jobs.extend(jobs);
        drop(queue);
        executors.into_iter().for_each(|(_, waker)| waker.wake());
    }

    /// Ends the turn of an executor before `job`, which is to run next. Another executor takes it
    /// over, if one is parked: it begins on the same thread, and any task that has been woken there
    /// goes first. An executor that woke itself would wake a worker each time. A job that was not
    /// in the run queue goes to its end, so that two jobs that wake each other let others go first.
    fn hand_over(&self, number: usize, waker: &Waker, job: Arc<dyn Runnable>, is_own: bool) {
        let mut queue = lock(&self.queue);
        if queue.closed {
            return;
        }
        if is_own {
            queue.jobs.push_back(job);
        } else {
            queue.jobs.push_front(job);
        }
        queue.parked.retain(|(other, _)| *other != number);
        let next = match queue.parked.pop() {
            Some((_, other)) => {
                queue.parked.push((number, waker.clone()));
                other
            }
            None => waker.clone(),
        };
        drop(queue);
        next.wake();
    }

    /// Takes the first queued job, for an executor.
    fn pop(&self) -> Option<Arc<dyn Runnable>> {
        let mut queue = lock(&self.queue);
        let job = queue.jobs.pop_front();
        let is_followed = !queue.jobs.is_empty();
        drop(queue);
        turn::set_followed(is_followed);
        job
    }

    /// Parks an executor, unless a job is queued.
    fn park(&self, number: usize, waker: &Waker) -> bool {
        let mut queue = lock(&self.queue);
        if !queue.jobs.is_empty() {
            return false;
        }
        // The executor may have been polled without a wake from here.
        queue.parked.retain(|(other, _)| *other != number);
        queue.parked.push((number, waker.clone()));
        true
    }

    /// Cancels all jobs, because the runtime shuts down.
    fn close(&self) {
        if let Some(schedulers) = &mut *lock(&SCHEDULERS) {
            schedulers.remove(&self.runtime);
        }
        let mut queue = lock(&self.queue);
        queue.closed = true;
        let (jobs, parked) = (std::mem::take(&mut queue.jobs), std::mem::take(&mut queue.parked));
        drop(queue);
        drop((jobs, parked));
        let members = lock(&self.members).close();
        members.iter().for_each(|job| job.cancel());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The data is consistent between any two statements, so a panic elsewhere has broken nothing.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
