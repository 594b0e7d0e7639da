//! The proof with which a dialer claims its session, in worlds where nobody forges one.

use wigwag_link::opening::resume::PROOF_BYTES;

use crate::random::mix;

/// A keyed hash: tokens and claims that differ have different proofs. A node uses HMAC-SHA-256.
pub fn prove(token: u128, bytes: &[u8]) -> [u8; PROOF_BYTES] {
    let mut proof = [0; PROOF_BYTES];
    let mut state = mix(token as u64) ^ mix((token >> 64) as u64).rotate_left(1);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        state = mix(state ^ u64::from_le_bytes(word)).wrapping_add(state);
    }
    for word in proof.chunks_exact_mut(8) {
        state = mix(state);
        word.copy_from_slice(&state.to_le_bytes());
    }
    proof
}
