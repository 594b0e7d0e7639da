//! The task of one session on one connection: turns its crank, finds the next connection when this one
//! is cut, and tells everybody when the session is over.

use std::sync::Arc;

use wigwag_link::LinkError;
use wigwag_net::Connection;
use wigwag_net::driver::{self, Ending};
use wigwag_wire::ReadBuf;

use crate::carrier::{Broken, Carried, Carrier};
use crate::link::Link;
use crate::node::WeakNode;
use crate::resuming::{self, Next};

/// However the task ends, by itself or with its runtime: nobody waits for the session in vain, unless
/// another task has it.
struct EndOnDrop {
    link: Arc<Link>,
    is_ours: bool,
}

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        if self.is_ours {
            // Finds nothing to do when there is a reason already.
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

/// Cares for a session from this connection on.
pub(crate) async fn tend(
    link: Arc<Link>,
    mut carrier: Arc<Carrier>,
    mut connection: Connection,
    mut input: ReadBuf,
    node: WeakNode,
) {
    let mut over = EndOnDrop { link: link.clone(), is_ours: true };
    let why = loop {
        let why = match drive(&link, &carrier, &mut connection, &mut input).await {
            Verdict::Over(why) => break why,
            Verdict::Cut(why) => why,
            Verdict::Left => {
                connection.outlet.close();
                over.is_ours = false;
                return;
            }
        };
        if !link.resuming.is_on() {
            break why;
        }
        tracing::debug!(peer = %link.peer, why, "a session has lost its connection");
        link.lost(&carrier, &why);
        match resuming::next(&link, carrier.epoch, &why).await {
            Next::On(found) => {
                (connection, input, carrier) = *found;
            }
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

async fn drive(
    link: &Link,
    carrier: &Carrier,
    connection: &mut Connection,
    input: &mut ReadBuf,
) -> Verdict {
    let halted = || Verdict::Over("the session was closed here".to_owned());
    if link.is_halted() {
        return halted();
    }
    let carried = Carried { link, carrier };
    let ending = tokio::select! {
        ending = driver::drive(&carried, &mut *connection.reader, input, &carrier.flusher) => ending,
        () = carrier.leave.notified() => {
            return if link.is_halted() { halted() } else { Verdict::Left };
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
