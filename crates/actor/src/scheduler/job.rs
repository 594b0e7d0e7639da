//! One life that a crew runs: what a task is to a runtime.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use super::at_once::may_run;
use super::short::Short;
use super::standing::{After, Standing};
use super::{AtHand, Crew, Live, local};

/// A job, whatever it runs.
pub(super) trait Run: Send + Sync {
    /// Has it run, as far as it comes. The caller had it in line or was the one who woke it.
    fn run(self: Arc<Self>);

    /// True when its next run is likely short; it counts.
    fn is_likely_short(&self) -> bool;

    /// It never runs again; its life ends here, or where it runs just now.
    fn cancel(&self);

    /// The same for one that has begun already, with a [call at hand](Live::poll_call).
    fn go_on(self: Arc<Self>, call: &mut AtHand<'_>);

    fn crew(&self) -> &Arc<Crew>;
}

pub(super) struct Job<L> {
    standing: Standing,
    short: Short,
    /// Its place in the crew's table.
    at: u32,
    crew: Arc<Crew>,
    /// Only whoever runs it, or drops it, locks this: nobody ever waits.
    life: Mutex<Option<Alive<L>>>,
}

/// A life that has not ended.
struct Alive<L> {
    life: L,
    /// What wakes it, from its first run on: it keeps the job, until the life is dropped.
    waker: Option<Waker>,
}

impl<L: Live> Job<L> {
    pub(super) fn new(life: L, standing: Standing, at: u32, crew: Arc<Crew>) -> Job<L> {
        let alive = Alive { life, waker: None };
        Job { standing, short: Short::unknown(), at, crew, life: Mutex::new(Some(alive)) }
    }

    /// Polls its life; true when that has ended.
    fn poll(self: &Arc<Self>, call: &mut AtHand<'_>) -> bool {
        let mut alive = self.life.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Alive { life, waker }) = &mut *alive else { return true };
        let waker = waker.get_or_insert_with(|| Waker::from(self.clone()));
        let poll = || life.poll_call(&mut Context::from_waker(waker), call);
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

impl<L: Live> Run for Job<L> {
    fn run(self: Arc<Self>) {
        if self.standing.begin() {
            self.go_on(&mut AtHand { message: &mut (), asker: &mut None });
        }
    }

    fn is_likely_short(&self) -> bool {
        self.short.is_likely()
    }

    fn go_on(self: Arc<Self>, call: &mut AtHand<'_>) {
        let measured = self.short.begin();
        if self.poll(call) {
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

    fn crew(&self) -> &Arc<Crew> {
        &self.crew
    }
}

impl<L: Live> Wake for Job<L> {
    fn wake(self: Arc<Self>) {
        if local::catches() {
            // What is counted comes last: it is one run less that is taken for short.
            let may_begin =
                may_run(&self.crew) && self.standing.is_asleep() && self.short.is_likely();
            if may_begin && self.standing.begin_asleep() {
                local::give(self);
            }
        } else if self.standing.wake() {
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
        assert!(job <= 48, "{job}");
    }
}
