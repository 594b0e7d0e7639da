//! Inspection of a live actor from outside.
//!
//! The state of its mailbox is read at once, whatever the actor is doing. Its summary of itself is
//! requested by control mail with a time limit, so an actor that is stuck in a handler does not
//! delay the caller that wants to find out. A working actor records nothing for this; only the
//! failures of a supervised actor are recorded, when they happen.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::lifecycle::control::ControlMessage;
use crate::lifecycle::handle::{AnyActor, Handle, fresh_number};
use crate::limits::{FAILURES_KEPT, SUMMARY_BYTES_MAX};
use crate::reason::Reason;

/// The state of an actor at one moment; [`Handle::inspect`] returns it and shows an example.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Inspection {
    /// The actor's [number](Handle::number).
    pub number: u64,
    /// The actor's type.
    pub actor: Arc<str>,
    /// The actor's activity at that moment.
    pub activity: Activity,
    /// Calls that waited in the mailbox, without those of the current run.
    pub waiting: usize,
    /// How long the oldest of them has waited; `None` when none waits. Measured by the machine's
    /// clock, exact to 20 ms. Too long where older calls of its chunk were dropped to make room;
    /// for a call that was put back, counted from that moment.
    pub waiting_for: Option<Duration>,
    /// Calls that the actor has [stashed](crate::This::stash).
    pub stashed: usize,
    /// Calls that were dropped for lack of room, as [`Handle::dropped`] counts them.
    pub dropped: u64,
    /// How often its supervisor has restarted it; 0 without a supervisor, and when it has ended.
    pub restarts: u64,
    /// The unintended ends of its last lives, the latest last: [`FAILURES_KEPT`] at most. Only for
    /// a supervised actor that has not ended.
    pub failures: Vec<Failure>,
    /// The actor's summary of itself ([`Life::summary`](crate::Life::summary)), at most
    /// [`SUMMARY_BYTES_MAX`] bytes. `None`: it did not answer in time, it has ended, or the hook
    /// panicked.
    pub summary: Option<String>,
    /// How long the actor took to begin its summary: the rest of its current call, and the time
    /// until its thread ran it. `None` as above, so a busy actor has been busy for the whole time
    /// limit.
    pub answered_in: Option<Duration>,
}

/// The activity of an actor at the moment of an [`Inspection`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Activity {
    /// It slept until its next mail. Calls that run [side by
    /// side](crate::ActorOptions::side_by_side) may have been under way.
    Idle,
    /// It was handling mail, was scheduled to, or had not begun yet.
    Busy,
    /// It leaves calls waiting.
    Suspended,
    /// It has ended.
    Ended(Reason),
}

/// An unintended end of one life of an actor.
///
/// [`Inspection`] lists the last ones; [`Handle::inspect`](super::handle::Handle::inspect) shows
/// one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// The time of the end.
    pub at: SystemTime,
    /// The reason for the end.
    pub reason: Reason,
}

/// The record of an actor over its lives.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) restarts: u64,
    pub(crate) failures: VecDeque<Failure>,
}

impl History {
    pub(crate) fn failed(&mut self, reason: Reason) {
        if self.failures.len() >= FAILURES_KEPT {
            self.failures.pop_front();
        }
        self.failures.push_back(Failure { at: SystemTime::now(), reason });
    }
}

/// The state that control mail has of its actor.
#[derive(Debug, Default)]
pub(crate) struct InspectedState {
    pub(crate) suspended: bool,
    pub(crate) restarts: u64,
    pub(crate) failures: Vec<Failure>,
}

/// The order to summarize oneself.
pub(crate) struct SummaryRequest {
    number: u64,
    sender: oneshot::Sender<(Instant, Option<String>)>,
}

impl SummaryRequest {
    /// Answers the request. A summary only reads, so a panic in it has no other effect than no
    /// answer.
    pub(crate) fn answer(self, summary: impl FnOnce() -> String) {
        let begun = Instant::now();
        let answer = catch_unwind(AssertUnwindSafe(summary)).ok().map(shortened);
        // The caller may have gone.
        let _ = self.sender.send((begun, answer));
    }
}

fn shortened(mut text: String) -> String {
    if text.len() > SUMMARY_BYTES_MAX {
        text.truncate(text.floor_char_boundary(SUMMARY_BYTES_MAX));
    }
    text
}

