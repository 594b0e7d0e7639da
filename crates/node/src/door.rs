//! Where peers arrive: accepts connections and opens sessions, each in a task of its own.

use wigwag_link::{Code, Identity, LinkError};
use wigwag_net::{Connection, Listener};
use wigwag_wire::ReadBuf;

use crate::limits::{ACCEPT_PAUSE, SESSIONS_MAX};
use crate::node::{WeakNode, lock};
use crate::opening;

/// Accepts until the node is gone. At most [`crate::limits::HANDSHAKES_MAX`] peers are strangers at
/// a time; the next ones wait in the backlog.
pub(crate) async fn open(listener: Box<dyn Listener>, node: WeakNode) {
    loop {
        let Some(handshakes) = node.upgrade().map(|node| node.handshakes.clone()) else {
            return;
        };
        let Ok(place) = handshakes.acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok(connection) => {
                let node = node.clone();
                tokio::spawn(async move {
                    let _place = place;
                    welcome(connection, node).await;
                });
            }
            Err(error) => {
                // Most often no file handles are left; they come back when connections end.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn welcome(mut connection: Connection, node: WeakNode) {
    let peer = connection.peer.clone();
    let outlet = connection.outlet.clone();
    let mut input = ReadBuf::new();
    let Some(ours) = node.upgrade().map(|node| node.identity()) else {
        return;
    };
    let opened = opening::accept(&mut connection, &mut input, ours, |who| admit(&node, who)).await;
    let started = opened.and_then(|identity| match node.upgrade() {
        Some(node) => node.start(connection, input, identity, false).map(drop),
        None => Err(crate::NodeError::Closed),
    });
    if let Err(error) = started {
        outlet.close();
        tracing::info!(%peer, %error, "a peer was not let in");
    }
}

/// A session between the two may exist already. It is kept when we dialed it; when the peer did, it
/// has lost its state and knows, so the old one ends. When both dial at once, the dial of the lower
/// node id wins.
fn admit(node: &WeakNode, who: &Identity) -> Result<(), LinkError> {
    let Some(node) = node.upgrade() else {
        let rule = "the node is closing";
        return Err(LinkError::Misbehaved { code: Code::DRAINING, rule });
    };
    if who.incarnation == node.identity().incarnation {
        return Ok(());
    }
    // Looked at first: whoever asks stays there until the link has begun.
    let asking = lock(&node.asking).contains(&who.incarnation);
    let old = node.link_with(who.incarnation);
    let full = node.links().len() >= SESSIONS_MAX;
    let (code, rule) = match &old {
        Some(old) if old.dialed => (Code::EXISTS, "the session that was dialed first is used"),
        None if full => (Code::TOO_MANY, "a node has at most 8192 sessions"),
        None if asking && node.node < who.node => {
            (Code::DIAL_TIE, "of two dials that of the lower node id wins")
        }
        _ => {
            old.inspect(|old| old.cut.notify_one());
            return Ok(());
        }
    };
    Err(LinkError::Misbehaved { code, rule })
}
