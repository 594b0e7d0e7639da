//! Accounts: the messages that were sent, and those that a receiver reports.
//!
//! Payloads are drawn from a seed that only the sender gets. The receiver adds up what it saw, and
//! the lab, which knows the seed, compares: a loss changes the count or the sum, and a duplicate
//! that masks a loss changes the sum.

pub mod payloads;
pub mod latency;
pub(crate) mod sequences;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::figures::curve::Curve;
use crate::figures::digest::Verified;
use crate::workload::account::payloads::Payloads;

/// Counts of one sender, as a receiver saw them or should have seen them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderCounts {
    /// Messages.
    pub count: u64,
    /// The sum of their payloads; as a decimal string, because it exceeds 2^53.
    #[serde(serialize_with = "write_sum", deserialize_with = "read_sum")]
    pub sum: u64,
    /// Messages whose number was not the one after the last.
    #[serde(default)]
    pub reordered: u64,
}

impl SenderCounts {
    /// The counts of `count` messages of `sender`.
    pub fn expected(seed: u32, sender: u32, count: u64) -> Self {
        Self { count, sum: Payloads::new(seed, sender).sum(count), reordered: 0 }
    }

    /// The fate of the messages, if `self` was sent and `seen` arrived.
    pub fn against(&self, seen: &SenderCounts) -> Verified {
        let same_sum = self.sum == seen.sum;
        Verified {
            sent: self.count,
            received: seen.count,
            lost: self.count.saturating_sub(seen.count),
            duplicated: seen.count.saturating_sub(self.count),
            reordered: seen.reordered,
            // The count is right and the sum is not: at least one message is another one.
            corrupt: u64::from(self.count == seen.count && !same_sum),
        }
    }
}

/// The fate of the messages of all senders. A receiver that reports more or fewer senders than
/// there were reports messages that nobody sent, or leaves some out.
pub fn verify(expected: &[SenderCounts], seen: &[SenderCounts]) -> Verified {
    let nothing = SenderCounts::default();
    let at = |list: &[SenderCounts], index: usize| list.get(index).copied().unwrap_or(nothing);
    (0..expected.len().max(seen.len()))
        .map(|index| at(expected, index).against(&at(seen, index)))
        .fold(Verified::default(), |all, one| all + one)
}

/// As [`verify`], for connections that come in any order.
pub fn verify_unordered(mut expected: Vec<SenderCounts>, mut seen: Vec<SenderCounts>) -> Verified {
    let key = |one: &SenderCounts| (one.sum, one.count);
    // Those that are right find each other first; what is left is held against what is left.
    expected.sort_unstable_by_key(key);
    seen.sort_unstable_by_key(key);
    let mut verified = Verified::default();
    let mut left = Vec::new();
    for one in seen {
        match expected.binary_search_by_key(&key(&one), key) {
            Ok(index) => verified = verified + expected.remove(index).against(&one),
            Err(_) => left.push(one),
        }
    }
    verified + verify(&expected, &left)
}

/// Sums come as decimal strings; a small one may come as a number.
fn read_sum<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum SumText {
        Text(String),
        Number(u64),
    }
    match SumText::deserialize(from)? {
        SumText::Number(sum) => Ok(sum),
        SumText::Text(text) => {
            text.parse().map_err(|_| D::Error::custom(format!("the sum {text:?} is no number")))
        }
    }
}

fn read_some_sum<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    read_sum(from).map(Some)
}

fn write_sum<S: Serializer>(sum: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(sum)
}

/// The account of a counter.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CounterAccount {
    /// The sum of the amounts.
    pub total: u64,
    /// The counts of each sender, from the counting actor.
    pub senders: Vec<SenderCounts>,
    /// The sum of a slow actor's work, modulo 2^64.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "read_some_sum")]
    pub worked: Option<u64>,
}

/// The account of a ring.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RingAccount {
    /// The number after the last hop.
    pub value: u32,
    /// The counts of each actor.
    pub senders: Vec<SenderCounts>,
}

/// The account of very many actors: the sums of their reports.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SpawnAccount {
    /// Actors that did.
    pub alive: u64,
    /// The sum of what they had been told.
    #[serde(serialize_with = "write_sum", deserialize_with = "read_sum")]
    pub sum: u64,
    /// The sum, modulo 2^64, of each one's own number times what it had been told.
    #[serde(serialize_with = "write_sum", deserialize_with = "read_sum")]
    pub pairs: u64,
    /// Times that one had been told before.
    pub again: u64,
}

