//! The task of one link: turns its crank, and tells everybody when it is over.

use std::sync::Arc;

use wigwag_net::Connection;
use wigwag_net::driver::{self, Ending};
use wigwag_wire::ReadBuf;

use crate::link::Link;
use crate::node::WeakNode;

/// However the driver ends, by itself or with its runtime: nobody waits for it in vain.
struct EndOnDrop(Arc<Link>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        // Finds nothing to do when the driver has given a reason.
        self.0.end("the runtime has ended");
        self.0.let_go();
    }
}

pub(crate) async fn drive(
    link: Arc<Link>,
    mut connection: Connection,
    mut input: ReadBuf,
    node: WeakNode,
) {
    let _over = EndOnDrop(link.clone());
    let why = tokio::select! {
        ending = driver::drive(&*link, &mut *connection.reader, &mut input, &link.flusher) => {
            match ending {
                Ending::Protocol(error) => error.to_string(),
                Ending::PeerClosed => "the peer closed the connection".to_owned(),
                Ending::Io(error) => error.to_string(),
            }
        }
        () = link.cut.notified() => "the session was closed here".to_owned(),
    };
    tracing::debug!(peer = %link.peer, why, "a session is over");
    link.end(&why);
    if let Some(node) = node.upgrade() {
        node.forget(&link);
    }
}
