//! Session resumption: how a dialer continues its session over a new connection (section 7).
//!
//! The listener issues a token, with which the dialer makes a proof that is valid for one
//! connection only, because both nonces of its HELLOs are part of it. Each resumption brings a new
//! token. The old one stays valid until the first batch arrives over the new connection: RESUMED
//! may be lost, and a dialer that never received it would be locked out.
//!
//! This crate contains no cryptography: its user supplies the function that makes proofs. A node
//! uses HMAC-SHA-256 (RFC 2104).

use crate::code::Code;
use crate::error::LinkError;

/// Bytes of a proof.
pub const PROOF_BYTES: usize = 32;

/// Makes a proof: a keyed hash of the bytes, with the token as its key.
pub type ProofFn = fn(token: u128, bytes: &[u8]) -> [u8; PROOF_BYTES];

/// The claim that a dialer makes with RESUME.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The id of the session.
    pub session: u128,
    /// The number of the new connection; greater than that of every earlier connection of the
    /// session.
    pub epoch: u64,
    /// The number of the next frame that the dialer has not accepted.
    pub recv_next: u64,
    /// The nonces of dialer and listener.
    pub nonces: [u128; 2],
}

impl Claim {
    /// The bytes that the proof covers: nonces, session, epoch, `recv_next`, each little-endian.
    pub fn bytes(&self) -> [u8; 64] {
        let mut bytes = [0; 64];
        let (ids, numbers) = bytes.split_at_mut(48);
        for (place, id) in
            ids.chunks_exact_mut(16).zip([self.nonces[0], self.nonces[1], self.session])
        {
            place.copy_from_slice(&id.to_le_bytes());
        }
        for (place, number) in numbers.chunks_exact_mut(8).zip([self.epoch, self.recv_next]) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }
}

/// The refusal of a claim to a session that its listener does not keep: it never was, has ended, or
/// cannot be resumed.
pub fn unknown_session() -> LinkError {
    let rule = "no session of that id is kept here";
    LinkError::Misbehaved { code: Code::SESSION_UNKNOWN, rule }
}

/// The dialer's credentials for resuming the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    session: u128,
    token: u128,
    /// The greatest epoch that was claimed.
    epoch: u64,
}

impl Ticket {
    /// Creates the ticket from the session id and the token of OPENED.
    pub fn new(session: u128, token: u128) -> Ticket {
        Ticket { session, token, epoch: 0 }
    }

    /// The session's id.
    pub fn session(&self) -> u128 {
        self.session
    }

    /// The token for the next proof.
    pub fn token(&self) -> u128 {
        self.token
    }

    /// The claim for the next attempt. Each attempt has its own epoch, so that a delayed one cannot
    /// overtake a later one.
    pub fn claim(&mut self, recv_next: u64, nonces: [u128; 2]) -> Claim {
        self.epoch += 1;
        Claim { session: self.session, epoch: self.epoch, recv_next, nonces }
    }

    /// The proof of a claim.
    pub fn prove(&self, claim: &Claim, prove: ProofFn) -> [u8; PROOF_BYTES] {
        prove(self.token, &claim.bytes())
    }

    /// Stores the new token from RESUMED.
    pub fn renew(&mut self, token: u128) {
        self.token = token;
    }
}

/// The listener's side of the credentials: verifies the claims of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TicketVerifier {
    /// The token that the dialer certainly has.
    token: u128,
    /// The newest token, if no batch has confirmed yet that the dialer received it.
    fresh: Option<u128>,
    /// The epoch of the last accepted connection.
    epoch: u64,
}

/// A verified claim, and the token that the dialer used for it.
#[derive(Clone, Copy, Debug)]
pub struct VerifiedClaim {
    claim: Claim,
    token: u128,
}

impl VerifiedClaim {
    /// The claim.
    pub fn claim(&self) -> &Claim {
        &self.claim
    }
}