/// The account of a remote server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RemoteServerAccount {
    /// The counts of each sender; of very many, those of all of them together.
    pub senders: Vec<SenderCounts>,
    /// Of very many senders, how many sent something and all of it came in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_order: Option<u64>,
    /// Of very many senders, the sum, modulo 2^64, of each one's number times its own sum.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "read_some_sum")]
    pub pairs: Option<u64>,
}

/// The account of the receiver in sp.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SpServerAccount {
    /// The counts of each sender.
    pub senders: Vec<SenderCounts>,
    /// Messages of another length, from no sender, or not filled with their payload; they are in no
    /// other count.
    pub corrupt: u64,
}

/// The account of a remote client: what it sent, or what came back.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RemoteClientAccount {
    /// Messages sent one way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<u64>,
    /// Replies that came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replies: Option<u64>,
    /// Asks that were given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_up: Option<u64>,
    /// Replies that did not fit their request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrong: Option<u64>,
    /// The sum of the replies, as a decimal string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<serde_json::Value>,
    /// Times of single round trips in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_us: Option<RoundTripTimes>,
    /// Asks that were sent later than 1 ms after they were due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<u64>,
    /// Times from when each ask was due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_us: Option<LatencyBins>,
}

/// How long asks took from when each was due, counted by length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyBins {
    /// Upper ends in microseconds, ascending, and how many lie below each and above the one
    /// before.
    pub bins: Vec<(f64, u64)>,
    /// The slowest.
    pub max: f64,
}

impl RemoteClientAccount {
    /// The sum of the replies, if it is a number.
    pub fn sum(&self) -> Option<u64> {
        let sum = self.sum.as_ref()?;
        sum.as_u64().or_else(|| sum.as_str()?.parse().ok())
    }
}

/// The latencies of round trips, as the waiting side reports them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoundTripTimes {
    /// Half were faster.
    pub p50: f64,
    /// Nine of ten were faster.
    pub p90: f64,
    /// 99 of a hundred were faster.
    pub p99: f64,
    /// The slowest.
    pub max: f64,
    /// The curve between them and behind the last, if the program gives it.
    #[serde(default, skip_serializing_if = "Curve::is_empty")]
    pub curve: Curve,
}

impl RoundTripTimes {
    /// Whether the percentiles ascend and the curve goes through them.
    pub fn agree(&self) -> bool {
        let all = [(0.5, self.p50), (0.9, self.p90), (0.99, self.p99), (1.0, self.max)];
        all.is_sorted_by(|one, two| one.1 <= two.1)
            && all.iter().all(|(share, time)| self.curve.goes_through(*share, *time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_damage_has_its_name() {
        let sent = SenderCounts::expected(7, 0, 1_000);
        assert!(sent.against(&sent).is_clean());
        let lost = sent.against(&SenderCounts { count: 999, sum: sent.sum - 5, reordered: 1 });
        assert_eq!((lost.lost, lost.reordered), (1, 1));
        assert_eq!(sent.against(&SenderCounts { count: 1_002, ..sent }).duplicated, 2);
        assert_eq!(sent.against(&SenderCounts { sum: sent.sum + 1, ..sent }).corrupt, 1);
        assert_eq!(sent.against(&SenderCounts { reordered: 3, ..sent }).reordered, 3);
    }

    #[test]
    fn a_sender_too_few_or_too_many_is_seen() {
        let sent = [SenderCounts::expected(7, 0, 10), SenderCounts::expected(7, 1, 10)];
        assert_eq!(verify(&sent, &sent[..1]).lost, 10);
        assert_eq!(verify(&sent[..1], &sent).duplicated, 10);
    }

    #[test]
    fn connections_are_told_apart_by_what_they_carry() {
        let sent: Vec<SenderCounts> =
            (0..5).map(|sender| SenderCounts::expected(9, sender, 10)).collect();
        let mut seen = sent.clone();
        seen.reverse();
        assert!(verify_unordered(sent.clone(), seen.clone()).is_clean());
        seen[2].count = 9;
        let verified = verify_unordered(sent, seen);
        assert_eq!((verified.sent, verified.received, verified.lost), (50, 49, 1));
    }

    #[test]
    fn a_sum_is_a_decimal_string() {
        let seen: SenderCounts =
            serde_json::from_str(r#"{"count": 2, "sum": "18446744073709551615"}"#)
                .expect("a sum of 64 bits");
        assert_eq!(seen.sum, u64::MAX);
        assert!(serde_json::from_str::<SenderCounts>(r#"{"count": 2, "sum": "-1"}"#).is_err());
        assert_eq!(
            serde_json::to_string(&seen).expect("plain numbers"),
            r#"{"count":2,"sum":"18446744073709551615","reordered":0}"#
        );
    }
}
