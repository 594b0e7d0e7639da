//! The task of one session on one connection: turns its crank, finds the next connection when this one
//! is cut, and tells everybody when the session is over.

use std::future::pending;
use std::sync::Arc;

use tokio::time::sleep;
use wigwag_link::{Code, LinkError};
use wigwag_net::Connection;
use wigwag_net::driver::{self, Ending};
use wigwag_wire::ReadBuf;

use super::inner::WeakNode;
use crate::connect::redial::{self, Next};
use crate::session::Link;
use crate::session::connection::{Broken, Carried, Carrier};

/// However the task ends, by itself or with its runtime: nobody waits for the session in vain, unless
/// another task has it.
struct EndOnDrop {
    link: Arc<Link>,
    is_ours: bool,
}

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        if self.is_ours {
            // Both find nothing to do when the session has ended already.
            self.link.say_goodbye();
            self.link.end("the runtime has ended");
            self.link.let_go();
        }
    }
}

/// What comes after a connection.
enum Verdict {
    /// The session is over.
    Over(String),
    /// The connection is cut.
    Cut(String),
    /// Another task has the session.
    Left,
}

/// Drives a session from this connection on, until the session ends or another task has it.
pub(crate) async fn tend(
    link: Arc<Link>,
    carrier: Arc<Carrier>,
    connection: Connection,
    input: ReadBuf,
    node: WeakNode,
) {
    let mut over = EndOnDrop { link: link.clone(), is_ours: true };
    let mut next = (connection, input, carrier);
    let why = loop {
        let (connection, input, carrier) = next;
        let why = match drive(&link, &carrier, connection, input).await {
            Verdict::Over(why) => break why,
            Verdict::Cut(why) => why,
            Verdict::Left => {
                carrier.flusher.retire();
                over.is_ours = false;
                return;
            }
        };
        if !link.resuming.is_on() {
            break why;
        }
        tracing::debug!(peer = %link.peer, why, "a session has lost its connection");
        link.lost(&carrier, &why);
        match redial::next(&link, carrier.epoch, &why).await {
            Next::On(found) => next = *found,
            Next::Elsewhere => {
                over.is_ours = false;
                return;
            }
            Next::End(why) => break why,
        }
    };
    tracing::debug!(peer = %link.peer, why, "a session is over");
    link.end(&why);
    if let Some(node) = node.upgrade() {
        node.forget(&link);
    }
}

/// Drives one connection to its end. Its reading half is closed when this returns: a session that
/// waits for its next connection holds no descriptor of the last one.
async fn drive(
    link: &Link,
    carrier: &Carrier,
    mut connection: Connection,
    mut input: ReadBuf,
) -> Verdict {
    let halted = || Verdict::Over("the session was closed here".to_owned());
    if link.is_halted() {
        return halted();
    }
    let carried = Carried { link, carrier };
    let ending = tokio::select! {
        ending = driver::drive(&carried, &mut *connection.reader, &mut input, &carrier.flusher) => ending,
        () = carrier.leave.notified() => {
            return if link.is_halted() { halted() } else { Verdict::Left };
        }
        () = stays_silent(link) => {
            let rule = "a dialer says something within 5 s of the session's opening";
            link.dismiss(Code::TOO_MANY, rule);
            return Verdict::Over(rule.to_owned());
        }
    };
    match ending {
        Ending::Protocol(Broken::Left) => Verdict::Left,
        Ending::Protocol(Broken::By(error @ LinkError::Silent)) => Verdict::Cut(error.to_string()),
        Ending::Protocol(Broken::By(error)) => Verdict::Over(error.to_string()),
        Ending::PeerClosed => Verdict::Cut("the peer closed the connection".to_owned()),
        Ending::Io(error) => Verdict::Cut(error.to_string()),
    }
}

/// Waits until a session over which nothing has come is over; for ever if something has.
async fn stays_silent(link: &Link) {
    if link.is_silent() {
        sleep(link.silent_left()).await;
    }
    if !link.is_silent() {
        pending().await
    }
}
