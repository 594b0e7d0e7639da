//! Where peers arrive: accepts connections and opens sessions, each in a task of its own.

use std::sync::OnceLock;

use wigwag_link::resume::{Claim, PROOF_BYTES};
use wigwag_link::{Code, Identity, LinkError};
use wigwag_net::{Connection, Listener};
use wigwag_wire::ReadBuf;

use crate::limits::{ACCEPT_PAUSE, SESSIONS_MAX};
use crate::node::{WeakNode, lock};
use crate::opening::{self, Accepted};
use crate::resuming;

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
    let Some(ttl_ms) = node.upgrade().map(|node| node.ttl_ms()) else {
        return;
    };
    let admitted = Admitted { node: &node, incarnation: OnceLock::new() };
    let admit = |who: &Identity| admitted.admit(who);
    let accepted = opening::accept(&mut connection, &mut input, ours, ttl_ms, admit).await;
    let started = match accepted {
        Ok(Accepted::Opened(opened)) => match node.upgrade() {
            Some(node) => node.start(connection, input, &opened, None).map(drop),
            None => Err(crate::NodeError::Closed),
        },
        Ok(Accepted::Claimed(claim, proof)) => {
            go_on(connection, input, &node, &claim, &proof).await
        }
        Err(error) => Err(error),
    };
    if let Err(error) = started {
        outlet.close();
        tracing::info!(%peer, %error, "a peer was not let in");
    }
}

/// A dialer wants to go on with a session.
async fn go_on(
    connection: Connection,
    input: ReadBuf,
    node: &WeakNode,
    claim: &Claim,
    proof: &[u8; PROOF_BYTES],
) -> Result<(), crate::NodeError> {
    let Some(whole) = node.upgrade() else {
        return Err(crate::NodeError::Closed);
    };
    let unknown = || LinkError::Misbehaved {
        code: Code::SESSION_UNKNOWN,
        rule: "no session of that id is kept here",
    };
    let let_in = whole.claimed(claim).ok_or_else(unknown).and_then(|link| {
        let message = resuming::let_in(&link, claim, proof)?;
        Ok((link, message))
    });
    let peer = connection.peer.clone();
    let (link, message) = opening::told(&connection, &peer, let_in).await?;
    // From here on the session is on this connection, whatever becomes of it.
    let sent = opening::send(&connection, message.as_slice()).await;
    match link.carry_on(claim.epoch, &connection, claim.recv_next) {
        Ok(Some(carrier)) => whole.tend(link, carrier, connection, input),
        // A newer one has it.
        Ok(None) => connection.outlet.close(),
        Err(error) => {
            // It is the peer, by its proof, and it breaks the rules.
            link.end(&error.to_string());
            link.let_go();
            whole.forget(&link);
            return opening::told(&connection, &peer, Err(error)).await;
        }
    }
    sent
}

/// A peer that was let in, until its link has begun; known to those who dial.
struct Admitted<'a> {
    node: &'a WeakNode,
    incarnation: OnceLock<u128>,
}

impl Admitted<'_> {
    /// A session between the two may exist already. It is kept when we dialed it; when the peer did,
    /// it has lost its state and knows, so the old one ends. When both dial at once, the dial of the
    /// lower node id wins.
    fn admit(&self, who: &Identity) -> Result<(), LinkError> {
        let Some(node) = self.node.upgrade() else {
            let rule = "the node is closing";
            return Err(LinkError::Misbehaved { code: Code::DRAINING, rule });
        };
        if who.incarnation == node.identity().incarnation {
            return Ok(());
        }
        // Looked at first: whoever asks stays there until the link has begun.
        let mut beginning = lock(&node.beginning);
        let asked = beginning.asked.contains(&who.incarnation);
        let old = node.link_with(who.incarnation);
        let full = node.links().len() >= SESSIONS_MAX;
        let (code, rule) = match &old {
            Some(old) if old.dialed => (Code::EXISTS, "the session that was dialed first is used"),
            None if full => (Code::TOO_MANY, "a node has at most 8192 sessions"),
            None if asked && node.node < who.node => {
                (Code::DIAL_TIE, "of two dials that of the lower node id wins")
            }
            _ => {
                old.inspect(|old| old.halt());
                beginning.admitted.push(who.incarnation);
                let _ = self.incarnation.set(who.incarnation);
                return Ok(());
            }
        };
        Err(LinkError::Misbehaved { code, rule })
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        if let (Some(peer), Some(node)) = (self.incarnation.get(), self.node.upgrade()) {
            let mut beginning = lock(&node.beginning);
            let at = beginning.admitted.iter().position(|admitted| admitted == peer);
            at.map(|at| beginning.admitted.swap_remove(at));
        }
    }
}
