//! Senders and one counting actor within a process; its total must be exact. The other cells of
//! actors within a process are judged here too.

use crate::contract::role::Role;
use crate::trial::{MEMORY_MAX_MANY, Outcome, TrialPrograms};
use crate::workload::account::payloads::{Payloads, step};
use crate::workload::account::{CounterAccount, sequences, verify};
use crate::workload::entry::parse_account;
use crate::workload::{Cell, Entry, Judgement, Order};

mod inside;

/// The amount that every message adds.
const AMOUNT: u64 = 100;
/// Senders of a slow actor: two keep its mailbox full.
const SLOW_SENDERS: u32 = 2;
/// Senders of many actors.
pub(super) const EACH_SENDERS: u32 = 4;
/// Draws that a slow actor makes from each payload: a few tens of nanoseconds, where a tell takes
/// ten or twenty.
const WORK: u32 = 16;
/// A slow actor's program may grow by so much and its memory still counts as flat: less than the
/// messages of one second would take if they were kept.
pub(crate) const FLAT_BYTES: u64 = 16 << 20;

/// The cell of a slow actor, as the tables name it.
pub(crate) const SLOW: &str = "slow";
/// The cell of very many actors.
pub(crate) const SPAWN: &str = "spawn";
/// Cells in which one thing follows the other, so that the time of each is a figure.
pub(crate) const ONE_BY_ONE: [&str; 4] = ["local ask", "bounce", "ring", SPAWN];

pub(super) fn programs(entry: &Entry<'_>, order: Order) -> Option<TrialPrograms> {
    let mut worker = entry.launch(Role::Counter, true)?;
    worker.orders = vec![
        ("CELL", entry.cell.counter_order().unwrap_or_default().to_owned()),
        ("SENDERS", senders(entry).to_string()),
        ("MESSAGES", order.messages.to_string()),
        ("AMOUNT", AMOUNT.to_string()),
        ("SEED", order.seed.to_string()),
    ];
    match entry.cell {
        Cell::Slow => worker.orders.push(("WORK", WORK.to_string())),
        Cell::Ring { actors } | Cell::CountEach { actors } => {
            worker.orders.push(("ACTORS", actors.to_string()))
        }
        Cell::Spawn => worker.memory_max = MEMORY_MAX_MANY,
        _ => {}
    }
    Some(TrialPrograms::of(worker))
}

pub(super) fn judge(
    entry: &Entry<'_>,
    order: Order,
    outcome: &Outcome,
) -> Result<Judgement, String> {
    let mut judged = match entry.cell {
        Cell::LocalAsk => inside::judge_ask(entry, order, outcome)?,
        Cell::Ring { actors } => inside::judge_ring(actors, order, outcome)?,
        Cell::Spawn => inside::judge_spawn(order, outcome)?,
        _ => judge_count(entry, order, outcome)?,
    };
    if entry.cell.asks_memory() {
        judged.demand(outcome.cost.grown_bytes.is_some(), || {
            "it ended before its memory could be read: it did not wait for the end of its input"
                .to_owned()
        });
    }
    let grown = outcome.cost.grown_bytes.unwrap_or_default();
    if entry.cell == Cell::Slow && grown > FLAT_BYTES {
        judged.flags.push(format!(
            "its memory did not stay flat while its actor was behind: it grew by {} MiB",
            grown >> 20
        ));
    }
    Ok(judged)
}

fn judge_count(entry: &Entry<'_>, order: Order, outcome: &Outcome) -> Result<Judgement, String> {
    let counted: CounterAccount = parse_account("counter", &outcome.worker)?;
    let senders = senders(entry);
    let expected = match entry.cell {
        Cell::CountEach { actors } => sequences::of_actors(order, actors, senders),
        _ => sequences::of_senders(order, senders),
    };
    let verified = verify(&expected, &counted.senders);
    let mut judged = Judgement::of(verified, entry.participant.is_ordered());
    let due = order.messages * AMOUNT;
    judged.demand(counted.total == due, || {
        format!("its total is {}, where {due} was due", counted.total)
    });
    if entry.cell == Cell::Slow {
        let due = (0..senders).fold(0_u64, |sum, sender| sum.wrapping_add(work(order, sender)));
        judged.demand(counted.worked == Some(due), || {
            "its actor did not do its work on every message, so it was not slow".to_owned()
        });
    }
    Ok(judged)
}

/// The sum of a slow actor's work on the messages of one sender.
fn work(order: Order, sender: u32) -> u64 {
    let mut payloads = Payloads::new(order.seed, sender);
    let worked = (0..order.messages / u64::from(SLOW_SENDERS))
        .map(|_| u64::from((0..WORK).fold(payloads.draw(), |x, _| step(x))));
    worked.fold(0, u64::wrapping_add)
}

fn senders(entry: &Entry<'_>) -> u32 {
    match entry.cell {
        Cell::Count { senders } => senders,
        Cell::Slow => SLOW_SENDERS,
        Cell::CountEach { .. } => EACH_SENDERS,
        _ => 1,
    }
}
