//! Keys that two nodes share.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use wigwag_link::opening::shared_key::KEY_NAME_BYTES_MAX;

/// The fewest bytes of a secret: as many as the hash has that proves it.
const SECRET_BYTES_MIN: usize = 32;

/// The most bytes of a secret, so that a file that is no key is not taken for one.
const SECRET_BYTES_MAX: usize = 1024;

/// A key with a name, by which two nodes recognize each other.
///
/// A dialer proves that it has the key, and so does the listener, each by an HMAC-SHA-256 (RFC 2104)
/// over both HELLOs of the connection; the key itself is never sent. A proof is valid for one
/// connection only, and with TLS only for one to the listener with the same certificate. The key says
/// who has opened the connection. It does not encrypt what follows: on a network that others can read
/// or write, use TLS too.
///
/// The text form is the name, a colon and the secret in hexadecimal; [`FromStr`] reads it, and
/// [`to_text`](Self::to_text) writes it. `{:?}` shows the name only.
#[derive(Clone, PartialEq, Eq)]
pub struct SharedKey {
    name: Arc<str>,
    secret: Arc<[u8]>,
}

/// The reason why bytes are no [`SharedKey`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The name is empty, too long, or has a colon or control characters.
    #[error("the name of a key has 1 to 255 bytes, without a colon or control characters")]
    BadName,
    /// The secret is too short to be safe, or too long to be a key.
    #[error("the secret of a key has 32 to 1,024 bytes")]
    BadSecret,
    /// The text is no key.
    #[error("a key is a name, a colon, and the secret in hexadecimal")]
    BadText,
}

impl SharedKey {
    /// Creates a key from a secret of 32 to 1,024 bytes, which must be random: `wigwag key` makes one.
    ///
    /// # Errors
    /// The name or the secret breaks a rule of [`KeyError`].
    pub fn new(name: &str, secret: impl AsRef<[u8]>) -> Result<SharedKey, KeyError> {
        let secret = secret.as_ref();
        let is_bad = |letter: char| letter == ':' || letter.is_control();
        if name.is_empty() || name.len() > KEY_NAME_BYTES_MAX || name.contains(is_bad) {
            return Err(KeyError::BadName);
        }
        if !(SECRET_BYTES_MIN..=SECRET_BYTES_MAX).contains(&secret.len()) {
            return Err(KeyError::BadSecret);
        }
        Ok(SharedKey { name: name.into(), secret: secret.into() })
    }

    /// Creates a key with a random secret of 32 bytes.
    ///
    /// # Panics
    /// If the name breaks the rule of [`KeyError::BadName`], or the operating system has no randomness
    /// to give.
    pub fn generate(name: &str) -> SharedKey {
        let mut secret = [0; SECRET_BYTES_MIN];
        getrandom::fill(&mut secret).expect("the operating system gives random bytes");
        SharedKey::new(name, secret).expect("the name of a key follows the rule")
    }

    /// The name of the key, which every peer may learn.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The key as text, with its secret.
    pub fn to_text(&self) -> String {
        let hex: String = self.secret.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{}:{hex}", self.name)
    }

    /// The proof over `covered`.
    pub(crate) fn prove(&self, covered: &[u8]) -> [u8; 32] {
        hmac_sha256::HMAC::mac(covered, &self.secret)
    }

    /// True if `proof` is the proof over `covered`; takes the same time for each wrong one.
    pub(crate) fn is_proven(&self, covered: &[u8], proof: &[u8; 32]) -> bool {
        hmac_sha256::HMAC::verify(covered, &self.secret, proof)
    }
}

impl FromStr for SharedKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<SharedKey, KeyError> {
        let (name, hex) = text.trim_end().split_once(':').ok_or(KeyError::BadText)?;
        // A number in hexadecimal may have a sign, a byte has none.
        if hex.len() % 2 == 1 || !hex.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(KeyError::BadText);
        }
        let bytes = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16));
        let secret: Result<Vec<u8>, _> = bytes.collect();
        SharedKey::new(name, secret.map_err(|_| KeyError::BadText)?)
    }
}

impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedKey").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(wigwag_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_key_is_read_again_and_its_secret_is_not_shown() {
        let key = SharedKey::generate("worker");
        assert_eq!(key.to_text().parse(), Ok(key.clone()));
        assert_eq!(format!("{}\n", key.to_text()).parse(), Ok(key.clone()), "as a file ends");
        let shown = format!("{key:?}");
        assert!(shown.contains("worker") && !shown.contains(&key.to_text()[7..]), "{shown}");
    }

    #[test]
    fn names_and_secrets_that_break_a_rule_are_refused() {
        let secret = [7; 32];
        for name in ["", "a:b", "a\n", &"a".repeat(256)] {
            assert_eq!(SharedKey::new(name, secret), Err(KeyError::BadName), "{name}");
        }
        assert_eq!(SharedKey::new("a", [7; 31]), Err(KeyError::BadSecret));
        assert_eq!(SharedKey::new("a", [7; 1025]), Err(KeyError::BadSecret));
        for text in ["a", "a:0", "a:zz", "a:é0", &format!("a:{}", "+1".repeat(32))] {
            assert_eq!(text.parse::<SharedKey>(), Err(KeyError::BadText), "{text}");
        }
        assert_eq!("a:00".parse::<SharedKey>(), Err(KeyError::BadSecret));
    }

    /// The vectors were made by another implementation of HMAC-SHA-256.
    #[test]
    fn proofs_are_those_of_the_vectors() {
        let text = include_str!("../../../../docs/vectors/link/shared_key.json");
        let vectors: serde_json::Value = serde_json::from_str(text).unwrap();
        let bytes = |value: &serde_json::Value| {
            let hex = value.as_str().unwrap();
            let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
            (0..hex.len()).step_by(2).map(byte).collect::<Vec<u8>>()
        };
        for vector in vectors["vectors"].as_array().unwrap() {
            let name = String::from_utf8(bytes(&vector["name"])).unwrap();
            let key = SharedKey::new(&name, bytes(&vector["secret"])).unwrap();
            for side in ["dialer", "listener"].map(|side| &vector[side]) {
                let covered = bytes(&side["covered"]);
                assert_eq!(key.prove(&covered).to_vec(), bytes(&side["proof"]));
            }
        }
    }

    #[test]
    fn a_proof_is_that_of_one_key_over_one_text() {
        let [key, other] = [SharedKey::generate("a"), SharedKey::generate("a")];
        let proof = key.prove(b"text");
        assert!(key.is_proven(b"text", &proof));
        assert!(!key.is_proven(b"texts", &proof) && !other.is_proven(b"text", &proof));
    }
}
