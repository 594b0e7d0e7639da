//! Jobs that are woken together and enqueued together: one lock of the run queue for all of them.
//!
//! A session that has read calls for many actors wakes one after the other, while the executors take
//! the same lock for each job that they run.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;

use super::job::Runnable;
use crate::limits::WAKE_BATCH_MAX;

thread_local! {
    /// The jobs that this thread has woken; `None` while no batch is open.
    static WOKEN: Cell<Option<Vec<Arc<dyn Runnable>>>> = const { Cell::new(None) };
}

/// An open batch of wakes: while it exists, jobs that its thread wakes are enqueued when there are
/// [`WAKE_BATCH_MAX`] of them, and at its end. For code that wakes many actors and waits for none.
#[derive(Debug)]
#[must_use = "the batch ends when this is dropped"]
pub struct WakeBatch {
    /// A batch within another one is part of it.
    is_outermost: bool,
    /// It ends on its own thread.
    not_send: PhantomData<*const ()>,
}

impl WakeBatch {
    /// Opens a batch on this thread.
    pub fn open() -> WakeBatch {
        let is_outermost = WOKEN
            .try_with(|woken| {
                let open = woken.take();
                let is_outermost = open.is_none();
                woken.set(Some(open.unwrap_or_default()));
                is_outermost
            })
            .unwrap_or(false);
        WakeBatch { is_outermost, not_send: PhantomData }
    }
}

impl Drop for WakeBatch {
    fn drop(&mut self) {
        if self.is_outermost
            && let Ok(Some(mut woken)) = WOKEN.try_with(Cell::take)
        {
            enqueue(&mut woken);
        }
    }
}

/// Adds a job that was woken to the thread's batch; returns it if none is open.
pub(super) fn add(job: Arc<dyn Runnable>) -> Option<Arc<dyn Runnable>> {
    let mut job = Some(job);
    // While the thread ends, no batch is open.
    let _ = WOKEN.try_with(|woken| {
        let Some(mut batch) = woken.take() else { return };
        batch.extend(job.take());
        if batch.len() >= WAKE_BATCH_MAX {
            enqueue(&mut batch);
        }
        woken.set(Some(batch));
    });
    job
}

/// Enqueues jobs, those of each scheduler together.
fn enqueue(woken: &mut Vec<Arc<dyn Runnable>>) {
    while let Some(first) = woken.first() {
        let scheduler = first.scheduler().clone();
        let others = |job: &Arc<dyn Runnable>| !Arc::ptr_eq(job.scheduler(), &scheduler);
        // Nearly always all of them.
        match woken.iter().any(others) {
            false => scheduler.push_all(woken.drain(..)),
            true => {
                let (rest, own) = woken.drain(..).partition::<Vec<_>, _>(others);
                scheduler.push_all(own.into_iter());
                *woken = rest;
            }
        }
    }
}

#[cfg(all(test, not(any(wigwag_loom, wigwag_shuttle))))]
mod tests {
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::scheduler::{ActorTask, DirectCall, Scheduler};
    use crate::sync::{AtomicUsize, Ordering};

    /// Counts its runs together with others.
    struct Counted(Arc<AtomicUsize>);

    impl Future for Counted {
        type Output = ();

        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Poll::Pending
        }
    }

    impl ActorTask for Counted {
        fn poll_call(&mut self, context: &mut Context<'_>, _: &mut DirectCall<'_>) -> Poll<()> {
            Pin::new(self).poll(context)
        }
    }

    fn idle(scheduler: &Arc<Scheduler>, runs: &Arc<AtomicUsize>) -> Waker {
        scheduler.add_idle(Counted(runs.clone())).expect("the runtime goes on")
    }

    /// The runs when all jobs that are enqueued have run.
    async fn settled(runs: &AtomicUsize) -> usize {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        runs.load(Ordering::Relaxed)
    }

    #[tokio::test]
    async fn jobs_that_are_woken_in_a_batch_run_when_it_is_full_and_when_it_ends() {
        let (scheduler, runs) = (Scheduler::current(), Arc::default());
        let jobs: Vec<Waker> = (0..=WAKE_BATCH_MAX).map(|_| idle(&scheduler, &runs)).collect();
        let (last, full) = jobs.split_last().expect("there are some");
        let batch = WakeBatch::open();
        let part = WakeBatch::open();
        full[0].wake_by_ref();
        drop(part);
        assert_eq!(settled(&runs).await, 0, "the batch goes on");
        full[1..].iter().for_each(Waker::wake_by_ref);
        assert_eq!(settled(&runs).await, WAKE_BATCH_MAX);
        last.wake_by_ref();
        assert_eq!(settled(&runs).await, WAKE_BATCH_MAX);
        drop(batch);
        assert_eq!(settled(&runs).await, WAKE_BATCH_MAX + 1);
        full[0].wake_by_ref();
        assert_eq!(settled(&runs).await, WAKE_BATCH_MAX + 2, "no batch is open");
    }

    #[tokio::test]
    async fn jobs_of_two_runtimes_in_one_batch_run_in_their_own() {
        let (here, other): (Arc<AtomicUsize>, Arc<AtomicUsize>) = Default::default();
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let elsewhere = Scheduler::of_runtime(runtime.handle());
        let jobs = [
            idle(&Scheduler::current(), &here),
            idle(&elsewhere, &other),
            idle(&Scheduler::current(), &here),
        ];
        let batch = WakeBatch::open();
        jobs.iter().for_each(Waker::wake_by_ref);
        drop(batch);
        assert_eq!(settled(&here).await, 2);
        assert_eq!(other.load(Ordering::Relaxed), 0, "its runtime has not run yet");
        let there = std::thread::spawn(move || {
            let runs = runtime.block_on(settled(&other));
            drop(runtime);
            runs
        });
        assert_eq!(there.join().expect("the thread goes on"), 1);
    }
}
