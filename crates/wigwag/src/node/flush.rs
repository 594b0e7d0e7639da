//! Waiting until what was sent has reached the peers, and the sessions that have ended before.

use std::sync::{Arc, Mutex};

use wigwag_actor::turn;
use wigwag_link::outbox::PublishedEnd;

use super::Node;
use crate::error::NodeError;
use crate::lock::lock;
use crate::session::Session;

impl Node {
    /// Waits until the peers have everything that was sent so far: calls, replies, and what manages
    /// references.
    ///
    /// A call that was sent is published by its turn and written by a task, so a process that exits
    /// right after a `tell` may take the message with it. This waits for the
    /// acknowledgement of the peers: the messages are then in the queues of their actors, and
    /// handled unless the peer dies. Other senders may go on meanwhile; what they send later is not
    /// waited for.
    ///
    /// Counted is also what the open turns of other tasks have sent. A call that waits for room is
    /// not sent yet.
    ///
    /// ```
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
    /// client.flush().await?;
    /// // From here on even `std::process::exit` loses nothing.
    /// # Ok(()) }
    /// ```
    ///
    /// # Limits
    /// It takes a round trip, and up to 10 ms by which a peer may delay its acknowledgement. While a
    /// session has no connection it waits for as long as the session is kept: 60 s and 5 s more by
    /// default ([`NodeOptions::keep_sessions`](crate::NodeOptions::keep_sessions)). Use
    /// `tokio::time::timeout` for less.
    ///
    /// # Errors
    /// [`Lost`](NodeError::Lost), if a session ends before its peer has acknowledged everything, or
    /// has ended since the last `flush` with calls that are unknown or not delivered. It names the peer and the reason; the
    /// session's [event](crate::session::SessionChange::Ended) counts the calls. All other sessions
    /// are waited for nevertheless. If several were lost, the error names one of them and the number
    /// of the others.
    ///
    /// # Cancellation
    /// If dropped while it waits, everything is sent nevertheless. Sessions that were lost before
    /// are reported by the next `flush`.
    pub async fn flush(&self) -> Result<(), NodeError> {
        turn::buffers::publish_all();
        let sessions: Vec<Arc<Session>> = self.inner.sessions().iter().cloned().collect();
        sessions.iter().for_each(|session| session.publish_held());
        let marked: Vec<_> = sessions.iter().filter_map(|session| mark(session)).collect();
        marked.iter().for_each(|(session, _)| session.flush());
        let mut ended = None;
        for (session, mark) in marked {
            if let Err(why) = session.acknowledged_up_to(mark).await {
                ended.get_or_insert((session.peer.clone(), why, 0));
            }
        }
        // A session that has lost calls has left a report, whenever it ended.
        match self.inner.lost.take().or(ended) {
            None => Ok(()),
            Some((peer, why, others)) => Err(NodeError::Lost { peer, why, others }),
        }
    }
}

/// The session with what it has published; `None` if it has ended, and its report is there.
fn mark(session: &Arc<Session>) -> Option<(&Arc<Session>, PublishedEnd)> {
    let sending = session.sending();
    let mark = sending.sender.outbox.published();
    (!sending.is_announced()).then_some((session, mark))
}

/// The sessions that were lost since the last flush, with calls that their peers may not have: the first
/// one, and the number of the others.
#[derive(Default)]
pub(crate) struct LostSessions(Mutex<Option<LostSession>>);

/// Its peer, the reason, and the number of other sessions that were lost.
type LostSession = (Arc<str>, Arc<str>, usize);

impl LostSessions {
    /// Records a session.
    pub(crate) fn add(&self, peer: &Arc<str>, why: &Arc<str>) {
        let mut lost = lock(&self.0);
        match &mut *lost {
            Some((_, _, others)) => *others += 1,
            None => *lost = Some((peer.clone(), why.clone(), 0)),
        }
    }

    /// Takes the report.
    pub(crate) fn take(&self) -> Option<LostSession> {
        lock(&self.0).take()
    }
}
