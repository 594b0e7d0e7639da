//! What a client of `bench throughput` orders from `bench serve`, as requests among those that are
//! echoed: a word in front tells them apart.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wigwag::Bytes;
use wigwag_lab::digest::SentDigest;

/// In front of every order and its answer.
const PREFIX: &[u8] = b"wigwag.bench/1 ";

/// An order.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub(super) enum ControlRequest {
    /// Open an address to push to, for so many senders of messages of so many bytes.
    Pull { clients: usize, size: usize },
    /// Say what became of what was sent: the digest of each sender.
    Account { run: u64, sent: Vec<SentDigest> },
}

/// The answer to one.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub(super) enum ControlReply {
    /// Push there; a host of `0.0.0.0` is the one that was asked.
    Pull { run: u64, address: String },
    /// What became of the messages, and how many came in each second.
    Account { verified: [u64; 6], seconds: Vec<u64> },
    /// It cannot be done.
    Refused { why: String },
}

/// The bytes of an order or an answer.
pub(super) fn write(message: &impl Serialize) -> Bytes {
    let mut bytes = PREFIX.to_vec();
    // Plain numbers and text: there is nothing that JSON could refuse.
    bytes.extend(serde_json::to_vec(message).unwrap_or_default());
    Bytes::from(bytes)
}

/// An order or an answer, if the bytes are one.
pub(super) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(bytes.strip_prefix(PREFIX)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_no_answer_so_an_echo_is_told_from_a_service() {
        let order = ControlRequest::Pull { clients: 2, size: 64 };
        let bytes = write(&order);
        assert_eq!(read::<ControlRequest>(&bytes), Some(order));
        assert_eq!(read::<ControlReply>(&bytes), None);
        assert_eq!(read::<ControlRequest>(b"hello"), None);
        let sent = SentDigest { count: 3, content: u64::MAX };
        let account = ControlRequest::Account { run: 1, sent: vec![sent] };
        assert_eq!(read::<ControlRequest>(&write(&account)), Some(account), "no digit may be lost");
    }
}
