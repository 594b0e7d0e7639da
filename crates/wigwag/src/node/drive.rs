//! The task of one session: drives its connection, finds the next one after a cut, and ends the
//! session.

use std::future::pending;
use std::sync::Arc;

use tokio::time::sleep;
use wigwag_link::{Code, LinkError};
use wigwag_net::Connection;
use wigwag_net::driver::{self, Ending};
use wigwag_wire::ReadBuf;

use super::inner::WeakNode;
use crate::connect::redial::{self, NextConnection};
use crate::session::connection::{DrivenSession, SessionConnection, StopReason};
use crate::session::{EndKind, Session};

/// Ends the session when its task ends, by itself or with the runtime, so that nothing waits for
/// the session in vain. Not if another task has taken over.
struct EndOnDrop {
    session: Arc<Session>,
    is_ours: bool,
}

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        if self.is_ours {
            // No effect if the session has ended already.
            self.session.send_bye();
            self.session.end("the runtime has ended", EndKind::Lost);
            self.session.release();
        }
    }
}

/// How driving a connection has ended.
enum ConnectionEnd {
    /// The session is over.
    Ended(String, EndKind),
    /// The connection is cut.
    Cut(String),
    /// Another task drives the session.
    Superseded,
}

/// Drives a session from this connection on, until it ends or another task takes over.
pub(crate) async fn drive_session(
    session: Arc<Session>,
    session_connection: Arc<SessionConnection>,
    connection: Connection,
    input: ReadBuf,
    node: WeakNode,
) {
    let mut guard = EndOnDrop { session: session.clone(), is_ours: true };
    let mut next = (connection, input, session_connection);
    let (why, how) = loop {
        let (connection, input, session_connection) = next;
        let why = match drive(&session, &session_connection, connection, input).await {
            ConnectionEnd::Ended(why, how) => break (why, how),
            ConnectionEnd::Cut(why) => why,
            ConnectionEnd::Superseded => {
                session_connection.flusher.retire();
                guard.is_ours = false;
                return;
            }
        };
        if !session.resumption.is_enabled() {
            break (why, EndKind::Lost);
        }
        session.connection_lost(&session_connection, &why);
        match redial::next(&session, session_connection.epoch, &why).await {
            NextConnection::Resumed(resumed) => next = *resumed,
            NextConnection::Superseded => {
                guard.is_ours = false;
                return;
            }
            NextConnection::End(why) => break (why, EndKind::Lost),
        }
    };
    session.end(&why, how);
    if let Some(node) = node.upgrade() {
        node.forget(&session);
    }
}

/// Drives one connection to its end. The reading half is closed when this returns: a session that
/// waits for its next connection holds no descriptor of the last one.
async fn drive(
    session: &Session,
    session_connection: &SessionConnection,
    mut connection: Connection,
    mut input: ReadBuf,
) -> ConnectionEnd {
    let halted = || ConnectionEnd::Ended("the session was closed here".to_owned(), EndKind::Closed);
    if session.is_halted() {
        return halted();
    }
    let driven = DrivenSession { session, connection: session_connection };
    let ending = tokio::select! {
        ending = driver::drive(&driven, &mut *connection.reader, &mut input, &session_connection.flusher) => ending,
        () = session_connection.leave.notified() => {
            return if session.is_halted() { halted() } else { ConnectionEnd::Superseded };
        }
        () = silence_timeout(session) => {
            let rule = "a dialer says something within 5 s of the session's opening";
            session.dismiss(Code::TOO_MANY, rule);
            return ConnectionEnd::Ended(rule.to_owned(), EndKind::Lost);
        }
    };
    match ending {
        Ending::Protocol(StopReason::Superseded) => ConnectionEnd::Superseded,
        Ending::Protocol(StopReason::Error(error @ LinkError::Silent)) => {
            ConnectionEnd::Cut(error.to_string())
        }
        Ending::Protocol(StopReason::Error(error)) => {
            let is_bye = matches!(error, LinkError::ClosedByPeer { code: Code::BYE, .. });
            let how = if is_bye { EndKind::Closed } else { EndKind::Lost };
            ConnectionEnd::Ended(error.to_string(), how)
        }
        Ending::PeerClosed => ConnectionEnd::Cut("the peer closed the connection".to_owned()),
        Ending::Io(error) => ConnectionEnd::Cut(error.to_string()),
    }
}

/// Returns when a silent session has used up its time; never if anything has arrived.
async fn silence_timeout(session: &Session) {
    if session.is_silent() {
        sleep(session.silence_left()).await;
    }
    if !session.is_silent() {
        pending().await
    }
}
