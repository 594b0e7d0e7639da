//! Sessions of real nodes, for the unit tests of what sessions count.

use std::sync::Arc;

use super::Session;
use crate::Node;

/// Opens a session between two nodes. Returns the end of the dialer and that of the listener.
pub(crate) async fn session_of(dialer: &Node, listener: &Node) -> [Arc<Session>; 2] {
    let bound = listener.listen("tcp://127.0.0.1:0").await.unwrap();
    dialer.connect(&bound.to_string()).await.unwrap();
    [
        session_with(dialer, listener.inner.incarnation).await,
        session_with(listener, dialer.inner.incarnation).await,
    ]
}

/// The session of `node` with this incarnation of a peer, once it has started.
pub(crate) async fn session_with(node: &Node, incarnation: u128) -> Arc<Session> {
    loop {
        if let Some(session) = node.inner.session_with(incarnation) {
            return session;
        }
        tokio::task::yield_now().await;
    }
}