impl TicketVerifier {
    /// Creates the verifier for the token that OPENED carried.
    pub fn new(token: u128) -> TicketVerifier {
        TicketVerifier { token, fresh: None, epoch: 0 }
    }

    /// The token that the dialer certainly has.
    pub fn token(&self) -> u128 {
        self.token
    }

    /// The epoch of the last accepted connection.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Verifies that the proof of a claim is right and its epoch new.
    ///
    /// # Errors
    ///
    /// Fails with [`Code::TOKEN_BAD`] otherwise.
    pub fn check(
        &self,
        claim: &Claim,
        proof: &[u8; PROOF_BYTES],
        prove: ProofFn,
    ) -> Result<VerifiedClaim, LinkError> {
        let bytes = claim.bytes();
        let mut tokens = self.fresh.into_iter().chain([self.token]);
        let token = tokens.find(|token| same(&prove(*token, &bytes), proof));
        match token {
            Some(token) if claim.epoch > self.epoch => Ok(VerifiedClaim { claim: *claim, token }),
            Some(_) => Err(bad("the epoch of RESUME is greater than those before")),
            None => Err(bad("the proof of RESUME is made with the session's token")),
        }
    }

    /// Accepts the connection of a verified claim; RESUMED carries the token `fresh`.
    pub fn renew(&mut self, proved: &VerifiedClaim, fresh: u128) {
        *self =
            TicketVerifier { token: proved.token, fresh: Some(fresh), epoch: proved.claim.epoch };
    }

    /// A batch has arrived over the last accepted connection, so the dialer has received RESUMED:
    /// its token replaces the older one.
    pub fn confirm(&mut self) {
        self.token = self.fresh.take().unwrap_or(self.token);
    }
}

fn bad(rule: &'static str) -> LinkError {
    LinkError::Misbehaved { code: Code::TOKEN_BAD, rule }
}

/// Compares in constant time.
fn same(one: &[u8; PROOF_BYTES], other: &[u8; PROOF_BYTES]) -> bool {
    let differences = one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other));
    core::hint::black_box(differences) == 0
}

/// One side's right to resume a session, or to let its peer resume it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// This side has dialed, and dials again after a cut.
    Dialer(Ticket),
    /// This side was dialed.
    Listener(TicketVerifier),
}

impl Credentials {
    /// The dialer's claim for its next connection, and the proof of it.
    ///
    /// # Errors
    /// This side has not dialed.
    pub fn claim(
        &mut self,
        recv_next: u64,
        nonces: [u128; 2],
        prove: ProofFn,
    ) -> Result<(Claim, [u8; PROOF_BYTES]), LinkError> {
        let Credentials::Dialer(ticket) = self else { return Err(wrong_side()) };
        let claim = ticket.claim(recv_next, nonces);
        Ok((claim, ticket.prove(&claim, prove)))
    }

    /// The listener has let this side, the dialer, resume, and given it a new token.
    pub fn renew(&mut self, token: u128) {
        if let Credentials::Dialer(ticket) = self {
            ticket.renew(token);
        }
    }

    /// Checks the claim of a dialer. From then on its next claim needs the token `fresh`, which it is
    /// to be given with RESUMED.
    ///
    /// # Errors
    /// The proof is wrong, the epoch is not new, or this side has dialed itself.
    pub fn check(
        &mut self,
        claim: &Claim,
        proof: &[u8; PROOF_BYTES],
        prove: ProofFn,
        fresh: u128,
    ) -> Result<(), LinkError> {
        let Credentials::Listener(tickets) = self else { return Err(wrong_side()) };
        let proved = tickets.check(claim, proof, prove)?;
        tickets.renew(&proved, fresh);
        Ok(())
    }

    /// A batch has come over the newest connection, so the dialer has the newest token.
    pub fn confirm(&mut self) {
        if let Credentials::Listener(tickets) = self {
            tickets.confirm();
        }
    }

    /// The newest token.
    pub fn token(&self) -> u128 {
        match self {
            Credentials::Dialer(ticket) => ticket.token(),
            Credentials::Listener(tickets) => tickets.token(),
        }
    }
}

