//! Authentication with a shared key: method 2 of AUTH (section 1).
//!
//! Each side proves that it has the key by a keyed hash over both HELLOs, whose nonces are drawn for
//! this connection, and over what binds the proof to the transport. The dialer sends its proof before
//! OPEN or RESUME, and the listener answers with its own, so neither talks to an impostor. This crate
//! contains no cryptography: its user hashes the [covered bytes](Proof::covers).

use alloc::vec::Vec;

use wigwag_wire::{Buffer, Reader};

use crate::error::LinkError;
use crate::limits::{put_bytes, take_bytes};
use crate::opening::resume::PROOF_BYTES;

/// The number of this method in AUTH.
pub const METHOD: u16 = 2;

/// The longest name of a key, in bytes.
pub const KEY_NAME_BYTES_MAX: usize = 255;

/// The first of the covered bytes, so that a proof is of no use for anything else.
const LABEL: &[u8] = b"wigwag shared key 1";

/// The side that makes a proof. Both sides have the same key, so the proof of one must not be the
/// proof of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prover {
    /// The side that has dialed.
    Dialer,
    /// The side that listens.
    Listener,
}

/// The proof of one side, as AUTH carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The name of the key.
    pub key: Vec<u8>,
    /// The keyed hash.
    pub hash: [u8; PROOF_BYTES],
}

impl Proof {
    /// The bytes that the hash covers: a label, the side that proves, the name of the key, the HELLOs
    /// of dialer and listener, and the binding to the transport. Each part but the first two is
    /// preceded by its length.
    pub fn covers(by: Prover, key: &[u8], hellos: [&[u8]; 2], binding: &[u8]) -> Buffer {
        let mut bytes = Buffer::new();
        bytes.extend(LABEL);
        bytes.push(match by {
            Prover::Dialer => b'D',
            Prover::Listener => b'L',
        });
        for part in [key, hellos[0], hellos[1], binding] {
            put_bytes(&mut bytes, part);
        }
        bytes
    }

    /// The data of AUTH.
    pub(crate) fn encode(&self) -> Buffer {
        let mut data = Buffer::new();
        put_bytes(&mut data, &self.key);
        data.extend(&self.hash);
        data
    }

    /// Reads the data of AUTH. Bytes behind it are left for later releases.
    pub(crate) fn decode(data: &[u8]) -> Result<Proof, LinkError> {
        let mut reader = Reader::new(data);
        let key = take_bytes(&mut reader)?;
        if key.is_empty() || key.len() > KEY_NAME_BYTES_MAX {
            return Err(LinkError::protocol("the name of a key has 1 to 255 bytes"));
        }
        Ok(Proof { key: key.to_vec(), hash: reader.array()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_comes_back_and_a_torn_one_is_refused() {
        let proof = Proof { key: b"worker".to_vec(), hash: [7; PROOF_BYTES] };
        let data = proof.encode();
        assert_eq!(Proof::decode(data.as_slice()), Ok(proof));
        for end in 0..data.as_slice().len() {
            assert!(Proof::decode(&data.as_slice()[..end]).is_err(), "{end}");
        }
        assert!(Proof::decode(&[0; 33]).is_err(), "a key without a name");
    }

    #[test]
    fn no_two_proofs_cover_the_same_bytes() {
        let covered = [
            Proof::covers(Prover::Dialer, b"k", [b"a", b"b"], b""),
            Proof::covers(Prover::Listener, b"k", [b"a", b"b"], b""),
            Proof::covers(Prover::Dialer, b"l", [b"a", b"b"], b""),
            Proof::covers(Prover::Dialer, b"k", [b"b", b"a"], b""),
            Proof::covers(Prover::Dialer, b"k", [b"a", b"b"], b"c"),
            Proof::covers(Prover::Dialer, b"k", [b"a", b""], b"b"),
        ];
        for (at, one) in covered.iter().enumerate() {
            assert!(covered[..at].iter().all(|other| other.as_slice() != one.as_slice()), "{at}");
        }
    }
}
