//! Round trips beside a transfer of long messages: what these cost the others.
//!
//! The client sends messages of 16 MiB to one actor, one after the other, 256 MiB at least, and asks
//! another one meanwhile, one ask at a time. The figure is the time of a round trip, to be held
//! against that of the cell `rtt`.

use crate::trial::Outcome;
use crate::workload::account::{RemoteClientAccount, SenderCounts, verify};
use crate::workload::{Judgement, Order};

/// Bytes of a long message, with its head.
const LONG_BYTES: u64 = 16 * 1024 * 1024;
/// Of these, what the payload has at least.
const LONG_BYTES_MIN: u64 = LONG_BYTES - 64;
/// Long messages of a trial, at least.
const LONG_MIN: u64 = 16;

/// Judges the long messages; `served` are those that the server has seen of them.
pub(super) fn judge(
    judged: &mut Judgement,
    order: Order,
    outcome: &Outcome,
    served: &[SenderCounts],
    drove: &RemoteClientAccount,
) {
    let sent = drove.sent.unwrap_or(0);
    let verified = verify(&[SenderCounts::expected(order.seed, 1, sent)], served);
    judged.demand(verified.is_clean(), || {
        format!("of {sent} long messages not all came, whole and in order: {verified:?}")
    });
    judged.demand(sent >= LONG_MIN, || {
        format!("its client tells of {sent} long messages, where {LONG_MIN} are the least")
    });
    if let Some(Ok(wire)) = &outcome.wire {
        let least = sent * LONG_BYTES_MIN;
        judged.demand(wire.bytes() >= least, || {
            let bytes = wire.bytes();
            format!("{bytes} bytes went over the wire, where {sent} long messages have {least}")
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(sent: u64, seen: SenderCounts) -> Vec<String> {
        let order = Order { messages: 1_000, seed: 7, ..Order::default() };
        let drove = RemoteClientAccount { sent: Some(sent), ..RemoteClientAccount::default() };
        let mut judged = Judgement::default();
        judge(&mut judged, order, &Outcome::default(), &[seen], &drove);
        judged.void
    }

    #[test]
    fn a_long_message_that_is_lost_damaged_or_not_sent_is_seen() {
        let sent = SenderCounts::expected(7, 1, 20);
        assert!(judged(20, sent).is_empty());
        let lost = SenderCounts::expected(7, 1, 19);
        for seen in [
            lost,
            SenderCounts { sum: sent.sum - 1, ..sent },
            SenderCounts { reordered: 1, ..sent },
        ] {
            assert!(judged(20, seen)[0].contains("not all came"), "{seen:?}");
        }
        assert!(judged(15, SenderCounts::expected(7, 1, 15))[0].contains("16 are the least"));
    }
}
