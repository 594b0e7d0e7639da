//! The state that lets a session continue over its next connection: its token, its epochs, and the
//! check of claims.
//!
//! Each connection has a greater epoch than the one before, which shuts the old one out.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::watch;
use wigwag_actor::Principal;
use wigwag_link::opening::Recognized;
use wigwag_link::opening::resume::{Claim, Credentials, PROOF_BYTES, unknown_session};
use wigwag_link::{Code, Identity, LinkError};
use wigwag_net::{Address, DialOptions};
use wigwag_wire::Buffer;

use super::Session;
use crate::error::NodeError;
use crate::events::SessionChange;
use crate::lock::lock;
use crate::random;
use crate::session::EndKind;

/// The state that a session needs to outlive its connection.
pub(crate) struct Resumption {
    id: u128,
    /// How long the session is kept after a cut; zero ends it with its connection.
    ttl: Duration,
    credentials: Mutex<Credentials>,
    /// The address that this side has dialed; `None` if the peer has dialed.
    dialed: Option<Address>,
    /// The options to dial it with.
    dial_options: DialOptions,
    /// The epoch of the current connection.
    epoch: watch::Sender<u64>,
}

/// The proof of a claim: HMAC-SHA-256 (RFC 2104), with the token as its key.
pub(crate) fn prove(token: u128, bytes: &[u8]) -> [u8; PROOF_BYTES] {
    hmac_sha256::HMAC::mac(bytes, token.to_le_bytes())
}

impl Resumption {
    pub(crate) fn new(
        id: u128,
        ttl: Duration,
        credentials: Credentials,
        dialed: Option<Address>,
        dial_options: DialOptions,
    ) -> Resumption {
        let (credentials, epoch) = (Mutex::new(credentials), watch::Sender::new(0));
        Resumption { id, ttl, credentials, dialed, dial_options, epoch }
    }

    /// The session's id.
    pub(crate) fn id(&self) -> u128 {
        self.id
    }

    /// How long the session is kept after a cut; zero ends it with its connection.
    pub(crate) fn ttl(&self) -> Duration {
        self.ttl
    }

    /// The address that this side has dialed; `None` if the peer has dialed.
    pub(crate) fn dialed(&self) -> Option<&Address> {
        self.dialed.as_ref()
    }

    /// The options of each dial of this session.
    pub(crate) fn dial_options(&self) -> &DialOptions {
        &self.dial_options
    }

    /// The session's credentials.
    pub(crate) fn credentials(&self) -> MutexGuard<'_, Credentials> {
        lock(&self.credentials)
    }

    /// True if the session outlives its connection.
    pub(crate) fn is_enabled(&self) -> bool {
        !self.ttl.is_zero()
    }

    /// True if a peer has dialed this session and claims it by its id.
    pub(crate) fn is_claimed_by(&self, claim: &Claim) -> bool {
        self.dialed.is_none() && self.is_enabled() && self.id == claim.session
    }

    /// Confirms the newest token: a batch over the newest connection shows that the dialer has it.
    pub(crate) fn confirm(&self) {
        self.credentials().confirm();
    }

    /// Makes `epoch` the current one.
    fn advance_epoch(&self, epoch: u64) {
        self.epoch.send_if_modified(|newest| {
            let newer = epoch > *newest;
            *newest = epoch.max(*newest);
            newer
        });
    }

    /// Waits until the session has left the connection of `epoch`.
    pub(crate) async fn superseded(&self, epoch: u64) {
        // `self` owns the sender, so the channel is open.
        let _ = self.epoch.subscribe().wait_for(|newest| *newest > epoch).await;
    }
}

/// Readmits a dialer: shuts out its old connection and returns the message that tells it where to
/// resume.
pub(crate) fn accept_claim(
    session: &Session,
    claim: &Claim,
    proof: &[u8; PROOF_BYTES],
) -> Result<Buffer, LinkError> {
    let fresh = random::id();
    session.resumption.credentials().check(claim, proof, prove, fresh)?;
    let Some(mut reading) = session.reading.advance(claim.epoch) else {
        let rule = "another connection of the session was newer";
        return Err(LinkError::Misbehaved { code: Code::TOKEN_BAD, rule });
    };
    let message = {
        let sending = session.sending();
        reading.dispatcher.readmit(claim, fresh, &sending.sender.outbox)
    };
    drop(reading);
    let message = message.inspect_err(|error| {
        // The proof is valid, so this is the peer, and it breaks the protocol.
        session.end(&error.to_string(), EndKind::Lost);
        session.halt();
    })?;
    session.resumption.advance_epoch(claim.epoch);
    session.connection().leave.notify_one();
    Ok(message)
}

/// Checks that the node at the peer's address is the peer.
pub(crate) fn check_identity(session: &Session, peer: &Identity) -> Result<(), NodeError> {
    match session.identity.recognize(peer) {
        Recognized::Same => Ok(()),
        Recognized::Restarted => Err(NodeError::Restarted),
        Recognized::Another => {
            let found = "another node listens at the address of the peer";
            session.announce(SessionChange::PeerChanged { found: found.into() });
            Err(NodeError::AnotherNode)
        }
    }
}

/// Checks that a connection comes from the identity with which the session was opened. The answer to
/// another one is that to a session that there is not.
pub(crate) fn check_principal(session: &Session, principal: &Principal) -> Result<(), LinkError> {
    match session.identity_place.identity().principal == *principal {
        true => Ok(()),
        false => Err(unknown_session()),
    }
}

/// The claim for the next connection, and its proof.
pub(crate) fn claim(
    session: &Session,
    nonces: [u128; 2],
) -> Result<(Claim, [u8; PROOF_BYTES]), LinkError> {
    // The old connection is not read any more, so this number stays.
    let recv_next = session.reading.lock().dispatcher.recv_next();
    let (claim, proof) = session.resumption.credentials().claim(recv_next, nonces, prove)?;
    let overtaken = || LinkError::protocol("another connection of the session was newer");
    session.reading.advance(claim.epoch).ok_or_else(overtaken)?;
    Ok((claim, proof))
}

#[cfg(all(test, not(wigwag_loom)))]
mod tests {
    use super::*;

    /// Each text that follows `"name": "`.
    fn all<'a>(text: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
        let key = format!("\"{name}\": \"");
        let rest = text.split(&key).skip(1).collect::<Vec<_>>();
        rest.into_iter().filter_map(|rest| Some(rest.split_once('"')?.0))
    }

    fn bytes(hex: &str) -> Vec<u8> {
        let digits = hex.as_bytes().chunks_exact(2);
        let byte = |two| u8::from_str_radix(str::from_utf8(two).ok()?, 16).ok();
        digits.map(|two| byte(two).expect("it is hex")).collect()
    }

    /// The vectors were made by another implementation of HMAC-SHA-256.
    #[test]
    fn proofs_are_those_of_the_vectors() {
        let vectors = include_str!("../../../../docs/vectors/link/opening.json");
        let resumes = vectors.split("\"RESUME\"").skip(1);
        let mut seen = 0;
        for resume in resumes {
            let of = |name| all(resume, name).next().expect("it has one");
            let token = u128::from_str_radix(&of("token")[2..], 16).expect("it is hex");
            assert_eq!(prove(token, &bytes(of("claim"))).to_vec(), bytes(of("proof")));
            seen += 1;
        }
        assert_eq!(seen, 2);
    }
}
