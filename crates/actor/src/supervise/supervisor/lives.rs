//! The lives of a child, one after the other.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::sync::oneshot;

use super::child::{Boss, Verdict};
use super::message::News;
use crate::lifecycle::handle::Living;
use crate::options::Manner;
use crate::reason::Reason;
use crate::runtime::actor::Actor;
use crate::runtime::spawn::Seat;
use crate::runtime::worker::{Begun, Worker};
use crate::scheduler::{AtHand, Live};

/// The result of a start, for whoever waits for it.
type Begins = oneshot::Sender<Result<(), Reason>>;

/// A child from its first start to its end for good.
pub(super) struct Lives<A: Actor, F> {
    make: Arc<F>,
    seat: Seat<A::Message>,
    boss: Boss,
    number: u64,
    manner: Manner,
    /// Until the first start.
    begins: Option<Begins>,
    is_first: bool,
    at: At<A>,
}

/// Where a child is.
enum At<A: Actor> {
    /// Before a life.
    Start,
    /// In one; says whether it has begun well.
    Life(Worker<A>, oneshot::Receiver<bool>),
    /// Behind one: the supervisor says what comes next.
    Judged(Pin<Box<dyn Future<Output = Verdict> + Send>>, Reason),
    Over,
}

impl<A: Actor, F: Fn() -> A + Send + Sync + 'static> Lives<A, F> {
    pub(super) fn new(
        make: Arc<F>,
        seat: Seat<A::Message>,
        boss: Boss,
        number: u64,
        begins: Begins,
        manner: Manner,
    ) -> Lives<A, F> {
        let begins = Some(begins);
        Lives { make, seat, boss, number, manner, begins, is_first: true, at: At::Start }
    }

    /// Begins a life; false when there is nobody to live it.
    fn start(&mut self) {
        let first = self.begins.take();
        match catch_unwind(AssertUnwindSafe(&*self.make)) {
            Err(payload) => {
                let reason = Reason::panicked(&*payload);
                if let Some(begins) = first {
                    let _ = begins.send(Err(reason.clone()));
                }
                self.ended(reason, true);
            }
            Ok(actor) => {
                let (starts, started) = oneshot::channel();
                let begun = self.begun(first, starts);
                let worker = Worker::new(actor, self.seat.0.clone(), Some(begun), self.manner);
                self.at = At::Life(worker, started);
            }
        }
    }

    /// Says how a start went.
    fn begun(&self, first: Option<Begins>, starts: oneshot::Sender<bool>) -> Begun {
        let (mailbox, above, child) = (self.seat.0.clone(), self.boss.clone(), self.number);
        Box::new(move |outcome| {
            let _ = starts.send(outcome.is_ok());
            match first {
                Some(begins) => {
                    // Whoever hears that it did not start finds its names free.
                    if let Err(reason) = &outcome {
                        mailbox.end(reason.clone());
                    }
                    let _ = begins.send(outcome);
                }
                None if outcome.is_ok() => above.tell(News::Started { child }),
                // Said together with the end.
                None => {}
            }
        })
    }

    /// A life has ended, or could not begin.
    fn ended(&mut self, reason: Reason, in_start: bool) {
        let is_last = std::mem::take(&mut self.is_first) && in_start;
        if is_last || *self.boss.ending.borrow() || self.seat.0.control().has_ended() {
            return self.end(reason);
        }
        if !reason.is_wanted() {
            self.seat.0.control().failed(&reason);
        }
        let verdict = self.boss.clone().verdict(self.number, reason.clone(), in_start);
        self.at = At::Judged(Box::pin(verdict), reason);
    }

    fn end(&mut self, reason: Reason) {
        self.at = At::Over;
        self.seat.0.clone().end(reason);
    }
}

impl<A: Actor, F: Fn() -> A + Send + Sync + 'static> Live for Lives<A, F> {
    fn poll_call(&mut self, context: &mut Context<'_>, call: &mut AtHand<'_>) -> Poll<()> {
        loop {
            match &mut self.at {
                At::Start => self.start(),
                At::Life(worker, started) => {
                    let reason = ready!(worker.poll_call(context, call));
                    let has_started = started.try_recv().unwrap_or(false);
                    self.at = At::Start;
                    self.ended(reason, !has_started);
                }
                At::Judged(verdict, reason) => {
                    let verdict = ready!(verdict.as_mut().poll(context));
                    let reason = reason.clone();
                    match verdict {
                        Verdict::Again => {
                            self.seat.0.control().restarted();
                            self.at = At::Start;
                        }
                        Verdict::Over => self.end(reason),
                    }
                }
                At::Over => return Poll::Ready(()),
            }
        }
    }
}

impl<A: Actor, F: Fn() -> A + Send + Sync + 'static> Future for Lives<A, F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.poll_call(context, &mut AtHand { message: &mut (), asker: &mut None })
    }
}

impl<A: Actor, F> Unpin for Lives<A, F> {}
