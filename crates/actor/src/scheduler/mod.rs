//! The scheduler that runs the actors of a runtime.
//!
//! An actor is not a task of the runtime: it is a job of a scheduler, whose executors are tasks,
//! one for each worker of the runtime. So waking an actor costs no more than an entry in a run
//! queue, an idle one takes half the memory of a task, and a caller may run an idle one itself
//! (`inline`). The handlers run within the runtime as before: their tasks, waits and timers are the
//! runtime's.
//!
//! An executor first takes jobs that its own thread has just woken (`worker_local`), then the queue
//! that all executors share. It ends its turn after [`EXECUTOR_JOBS_MAX`] jobs, or when the
//! runtime's budget for a task is used up, so that other tasks have their turn. With the runtime
//! the executors are dropped, and with the first of them all jobs.

mod inline;
#[cfg(feature = "testing")]
mod random;
mod job;
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

use executor::Executor;
pub(crate) use inline::{InlineRun, proceed, turn_runs_max};
#[cfg(feature = "testing")]
pub(crate) use inline::{QueuedOnly, is_queued_only};
use job::{Job, Runnable};
use job_slab::JobSlab;
#[cfg(all(test, wigwag_loom))]
pub(crate) use task_state::AfterRun;
pub(crate) use task_state::TaskState;

use crate::reply::Asker;

/// The life that a job runs.
pub(crate) trait ActorTask: Future<Output = ()> + Unpin + Send + 'static {
    /// A poll with a call at hand, which is left there if it is not handled.
    fn poll_call(&mut self, context: &mut Context<'_>, call: &mut DirectCall<'_>) -> Poll<()>;
}

/// A call that lies in no mailbox.
pub(crate) struct DirectCall<'a> {
    /// An `Option` of what the actor takes, where its asker has it; without a call anything.
    pub(crate) message: &'a mut dyn Any,
    pub(crate) asker: &'a mut Asker,
}

/// The runners of one runtime, and their jobs.
pub(crate) struct Scheduler {
    runtime: runtime::Id,
    /// Tasks of the runtime may run on whichever thread polls them: it has more than one.
    is_wide: bool,
    queue: Mutex<RunQueue>,
    members: Mutex<JobSlab<dyn Runnable>>,
}

/// Jobs in line, each once; and the runners that sleep, by number.
struct RunQueue {
    jobs: VecDeque<Arc<dyn Runnable>>,
    parked: Vec<(usize, Waker)>,
    closed: bool,
}

/// The crews of this process.
static SCHEDULERS: Mutex<Option<HashMap<runtime::Id, Arc<Scheduler>>>> = Mutex::new(None);

thread_local! {
    /// The crew of the runtime that this thread was in last.
    static RECENT: RefCell<Option<Arc<Scheduler>>> = const { RefCell::new(None) };
}

impl Scheduler {
    /// The scheduler of the runtime that the caller is in.
    ///
    /// # Panics
    /// Outside of one.
    #[track_caller]
    pub(crate) fn current() -> Arc<Scheduler> {
        let runtime = Handle::current();
        RECENT.with(|recent| {
            let mut recent = recent.borrow_mut();
            match &*recent {
                Some(scheduler) if scheduler.runtime == runtime.id() => scheduler.clone(),
                _ => recent.insert(Scheduler::of_runtime(&runtime)).clone(),
            }
        })
    }

    /// The scheduler of a runtime; its executors begin with its first job.
    pub(crate) fn of_runtime(runtime: &Handle) -> Arc<Scheduler> {
        Scheduler::with_executors(runtime, Executor::new)
    }

    /// The scheduler of a runtime, with executors made by `executor` if there are none.
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
        // A runtime that is gone drops the runners at once, and they close the crew.
        drop(schedulers);
        for number in 0..runtime.metrics().num_workers() {
            drop(runtime.spawn(executor(number, scheduler.clone())));
        }
        scheduler
    }

    /// Runs `task`. If the runtime is gone, the task is dropped.
    pub(crate) fn spawn(self: &Arc<Self>, task: impl ActorTask) {
        if let Some(job) = self.add(task, TaskState::woken()) {
            self.push(job, true);
        }
    }

    /// Takes in a life that has nothing to do before it is woken; gives what wakes it.
    pub(crate) fn add_idle(self: &Arc<Self>, task: impl ActorTask) -> Option<Waker> {
        self.add(task, TaskState::asleep()).map(Waker::from)
    }

    fn add<L: ActorTask>(self: &Arc<Self>, task: L, state: TaskState) -> Option<Arc<Job<L>>> {
        let mut members = lock(&self.members);
        // The life is dropped outside of the lock, if it is.
        let at = members.next()?;
        let job = Arc::new(Job::new(task, state, at, self.clone()));
        members.add(job.clone());
        Some(job)
    }

    /// A job has ended.
    fn remove(&self, at: u32) -> Option<Arc<dyn Runnable>> {
        lock(&self.members).remove(at)
    }

    /// Brings a job in line, and wakes a runner for it.
    fn push(&self, job: Arc<dyn Runnable>, wakes: bool) {
        let mut queue = lock(&self.queue);
        if queue.closed {
            drop(queue);
            return job.cancel();
        }
        // A caller that pushes without a wake comes for the first job itself.
        let executor = if wakes || !queue.jobs.is_empty() { queue.parked.pop() } else { None };
        queue.jobs.push_back(job);
        drop(queue);
        if let Some((_, waker)) = executor {
            waker.wake();
        }
    }

    /// The turn of a runner ends before `job`, which is the next one. The runner that comes for it is
    /// another one, if one sleeps: it begins on the same thread, and whatever task has been woken there
    /// makes room for it. A runner that wakes itself would wake a worker each time. The job goes to the
    /// end of the line if it was not in it, so that two that wake each other let others go first.
    fn hand_over(&self, number: usize, waker: &Waker, job: Arc<dyn Runnable>, is_own: bool) {
        let mut queue = lock(&self.queue);
        if queue.closed {
            drop(queue);
            return job.cancel();
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

    /// The first one in line.
    fn pop(&self) -> Option<Arc<dyn Runnable>> {
        lock(&self.queue).jobs.pop_front()
    }

    /// A runner sleeps, unless there is something in line.
    fn park(&self, number: usize, waker: &Waker) -> bool {
        let mut queue = lock(&self.queue);
        if !queue.jobs.is_empty() {
            return false;
        }
        // It may have been polled without having been woken from here.
        queue.parked.retain(|(other, _)| *other != number);
        queue.parked.push((number, waker.clone()));
        true
    }

    /// The runtime ends, and with it all jobs.
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
    // Whole between two statements, so a panic elsewhere has broken nothing.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
