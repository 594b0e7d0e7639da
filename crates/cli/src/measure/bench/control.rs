//! The control messages between `bench throughput` and `bench serve`.
//!
//! They travel as requests and replies on the same socket as echoed requests; a prefix
//! distinguishes them.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wigwag::Bytes;
use wigwag_lab::digest::SentDigest;

/// The prefix of every control message.
const PREFIX: &[u8] = b"wigwag.bench/1 ";

/// A request to the service.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub(super) enum ControlRequest {
    /// Opens an address for pushed messages, for `clients` senders of messages of `size` bytes.
    Pull { clients: usize, size: usize },
    /// Asks for the verdict on a run; `sent` is the digest of each sender.
    Account { run: u64, sent: Vec<SentDigest> },
}

/// The service's reply.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub(super) enum ControlReply {
    /// The address to push to. The host `0.0.0.0` stands for the host of the control address.
    Pull { run: u64, address: String },
    /// The six counts of the verdict, and the messages received in each second.
    Account { verified: [u64; 6], seconds: Vec<u64> },
    /// The service cannot do what was requested.
    Refused { why: String },
}

/// Encodes a control message.
pub(super) fn write(message: &impl Serialize) -> Bytes {
    let mut bytes = PREFIX.to_vec();
    // The fields are numbers and text, which JSON can always represent.
    bytes.extend(serde_json::to_vec(message).unwrap_or_default());
    Bytes::from(bytes)
}

/// Decodes a control message; `None` if the bytes are not one.
pub(super) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(bytes.strip_prefix(PREFIX)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_not_read_as_a_reply_so_an_echo_is_distinguished_from_a_service() {
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