#[cold]
fn wrong_side() -> LinkError {
    LinkError::protocol("only the side that has dialed dials again")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Enough of a keyed hash for the tests to tell keys and texts apart.
    fn prove(token: u128, bytes: &[u8]) -> [u8; PROOF_BYTES] {
        let mut state = token;
        for byte in bytes {
            state = (state ^ u128::from(*byte)).wrapping_mul(0x0100_0000_01b3_0000_0000_0000_013b);
        }
        let mut proof = [0; PROOF_BYTES];
        proof[..16].copy_from_slice(&state.to_le_bytes());
        proof
    }

    #[test]
    fn a_ticket_keeps_its_session_and_token() {
        let ticket = Ticket::new(0x1234, 0x5678);
        assert_eq!((ticket.session(), ticket.token()), (0x1234, 0x5678));
    }

    fn code(outcome: Result<VerifiedClaim, LinkError>) -> Code {
        match outcome {
            Err(LinkError::Misbehaved { code, .. }) => code,
            other => panic!("expected a refusal, got {other:?}"),
        }
    }

    #[test]
    fn a_proof_is_valid_for_one_claim_on_one_connection() {
        let (mut ticket, tickets) = (Ticket::new(7, 99), TicketVerifier::new(99));
        let claim = ticket.claim(5, [1, 2]);
        let proof = ticket.prove(&claim, prove);
        assert!(tickets.check(&claim, &proof, prove).is_ok());
        for other in [
            Claim { recv_next: 6, ..claim },
            Claim { epoch: 2, ..claim },
            Claim { nonces: [1, 3], ..claim },
            Claim { nonces: [3, 2], ..claim },
            Claim { session: 8, ..claim },
        ] {
            assert_eq!(code(tickets.check(&other, &proof, prove)), Code::TOKEN_BAD);
        }
        let stranger = Ticket::new(7, 98).prove(&claim, prove);
        assert_eq!(code(tickets.check(&claim, &stranger, prove)), Code::TOKEN_BAD);
    }

    #[test]
    fn a_token_is_valid_until_its_successor_was_used() {
        let (mut ticket, mut tickets) = (Ticket::new(7, 10), TicketVerifier::new(10));
        let mut resume = |ticket: &mut Ticket, fresh: u128, confirmed: bool| {
            let claim = ticket.claim(0, [1, 2]);
            let proof = ticket.prove(&claim, prove);
            let proved = tickets.check(&claim, &proof, prove)?;
            tickets.renew(&proved, fresh);
            if confirmed {
                tickets.confirm();
            }
            Ok::<_, LinkError>(())
        };
        resume(&mut ticket, 11, false).expect("the first");
        resume(&mut ticket, 12, false).expect("RESUMED was lost, so the old token is used again");
        ticket.renew(12);
        resume(&mut ticket, 13, false).expect("RESUMED arrived, but no batch followed");
        let mut old = ticket;
        ticket.renew(13);
        resume(&mut ticket, 14, true).expect("the previous token");
        old.epoch = 90;
        assert!(resume(&mut old, 15, false).is_err(), "token 12 is two behind");
        ticket.renew(13);
        assert!(resume(&mut ticket, 15, false).is_err(), "token 14 was used");
        ticket.renew(14);
        resume(&mut ticket, 15, false).expect("the current token");
    }

    #[test]
    fn an_overtaken_claim_is_refused() {
        let (mut ticket, mut tickets) = (Ticket::new(7, 10), TicketVerifier::new(10));
        let (early, late) = (ticket.claim(0, [1, 2]), ticket.claim(0, [1, 3]));
        let proof = ticket.prove(&late, prove);
        let proved = tickets.check(&late, &proof, prove).expect("the proof is valid");
        tickets.renew(&proved, 11);
        let proof = ticket.prove(&early, prove);
        assert_eq!(code(tickets.check(&early, &proof, prove)), Code::TOKEN_BAD);
    }
}
