//! Who runs the actors of a runtime.
//!
//! An actor is no task of the runtime: it is a job of a crew, whose runners are tasks, one for each
//! worker of the runtime. So an actor that is woken costs no more than a place in a line, one that
//! sleeps half of what a task takes, and who asks an idle one may run it himself (`at_once`). The
//! handlers run within the runtime as before: what they start, await and time is the runtime's.
//!
//! A runner takes first what its own thread has just woken (`local`), then the line that all share.
//! It ends its turn after [`RUNNER_JOBS_MAX`] jobs, or when the runtime says that a task has done
//! enough, so that other tasks have theirs. With the runtime the runners are dropped, and with the
//! first of them all jobs.

mod at_once;
#[cfg(feature = "testing")]
mod drawn;
mod job;
mod local;
mod members;
mod runner;
mod short;
mod standing;

use std::any::Any;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::runtime::{self, Handle, RuntimeFlavor};

#[cfg(feature = "testing")]
pub(crate) use at_once::{AllInLine, is_all_in_line};
pub(crate) use at_once::{AtOnce, proceed, turn_runs_max};
use job::{Job, Run};
use members::Members;
use runner::Runner;
#[cfg(all(test, wigwag_loom))]
pub(crate) use standing::After;
pub(crate) use standing::Standing;

use crate::reply::Asker;

/// What a crew runs.
pub(crate) trait Live: Future<Output = ()> + Unpin + Send + 'static {
    /// A poll with a call at hand, which is left there if it is not handled.
    fn poll_call(&mut self, context: &mut Context<'_>, call: &mut AtHand<'_>) -> Poll<()>;
}

/// A call that lies in no mailbox.
pub(crate) struct AtHand<'a> {
    /// An `Option` of what the actor takes, where its asker has it; without a call anything.
    pub(crate) message: &'a mut dyn Any,
    pub(crate) asker: &'a mut Asker,
}

/// The runners of one runtime, and their jobs.
pub(crate) struct Crew {
    runtime: runtime::Id,
    /// Tasks of the runtime may run on whichever thread polls them: it has more than one.
    is_wide: bool,
    line: Mutex<Line>,
    members: Mutex<Members<dyn Run>>,
}

/// Jobs in line, each once; and the runners that sleep, by number.
struct Line {
    jobs: VecDeque<Arc<dyn Run>>,
    asleep: Vec<(usize, Waker)>,
    closed: bool,
}

/// The crews of this process.
static CREWS: Mutex<Option<HashMap<runtime::Id, Arc<Crew>>>> = Mutex::new(None);

thread_local! {
    /// The crew of the runtime that this thread was in last.
    static RECENT: RefCell<Option<Arc<Crew>>> = const { RefCell::new(None) };
}

impl Crew {
    /// That of the runtime that the caller is in.
    ///
    /// # Panics
    /// Outside of one.
    #[track_caller]
    pub(crate) fn here() -> Arc<Crew> {
        let runtime = Handle::current();
        RECENT.with(|recent| {
            let mut recent = recent.borrow_mut();
            match &*recent {
                Some(crew) if crew.runtime == runtime.id() => crew.clone(),
                _ => recent.insert(Crew::of(&runtime)).clone(),
            }
        })
    }

    /// That of a runtime; its runners begin with its first job.
    pub(crate) fn of(runtime: &Handle) -> Arc<Crew> {
        Crew::of_runners(runtime, Runner::new)
    }

    /// The same, with runners that `runner` makes if there are none.
    fn of_runners<R>(runtime: &Handle, runner: impl Fn(usize, Arc<Crew>) -> R) -> Arc<Crew>
    where
        R: Future<Output = ()> + Send + 'static,
    {
        let mut crews = lock(&CREWS);
        let known = crews.get_or_insert_default();
        if let Some(crew) = known.get(&runtime.id()) {
            return crew.clone();
        }
        let line = Line { jobs: VecDeque::new(), asleep: Vec::new(), closed: false };
        let crew = Arc::new(Crew {
            runtime: runtime.id(),
            is_wide: runtime.runtime_flavor() != RuntimeFlavor::CurrentThread,
            line: Mutex::new(line),
            members: Mutex::new(Members::new()),
        });
        known.insert(runtime.id(), crew.clone());
        // A runtime that is gone drops the runners at once, and they close the crew.
        drop(crews);
        for number in 0..runtime.metrics().num_workers() {
            drop(runtime.spawn(runner(number, crew.clone())));
        }
        crew
    }

