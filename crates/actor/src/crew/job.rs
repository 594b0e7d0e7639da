//! One life that a crew runs: what a task is to a runtime.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use super::short::Short;
use super::standing::{After, Standing};
use super::{Crew, local};

/// A job, whatever it runs.
pub(super) trait Run: Send + Sync {
    /// Has it run, as far as it comes. The caller had it in line or was the one who woke it.
    fn run(self: Arc<Self>);

    /// It never runs again; its life ends here, or where it runs just now.
    fn cancel(&self);

    /// True when its next run is likely short; it counts.
    fn is_short(&self) -> bool;

    fn crew(&self) -> &Arc<Crew>;
}

pub(super) struct Job<L> {
    standing: Standing,
    short: Short,
    /// Its place in the crew's table.
    at: u32,
    crew: Arc<Crew>,
    /// Only whoever runs it, or drops it, locks this: nobody ever waits.
    life: Mutex<Option<L>>,
}

impl<L: Future<Output = ()> + Unpin + Send + 'static> Job<L> {
    pub(super) fn new(life: L, standing: Standing, at: u32, crew: Arc<Crew>) -> Job<L> {
        Job { standing, short: Short::unknown(), at, crew, life: Mutex::new(Some(life)) }
    }

    /// Polls its life; true when that has ended.
    fn poll(&self, waker: &Waker) -> bool {
        let mut life = self.life.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(life) = &mut *life else { return true };
        let poll = || Pin::new(life).poll(&mut Context::from_waker(waker));
        // A panic that got this far has been reported by the panic hook.
        !matches!(catch_unwind(AssertUnwindSafe(poll)), Ok(Poll::Pending))
    }

    /// Drops its life, outside of the lock: what it holds may wake anybody.
    fn drop_life(&self) {
        let life = self.life.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The same holds for a panic in a destructor.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(life)));
    }
}

impl<L: Future<Output = ()> + Unpin + Send + 'static> Run for Job<L> {
    fn run(self: Arc<Self>) {
        if !self.standing.begin() {
            return;
        }
        let measured = self.short.begin();
        if self.poll(&Waker::from(self.clone())) {
            self.standing.cancel();
            self.drop_life();
            drop(self.crew.remove(self.at));
            return;
        }
        self.short.end(measured);
        match self.standing.end() {
            After::Sleeps => {}
            After::Again => local::again(self),
            After::Cancelled => self.drop_life(),
        }
    }

    fn cancel(&self) {
        if self.standing.cancel() {
            self.drop_life();
        }
    }

    fn is_short(&self) -> bool {
        self.short.is_likely()
    }

    fn crew(&self) -> &Arc<Crew> {
        &self.crew
    }
}

impl<L: Future<Output = ()> + Unpin + Send + 'static> Wake for Job<L> {
    fn wake(self: Arc<Self>) {
        if self.standing.wake() {
            local::line_up(self);
        }
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.standing.wake() {
            local::line_up(self.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_adds_little_to_what_it_runs() {
        let job = size_of::<Job<[u8; 0]>>();
        assert!(job <= 32, "{job}");
    }
}
