//! Senders and one counting actor within a process; its total must be exact.

use crate::bench::account::{Counted, Seen, verify};
use crate::bench::participant::Role;
use crate::bench::trial::{Cast, Outcome};
use crate::bench::workload::{Cell, Entry, Judged, Order, account};

/// What every message adds.
const AMOUNT: u64 = 100;

pub(super) fn cast(entry: &Entry<'_>, order: Order) -> Option<Cast> {
    let mut worker = entry.launch(Role::Counter, true)?;
    worker.orders = vec![
        ("SENDERS", senders(entry).to_string()),
        ("MESSAGES", order.messages.to_string()),
        ("AMOUNT", AMOUNT.to_string()),
        ("SEED", order.seed.to_string()),
    ];
    Some(Cast { server: None, worker, staged: false })
}

pub(super) fn judge(entry: &Entry<'_>, order: Order, outcome: &Outcome) -> Result<Judged, String> {
    let counted: Counted = account("counter", &outcome.worker)?;
    let senders = senders(entry);
    let each = order.messages / u64::from(senders);
    let expected: Vec<Seen> =
        (0..senders).map(|sender| Seen::expected(order.seed, sender, each)).collect();
    let verified = verify(&expected, &counted.senders);
    let mut judged = Judged::of(verified, entry.participant.is_ordered());
    let due = order.messages * AMOUNT;
    judged.demand(counted.total == due, || {
        format!("its total is {}, where {due} was due", counted.total)
    });
    Ok(judged)
}

fn senders(entry: &Entry<'_>) -> u32 {
    match entry.cell {
        Cell::Count { senders } => senders,
        _ => 1,
    }
}
