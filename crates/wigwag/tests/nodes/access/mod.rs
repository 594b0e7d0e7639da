//! Identities of peers, what each may call, and how much it may use.

mod callers;
mod keys;
mod limits;
mod listening;
mod rules;
mod tokens;

use wigwag::access::{Access, SharedKey};
use wigwag::{Actor, AskError, CallErrorKind, Node, NodeError, NodeOptions, This};
use wigwag_link::opening::shared_key::{Proof, Prover};
use wigwag_link::{Code, LinkError, Opening};

/// An actor with a method for everybody and one for few.
#[derive(Default)]
pub(crate) struct Vault {
    opened: u64,
    looked: u64,
}

#[wigwag::actor]
impl Vault {
    /// Looks at it.
    pub fn look(&mut self) -> u64 {
        self.looked += 1;
        self.looked
    }

    /// Opens it.
    pub fn open(&mut self) -> u64 {
        self.opened += 1;
        self.opened
    }

    pub fn add(&mut self, amount: u64) {
        self.opened += amount;
    }

    /// Publishes as whoever asks.
    pub fn announce(&self, this: &This<Self>) {
        this.publish("opened", self.opened).unwrap();
    }
}

pub(crate) fn key(name: &str) -> SharedKey {
    SharedKey::generate(name)
}

/// The message with which a hand-written dialer proves `key`.
pub(crate) fn proof(opening: &Opening, key: &SharedKey) -> Vec<u8> {
    let text = key.to_text();
    let (name, hex) = text.split_once(':').unwrap();
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    let secret: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
    let covered = opening.proof_covers(Prover::Dialer, name.as_bytes(), b"").unwrap();
    let hash = hmac_sha256::HMAC::mac(covered.as_slice(), secret);
    Opening::proof(&Proof { key: name.as_bytes().to_vec(), hash }).as_slice().to_vec()
}

/// A node that accepts `keys` and has a vault under the rules of `access`, and its address.
pub(crate) async fn vault_at(
    address: &str,
    keys: &[&SharedKey],
    access: Access,
) -> (Node, String, VaultRef) {
    let keys = keys.iter().map(|key| (*key).clone());
    let node = Node::with(NodeOptions::default().accept_keys(keys).access(access));
    let vault = Vault::default().spawn();
    node.export("vault", &vault).unwrap();
    let bound = node.listen(address).await.unwrap();
    (node, bound.to_string(), vault)
}

/// A node that proves `key`.
pub(crate) fn holder(key: &SharedKey) -> Node {
    Node::with(NodeOptions::default().shared_key(key.clone()))
}

pub(crate) async fn fetch(node: &Node, address: &str) -> Result<VaultRef, NodeError> {
    node.actor::<Vault>(&format!("{address}/vault")).await
}

/// The code of a refused session.
pub(crate) fn refusal<T>(outcome: Result<T, NodeError>) -> Code {
    match outcome.err() {
        Some(NodeError::Session { error: LinkError::ClosedByPeer { code, .. }, .. }) => code,
        Some(NodeError::Session { error: LinkError::Misbehaved { code, .. }, .. }) => code,
        other => panic!("no refused session: {other:?}"),
    }
}

/// The kind of the error with which a call or a fetch has failed.
pub(crate) fn kind<T, M>(outcome: Result<T, AskError<M>>) -> CallErrorKind {
    outcome.err().unwrap().error().kind
}
