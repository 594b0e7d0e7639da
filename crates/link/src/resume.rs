//! What lets a dialer take its session up again over another connection (section 7).
//!
//! The listener gives a token, over which the dialer makes a proof that is good for one connection
//! only: both nonces of its HELLOs are in it. Each resume brings a new token. The old one stays good
//! until the first batch has come over the new connection, because RESUMED may be lost on its way,
//! and a dialer that never got it would be locked out.
//!
//! This crate holds no cryptography: who uses it brings the function that makes proofs,
//! HMAC-SHA-256 (RFC 2104) in a node.

use crate::code::Code;
use crate::error::LinkError;

/// Bytes of a proof.
pub const PROOF_BYTES: usize = 32;

/// Makes a proof: a keyed hash of the bytes, with the token as its key.
pub type ProofFn = fn(token: u128, bytes: &[u8]) -> [u8; PROOF_BYTES];

/// What a dialer claims with RESUME.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The session.
    pub session: u128,
    /// Which connection of the session this is to be; greater than all before.
    pub epoch: u64,
    /// The number of the next frame that the dialer has not accepted.
    pub recv_next: u64,
    /// The nonces of dialer and listener.
    pub nonces: [u128; 2],
}

impl Claim {
    /// What is proved: nonces, session, epoch, `recv_next`, each little-endian.
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

/// The dialer's right to resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    session: u128,
    token: u128,
    /// The greatest epoch that was asked for.
    epoch: u64,
}

impl Ticket {
    /// The right that OPENED has given.
    pub fn new(session: u128, token: u128) -> Ticket {
        Ticket { session, token, epoch: 0 }
    }

    /// The session.
    pub fn session(&self) -> u128 {
        self.session
    }

    /// The token that the next proof is made with.
    pub fn token(&self) -> u128 {
        self.token
    }

    /// Another try: its claim. Each has an epoch of its own, so that one that was delayed on its way
    /// cannot overtake a later one.
    pub fn claim(&mut self, recv_next: u64, nonces: [u128; 2]) -> Claim {
        self.epoch += 1;
        Claim { session: self.session, epoch: self.epoch, recv_next, nonces }
    }

    /// The proof of a claim.
    pub fn prove(&self, claim: &Claim, prove: ProofFn) -> [u8; PROOF_BYTES] {
        prove(self.token, &claim.bytes())
    }

    /// RESUMED has brought a new token.
    pub fn renew(&mut self, token: u128) {
        self.token = token;
    }
}

/// The listener's knowledge of who may resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TicketVerifier {
    /// A token that the dialer has for sure.
    token: u128,
    /// One that it may have: it was sent, and no batch has come since.
    fresh: Option<u128>,
    /// The epoch of the last connection that was let in.
    epoch: u64,
}

/// A claim that was found right, and the token that the dialer has.
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
    /// After OPENED has given `token`.
    pub fn new(token: u128) -> TicketVerifier {
        TicketVerifier { token, fresh: None, epoch: 0 }
    }

    /// The token that the dialer has for sure.
    pub fn token(&self) -> u128 {
        self.token
    }

    /// The epoch of the last connection that was let in.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Looks at a claim: its proof must be right and its epoch new.
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

    /// Lets the dialer in; RESUMED brings it `fresh`.
    pub fn renew(&mut self, proved: &VerifiedClaim, fresh: u128) {
        *self =
            TicketVerifier { token: proved.token, fresh: Some(fresh), epoch: proved.claim.epoch };
    }

    /// A batch has come over the last connection that was let in: the dialer has got RESUMED.
    pub fn confirm(&mut self) {
        self.token = self.fresh.take().unwrap_or(self.token);
    }
}

fn bad(rule: &'static str) -> LinkError {
    LinkError::Misbehaved { code: Code::TOKEN_BAD, rule }
}

/// Compares in a time that does not tell where the difference is.
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

    /// Enough of a keyed hash to tell one key and text from another.
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
    fn a_ticket_is_for_the_session_and_token_that_it_was_made_of() {
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
    fn a_proof_is_good_for_one_claim_on_one_connection() {
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
    fn a_token_is_good_until_its_successor_was_used() {
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
        resume(&mut ticket, 12, false).expect("RESUMED was lost: the old one again");
        ticket.renew(12);
        resume(&mut ticket, 13, false).expect("RESUMED came, but no batch went");
        let mut old = ticket;
        ticket.renew(13);
        resume(&mut ticket, 14, true).expect("the one before");
        old.epoch = 90;
        assert!(resume(&mut old, 15, false).is_err(), "12 is two behind");
        ticket.renew(13);
        assert!(resume(&mut ticket, 15, false).is_err(), "14 was used");
        ticket.renew(14);
        resume(&mut ticket, 15, false).expect("the living one");
    }

    #[test]
    fn a_claim_that_was_overtaken_is_refused() {
        let (mut ticket, mut tickets) = (Ticket::new(7, 10), TicketVerifier::new(10));
        let (early, late) = (ticket.claim(0, [1, 2]), ticket.claim(0, [1, 3]));
        let proof = ticket.prove(&late, prove);
        let proved = tickets.check(&late, &proof, prove).expect("it is right");
        tickets.renew(&proved, 11);
        let proof = ticket.prove(&early, prove);
        assert_eq!(code(tickets.check(&early, &proof, prove)), Code::TOKEN_BAD);
    }
}