    /// Has `life` run. When the runtime is gone it is dropped.
    pub(crate) fn run(self: &Arc<Self>, life: impl Live) {
        if let Some(job) = self.add(life, Standing::wanted()) {
            self.push(job, true);
        }
    }

    /// Takes in a life that has nothing to do before it is woken; gives what wakes it.
    pub(crate) fn keep(self: &Arc<Self>, life: impl Live) -> Option<Waker> {
        self.add(life, Standing::asleep()).map(Waker::from)
    }

    fn add<L: Live>(self: &Arc<Self>, life: L, standing: Standing) -> Option<Arc<Job<L>>> {
        let mut members = lock(&self.members);
        // The life is dropped outside of the lock, if it is.
        let at = members.next()?;
        let job = Arc::new(Job::new(life, standing, at, self.clone()));
        members.add(job.clone());
        Some(job)
    }

    /// A job has ended.
    fn remove(&self, at: u32) -> Option<Arc<dyn Run>> {
        lock(&self.members).remove(at)
    }

    /// Brings a job in line, and wakes a runner for it.
    fn push(&self, job: Arc<dyn Run>, wakes: bool) {
        let mut line = lock(&self.line);
        if line.closed {
            drop(line);
            return job.cancel();
        }
        // Who pushes without waking comes for the first one himself.
        let runner = if wakes || !line.jobs.is_empty() { line.asleep.pop() } else { None };
        line.jobs.push_back(job);
        drop(line);
        if let Some((_, waker)) = runner {
            waker.wake();
        }
    }

    /// The turn of a runner ends before `job`, which is the next one. The runner that comes for it is
    /// another one, if one sleeps: it begins on the same thread, and whatever task has been woken there
    /// makes room for it. A runner that wakes itself would wake a worker each time. The job goes to the
    /// end of the line if it was not in it, so that two that wake each other let others go first.
    fn hand_over(&self, number: usize, waker: &Waker, job: Arc<dyn Run>, is_own: bool) {
        let mut line = lock(&self.line);
        if line.closed {
            drop(line);
            return job.cancel();
        }
        if is_own {
            line.jobs.push_back(job);
        } else {
            line.jobs.push_front(job);
        }
        line.asleep.retain(|(other, _)| *other != number);
        let next = match line.asleep.pop() {
            Some((_, other)) => {
                line.asleep.push((number, waker.clone()));
                other
            }
            None => waker.clone(),
        };
        drop(line);
        next.wake();
    }

    /// The first one in line.
    fn pop(&self) -> Option<Arc<dyn Run>> {
        lock(&self.line).jobs.pop_front()
    }

    /// A runner sleeps, unless there is something in line.
    fn sleeps(&self, number: usize, waker: &Waker) -> bool {
        let mut line = lock(&self.line);
        if !line.jobs.is_empty() {
            return false;
        }
        // It may have been polled without having been woken from here.
        line.asleep.retain(|(other, _)| *other != number);
        line.asleep.push((number, waker.clone()));
        true
    }

    /// The runtime ends, and with it all jobs.
    fn close(&self) {
        if let Some(crews) = &mut *lock(&CREWS) {
            crews.remove(&self.runtime);
        }
        let mut line = lock(&self.line);
        line.closed = true;
        let (jobs, asleep) = (std::mem::take(&mut line.jobs), std::mem::take(&mut line.asleep));
        drop(line);
        drop((jobs, asleep));
        let members = lock(&self.members).close();
        members.iter().for_each(|job| job.cancel());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whole between two statements, so a panic elsewhere has broken nothing.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
