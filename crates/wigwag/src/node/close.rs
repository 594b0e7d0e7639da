//! The orderly end of a node.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{Instant, timeout_at};
use wigwag_link::frame::Frame;
use wigwag_link::{Code, write};

use super::{Node, listeners, runtime};
use wigwag_actor::turn;

use crate::limits::CLOSE_TIME_MAX;
use crate::session::{EndKind, SendState, Session};
use crate::sync::Ordering;

/// The outcome of [`Node::close`]: what was not delivered or answered in time.
///
/// The numbers count frames: calls, replies and their control frames.
///
/// ```
/// use std::time::Duration;
///
/// use wigwag::{Actor, Node};
///
/// #[derive(Default)]
/// struct Log {
///     lines: Vec<String>,
/// }
///
/// #[wigwag::actor]
/// impl Log {
///     pub fn append(&mut self, line: String) {
///         self.lines.push(line);
///     }
/// }
///
/// # #[wigwag::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (service, client) = (Node::new(), Node::new());
/// service.export("log", &Log::default().spawn())?;
/// let bound = service.listen("tcp://127.0.0.1:0").await?;
/// let log = client.actor::<Log>(&format!("{bound}/log")).await?;
/// log.append("the last line".to_owned()).tell().await?;
///
/// let report = client.close(Duration::from_secs(5)).await;
/// assert!(report.is_clean(), "{report:?}");
/// assert_eq!(report.sessions, 1);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CloseReport {
    /// Sessions that were open when the node was closed.
    pub sessions: usize,
    /// Frames that were never sent: certainly not delivered.
    pub not_delivered: u64,
    /// Frames that were sent and not acknowledged in time: delivered or not.
    pub unknown: u64,
    /// Asks of this node that were still without an answer.
    pub unanswered: usize,
    /// Asks of the peers that this node has not answered: their callers cannot know whether they were
    /// handled.
    pub answers_owed: u64,
}

impl CloseReport {
    /// True if everything was delivered and answered.
    pub fn is_clean(&self) -> bool {
        let is_answered = self.unanswered == 0 && self.answers_owed == 0;
        is_answered && self.not_delivered == 0 && self.unknown == 0
    }
}

impl Node {
    /// Closes the node: delivers what was sent, within `deadline`, and reports the rest.
    ///
    /// The node stops listening, so that another one can listen at its addresses when this returns, and
    /// tells its peers to send no more calls. Then it waits until everything that it has sent is
    /// acknowledged, every ask of its own is answered, and it has answered every ask of its peers, at
    /// most for `deadline`, and ends its sessions. Calls that arrive meanwhile are still handled. A
    /// second call finds nothing to do.
    ///
    /// A handler that awaits this owes the answer to its own ask meanwhile, so it waits until
    /// `deadline`: let a task of its own close the node.
    ///
    /// See [`CloseReport`] for an example.
    ///
    /// # Shutdown
    /// New calls over the node's references fail as [`Draining`](crate::CallErrorKind::Draining)
    /// while it closes, and as [`NotDelivered`](crate::CallErrorKind::NotDelivered) afterwards. The
    /// node's methods return [`NodeError::Closed`](crate::NodeError::Closed). Exported actors are
    /// dropped at the end.
    ///
    /// # Cancellation
    /// If dropped while it waits, the node takes no new calls, and its sessions last until the node
    /// is dropped.
    pub async fn close(&self, deadline: Duration) -> CloseReport {
        let closing = self.close_on_runtime(deadline);
        // The caller's, if there is one: that of the node may stand still, and this has its deadline.
        match Handle::try_current() {
            Ok(_) => closing.await,
            Err(_) => runtime::enter(&self.inner.runtime, closing).await,
        }
    }

    async fn close_on_runtime(&self, deadline: Duration) -> CloseReport {
        let end = Instant::now() + deadline.min(CLOSE_TIME_MAX);
        let stopped = self.inner.refuse_work();
        turn::buffers::publish_all();
        let sessions = self.inner.sessions().iter().cloned().collect();
        let closing_sessions = close_sessions(sessions, end, "this node was closed");
        let closing_clients = timeout_at(end, self.inner.sp_clients.close());
        // A listener that has ended leaves its address to the next node.
        let closing_listeners = timeout_at(end, listeners::ended(stopped));
        // Answers that the clients have not been given in time are dropped with their connections.
        let (report, _, _) = tokio::join!(closing_sessions, closing_clients, closing_listeners);
        self.inner.sp_clients.finish();
        self.inner.exports.clear();
        report
    }
}

/// Ends sessions in good order, at `end` at the latest.
pub(crate) async fn close_sessions(
    mut sessions: Vec<Arc<Session>>,
    end: Instant,
    why: &str,
) -> CloseReport {
    // A session that has ended stays in the node's list until its driver has run.
    sessions.retain(|session| session.sending().ended.is_none());
    let mut drains = Vec::with_capacity(sessions.len());
    for session in &sessions {
        // Calls that arrive from now on are still handled; new calls of this side are refused.
        session.start_draining();
        let mut sending = session.sending();
        let stop_seq = 0;
        drains.push(sending.sender.outbox.next_seq());
        sending.sender.outbox.append(|out| write::any(out, &Frame::Drain { stop_seq }));
        drop(sending);
        session.flush();
    }
    let mut report = CloseReport { sessions: sessions.len(), ..CloseReport::default() };
    for (session, drain) in sessions.iter().zip(drains) {
        // The rest is counted, whether the time is over or not.
        let _ = timeout_at(end, wait_until_settled(session)).await;
        add_unsettled(session, drain, &mut report);
        session.sending().sender.close(Code::BYE, "");
        session.flush();
        // The goodbye is a courtesy: nothing waits for a socket that does not accept it at once.
        session.end(why, EndKind::Closed);
        session.halt();
    }
    report
}

/// Waits until everything is acknowledged and answered, or the session has ended.
async fn wait_until_settled(session: &Session) {
    loop {
        let progress = session.progress.notified();
        let (ended, settled) = {
            let sending = session.sending();
            let settled =
                sending.sender.outbox.is_settled() && answers_owed(session, &sending) == 0;
            (sending.ended.is_some(), settled)
        };
        if ended || settled && session.asks.waiting() == 0 {
            return;
        }
        progress.await;
    }
}

/// Asks of the peer that have no completion yet.
fn answers_owed(session: &Session, sending: &SendState) -> u64 {
    session.asks_received.load(Ordering::Acquire).saturating_sub(sending.asks_answered)
}

/// Adds the calls and answers whose fate is open, without DRAIN itself, which has the number `drain`.
fn add_unsettled(session: &Session, drain: u64, report: &mut CloseReport) {
    let sending = session.sending();
    let outbox = &sending.sender.outbox;
    let (unsent, unknown) = outbox.unsettled();
    let is_unsent = outbox.sent() <= drain;
    let is_unknown = !is_unsent && outbox.acked() <= drain;
    report.not_delivered += unsent.saturating_sub(u64::from(is_unsent));
    report.unknown += unknown.saturating_sub(u64::from(is_unknown));
    report.answers_owed += answers_owed(session, &sending);
    drop(sending);
    report.unanswered += session.asks.waiting();
}
