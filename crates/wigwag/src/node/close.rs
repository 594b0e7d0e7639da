//! The end of a node, in good order.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use wigwag_link::frame::Frame;
use wigwag_link::{Code, write};

use super::Node;
use crate::session::Session;
use crate::session::buffers;

/// What became of what a node had to say when it was closed. The numbers count frames: calls,
/// replies and what goes with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CloseReport {
    /// Sessions that were open.
    pub sessions: usize,
    /// Frames that never left: certainly not delivered.
    pub not_delivered: u64,
    /// Frames that left and were not acknowledged in time: delivered or not.
    pub unknown: u64,
    /// Asks whose answers had not come.
    pub unanswered: usize,
}

impl CloseReport {
    /// True when everything was delivered and answered.
    pub fn is_clean(&self) -> bool {
        self.not_delivered == 0 && self.unknown == 0 && self.unanswered == 0
    }
}

impl Node {
    /// Ends the node: lets nobody in any more, tells the peers to send no more calls, waits until
    /// all that was sent is acknowledged and all asks are answered, at most until `deadline`, and
    /// says goodbye. The second call finds nothing to do.
    ///
    /// # Cancellation
    /// Dropped while it waits, the node is closed for new calls and its sessions go on until the
    /// node is dropped.
    pub async fn close(&self, deadline: Duration) -> CloseReport {
        let end = Instant::now() + deadline;
        self.inner.stop_listening();
        buffers::publish_all();
        let sessions = self.inner.sessions().iter().cloned().collect();
        let report = close_sessions(sessions, end, "this node was closed").await;
        self.inner.exports.clear();
        report
    }
}

/// Ends links in good order, at the latest at `end`.
pub(crate) async fn close_sessions(
    mut sessions: Vec<Arc<Session>>,
    end: Instant,
    why: &str,
) -> CloseReport {
    // A link that is over stays in the node's list until its driver has looked.
    sessions.retain(|session| session.sending().ended.is_none());
    for session in &sessions {
        // What comes in from now on is still handled; what we would send is refused here.
        session.start_draining();
        let mut sending = session.sending();
        let stop_seq = 0;
        sending.sender.outbox.append(|out| write::any(out, &Frame::Drain { stop_seq }));
        drop(sending);
        session.flush();
    }
    let mut report = CloseReport { sessions: sessions.len(), ..CloseReport::default() };
    for session in &sessions {
        // Over or not, what is left is counted.
        let _ = timeout_at(end, wait_until_settled(session)).await;
        add_unsettled(session, &mut report);
        session.sending().sender.close(Code::BYE, "");
        session.flush();
        // The goodbye is a courtesy: what the socket does not take at once is not waited for.
        session.end(why);
        session.halt();
    }
    report
}

/// Waits until everything is acknowledged and answered, or the link is over.
async fn wait_until_settled(session: &Session) {
    loop {
        let progress = session.progress.notified();
        let (ended, settled) = {
            let sending = session.sending();
            let settled = sending.sender.outbox.is_settled();
            (sending.ended.is_some(), settled)
        };
        if ended || settled && session.asks.waiting() == 0 {
            return;
        }
        progress.await;
    }
}

fn add_unsettled(session: &Session, report: &mut CloseReport) {
    let sending = session.sending();
    let outbox = &sending.sender.outbox;
    let untaken = outbox.untaken_frames();
    report.not_delivered += untaken;
    report.unknown += outbox.unacked() - untaken;
    drop(sending);
    report.unanswered += session.asks.waiting();
}
