//! The admission of a session: whether a node opens one with a peer, and whether it lets the peer
//! open one (section 1).
//!
//! Two nodes share one session, whichever of them has dialed. So a listener compares an OPEN with the
//! session that exists and with its own OPEN to that peer, and a dialer makes the same comparison
//! before it sends OPEN. Each decision and the entry that it makes in the table of pending OPENs are
//! one step, under the caller's lock; an entry stays until the session can be found, so that two
//! decisions of a node never miss each other.

use crate::code::Code;
use crate::error::LinkError;
use crate::opening::Identity;

/// How far a living session with a peer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionProgress {
    /// This node has dialed it, or something was received over it: its dialer has the token and can
    /// resume it.
    Established,
    /// The peer has dialed it, and nothing was received over it: the peer may not know that it is
    /// open.
    Silent,
    /// A silent session that has lost its connection: the peer may not come back for it.
    SilentAndCut,
}

/// The state of a peer at a node when another session with one of its incarnations is requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerState {
    /// The living session between the two.
    pub session: Option<SessionProgress>,
    /// An OPEN of this node to the peer is pending.
    pub is_dialing: bool,
    /// An OPEN of the peer was admitted, and its session has not started.
    pub is_accepting: bool,
    /// This node is about to close, and admits no peer.
    pub is_closing: bool,
}

/// How a listener admits an OPEN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The session opens beside the other one of a node that has dialed itself: each end has its own.
    Loopback,
    /// The session opens as the only one between the two.
    Only,
    /// The session opens in place of a silent one, which ends.
    Replacement,
}

impl PeerState {
    /// Decides whether the peer that has sent OPEN may open a session with this node.
    ///
    /// An established session stays, because its dialer has a token and can resume it. If both
    /// nodes have dialed at once, the dial of the lower node id wins.
    ///
    /// # Errors
    /// The code and the rule with which the OPEN is refused: Draining, Exists or DialTie.
    pub fn admit(&self, ours: &Identity, peer: &Identity) -> Result<Admission, LinkError> {
        let refuse = |code, rule| Err(LinkError::Misbehaved { code, rule });
        if self.is_closing {
            return refuse(Code::DRAINING, "the node is closing");
        }
        if is_loopback(ours, peer) {
            return Ok(Admission::Loopback);
        }
        if self.session == Some(SessionProgress::Established) {
            let rule = "the session between the two is used, and resumed with its token";
            return refuse(Code::EXISTS, rule);
        }
        if self.is_dialing && ours.node < peer.node {
            return refuse(Code::DIAL_TIE, "of two dials that of the lower node id wins");
        }
        match self.session {
            None => Ok(Admission::Only),
            Some(_) => Ok(Admission::Replacement),
        }
    }

    /// Decides whether this node, which has dialed the peer and read its HELLO, sends OPEN. If not,
    /// there is another session between the two, or there will be one at once.
    ///
    /// A session that is silent and cut does not count. If the peer still has it, the peer refuses
    /// the OPEN in its favour.
    pub fn may_open(&self, ours: &Identity, peer: &Identity) -> bool {
        let has_session = self.session.is_some_and(|it| it != SessionProgress::SilentAndCut);
        is_loopback(ours, peer) || !(self.is_dialing || self.is_accepting || has_session)
    }
}

/// True if a peer has refused OPEN because another session between the two exists or is about to
/// start: its dialer waits for that one.
pub fn yields_to_another(refusal: &LinkError) -> bool {
    let LinkError::ClosedByPeer { code, .. } = refusal else { return false };
    [Code::DIAL_TIE, Code::EXISTS].contains(code)
}

/// A node that dials itself has two sessions with one incarnation, one for each end.
fn is_loopback(ours: &Identity, peer: &Identity) -> bool {
    ours.incarnation == peer.incarnation
}

#[cfg(test)]
mod tests;