/// Takes the order back when its caller goes, so that orders do not pile up at an actor that is
/// stuck.
struct PendingSummary<'a> {
    actor: &'a dyn AnyActor,
    number: u64,
    receiver: Option<oneshot::Receiver<(Instant, Option<String>)>>,
}

impl Drop for PendingSummary<'_> {
    fn drop(&mut self) {
        // First, so that no task is woken under the lock.
        self.receiver = None;
        let is_it = |order: &ControlMessage| matches!(order, ControlMessage::Summary(one) if one.number == self.number);
        self.actor.control().forget(is_it);
    }
}

impl Handle {
    /// Reads the actor's state, and asks it for a summary of itself, with the time limit `within`.
    /// Inside a handler of the actor itself the summary always exceeds the limit.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// # use wigwag_actor as wigwag;
    /// async fn report(actor: &wigwag::Handle) -> String {
    ///     let seen = actor.inspect(Duration::from_millis(100)).await;
    ///     format!("{} {:?}, {} wait: {:?}", seen.actor, seen.activity, seen.waiting, seen.summary)
    /// }
    /// ```
    ///
    /// # Cancellation
    /// If the future is dropped while it waits, nothing is left behind.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn inspect(&self, within: Duration) -> Inspection {
        let actor_cell = &**self.actor_cell();
        // Read first: the request for a summary wakes the actor.
        let state = actor_cell.control().inspected();
        let activity = match self.reason() {
            Some(reason) => Activity::Ended(reason),
            None if state.suspended => Activity::Suspended,
            None if actor_cell.is_idle() => Activity::Idle,
            None => Activity::Busy,
        };
        let (waiting, stashed) = (actor_cell.waiting(), actor_cell.stashed());
        let (dropped, waiting_for) = (actor_cell.dropped(), actor_cell.waiting_for());
        let pending = Instant::now();
        let answer = summary(actor_cell, within).await;
        Inspection {
            number: actor_cell.number(),
            actor: actor_cell.target().clone(),
            activity,
            waiting,
            waiting_for,
            stashed,
            dropped,
            restarts: state.restarts,
            failures: state.failures,
            answered_in: answer.as_ref().map(|(begun, _)| begun.duration_since(pending)),
            summary: answer.and_then(|(_, answer)| answer),
        }
    }
}

async fn summary(actor: &dyn AnyActor, within: Duration) -> Option<(Instant, Option<String>)> {
    let (sender, receiver) = oneshot::channel();
    let number = fresh_number();
    let mut pending = PendingSummary { actor, number, receiver: Some(receiver) };
    if !actor.order(ControlMessage::Summary(SummaryRequest { number, sender })) {
        return None;
    }
    let receiver = pending.receiver.as_mut()?;
    timeout(within, receiver).await.ok()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mailbox::Mailbox;
    use crate::options::WhenFull;
    use crate::reference::interface::Interface;
    use crate::supervise::supervisor::Supervisor;

    type OfSupervisor = Mailbox<<Supervisor as Interface>::Message>;

    #[tokio::test(start_paused = true)]
    async fn a_summary_request_that_timed_out_leaves_no_order_behind() {
        let mailbox = Arc::new(OfSupervisor::new(Supervisor::SCHEMA, 1, WhenFull::Wait));
        let handle = Handle::new(mailbox.clone());
        for _ in 0..10 {
            assert_eq!(handle.inspect(Duration::from_secs(1)).await.summary, None);
        }
        assert!(mailbox.control().take().is_none());
    }

    #[test]
    fn the_last_failures_are_kept_and_no_more() {
        let mut history = History::default();
        for at in 0..2 * FAILURES_KEPT {
            history.failed(Reason::failed(at));
        }
        assert_eq!(history.failures.len(), FAILURES_KEPT);
        let first = history.failures.front().map(|failure| failure.reason.clone());
        assert_eq!(first, Some(Reason::failed(FAILURES_KEPT)));
    }

    #[test]
    fn a_long_summary_is_cut_between_two_letters() {
        let long = "é".repeat(SUMMARY_BYTES_MAX);
        assert_eq!(shortened(format!("x{long}")).len(), SUMMARY_BYTES_MAX - 1);
        assert_eq!(shortened("short".into()), "short");
    }
}
