//! The proofs of shared keys in the opening of a connection, from either side.

use std::sync::Arc;

use wigwag_actor::Principal;
use wigwag_link::opening::shared_key::{Proof, Prover};
use wigwag_link::{Code, LinkError, Opening};
use wigwag_net::Connection;
use wigwag_wire::Buffer;

use crate::access::{NodeAccess, SharedKey, binding, principal_of};

/// One side's part in proving keys.
pub(crate) struct Authentication<'a> {
    access: &'a NodeAccess,
    side: Prover,
    /// The name of the key that the peer has proven.
    proven: Option<Arc<str>>,
}

impl<'a> Authentication<'a> {
    /// The part of `side`.
    pub(crate) fn new(access: &'a NodeAccess, side: Prover) -> Authentication<'a> {
        Authentication { access, side, proven: None }
    }

    /// True if the peer may prove a key.
    pub(crate) fn reads_proofs(&self) -> bool {
        match self.side {
            Prover::Dialer => self.access.own_key().is_some(),
            Prover::Listener => self.access.accepts_keys(),
        }
    }

    /// The message with which a dialer proves its key, if it has one.
    pub(crate) fn first(&self, opening: &Opening, connection: &Connection) -> Option<Buffer> {
        let key = self.access.own_key().filter(|_| self.side == Prover::Dialer)?;
        self.proof(key, opening, connection)
    }

    /// Checks the proof of the peer. A listener gets the message that proves the same key to the
    /// dialer.
    ///
    /// # Errors
    /// The key is unknown, or the proof is wrong: the same answer for both.
    pub(crate) fn receive(
        &mut self,
        proof: &Proof,
        opening: &Opening,
        connection: &Connection,
    ) -> Result<Option<Buffer>, LinkError> {
        let prover = match self.side {
            Prover::Dialer => Prover::Listener,
            Prover::Listener => Prover::Dialer,
        };
        let binding = binding(connection, self.side);
        let covered = opening.proof_covers(prover, &proof.key, &binding).ok_or_else(not_proven)?;
        let is_proven = |key: &&SharedKey| key.is_proven(covered.as_slice(), &proof.hash);
        let key = match self.side {
            Prover::Dialer => {
                let own = self.access.own_key();
                own.filter(|own| own.name().as_bytes() == proof.key).filter(is_proven)
            }
            Prover::Listener => self.access.accepted_keys(&proof.key).find(is_proven),
        };
        let key = key.ok_or_else(not_proven)?;
        self.proven = Some(key.name().clone());
        match self.side {
            Prover::Dialer => Ok(None),
            Prover::Listener => Ok(self.proof(key, opening, connection)),
        }
    }

    /// The identity of the peer, once its proofs have come.
    ///
    /// # Errors
    /// This node has proven its key, and the peer has not.
    pub(crate) fn principal(&self, connection: &Connection) -> Result<Principal, LinkError> {
        let needs_proof = self.side == Prover::Dialer && self.access.own_key().is_some();
        if needs_proof && self.proven.is_none() {
            return Err(not_proven());
        }
        Ok(principal_of(connection, self.proven.as_ref()))
    }

    fn proof(&self, key: &SharedKey, opening: &Opening, connection: &Connection) -> Option<Buffer> {
        let name = key.name().as_bytes();
        let covered = opening.proof_covers(self.side, name, &binding(connection, self.side))?;
        let hash = key.prove(covered.as_slice());
        Some(Opening::proof(&Proof { key: name.to_vec(), hash }))
    }
}

fn not_proven() -> LinkError {
    let rule = "the peer has not proven a shared key that this node accepts";
    LinkError::Misbehaved { code: Code::AUTH_FAILED, rule }
}
