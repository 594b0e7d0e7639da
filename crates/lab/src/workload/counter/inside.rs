//! Actors of one process that ask, that hand a number round, and that are very many.
//!
//! The programs know their seed, so an account proves work only if it cannot be had without that
//! work. An ask depends on the answer before it, and a number that goes round on every actor that it
//! came by: a program that runs ahead, or leaves an actor out, comes to another number. Each actor
//! gives its own counts.

use crate::trial::Outcome;
use crate::workload::account::payloads::{Payloads, step};
use crate::workload::account::{
    RemoteClientAccount, RemoteServerAccount, RingAccount, SenderCounts, SpawnAccount, verify,
};
use crate::workload::entry::parse_account;
use crate::workload::{Entry, Judgement, Order};

/// One asker, one ask in flight.
pub(super) fn judge_ask(
    entry: &Entry<'_>,
    order: Order,
    outcome: &Outcome,
) -> Result<Judgement, String> {
    let served: RemoteServerAccount = parse_account("actor", &outcome.worker)?;
    let drove: RemoteClientAccount = parse_account("asker", &outcome.worker)?;
    let mut payloads = Payloads::new(order.seed, 0);
    let (mut asked, mut answers, mut answer) = (0_u64, 0_u64, 0_u64);
    for number in 0..order.messages {
        // The payload of an ask is made of the answer before.
        let payload = payloads.draw() ^ answer as u32;
        answer = number + u64::from(payload);
        asked = asked.wrapping_add(payload.into());
        answers = answers.wrapping_add(answer);
    }
    let expected = SenderCounts { count: order.messages, sum: asked, reordered: 0 };
    let mut judged =
        Judgement::of(verify(&[expected], &served.senders), entry.participant.is_ordered());
    judged.demand(drove.replies == Some(order.messages), || {
        format!("its asker tells of {:?} answers of {}", drove.replies, order.messages)
    });
    judged.demand(drove.wrong == Some(0), || "answers did not fit their asks".to_owned());
    judged.demand(drove.sum() == Some(answers), || {
        "the sum of the answers is not that of the asks".to_owned()
    });
    Ok(judged)
}

/// A number that every actor changes in its own way.
pub(super) fn judge_ring(
    actors: u32,
    order: Order,
    outcome: &Outcome,
) -> Result<Judgement, String> {
    let round: RingAccount = parse_account("ring", &outcome.worker)?;
    let keys: Vec<u32> = (0..actors).map(|actor| Payloads::new(order.seed, actor).draw()).collect();
    let mut expected = vec![SenderCounts::default(); keys.len()];
    let mut value = order.seed;
    let mut at = 0;
    for _ in 0..order.messages {
        expected[at].count += 1;
        expected[at].sum = expected[at].sum.wrapping_add(value.into());
        value = step(value ^ keys[at]);
        at = (at + 1) % keys.len();
    }
    let mut judged = Judgement::of(verify(&expected, &round.senders), true);
    judged.demand(round.value == value, || {
        format!(
            "its number is {} in the end, where {value} was due: it did not come by every \
                 actor, or not in their order",
            round.value
        )
    });
    Ok(judged)
}

/// Each actor was told once, when all had been spawned, and told of itself.
pub(super) fn judge_spawn(order: Order, outcome: &Outcome) -> Result<Judgement, String> {
    let alive: SpawnAccount = parse_account("actors", &outcome.worker)?;
    let expected = SenderCounts::expected(order.seed, 0, order.messages);
    let seen = SenderCounts { count: alive.alive, sum: alive.sum, reordered: 0 };
    let mut payloads = Payloads::new(order.seed, 0);
    let pairs = (0..order.messages)
        .map(|number| number.wrapping_mul(payloads.draw().into()))
        .fold(0, u64::wrapping_add);
    let mut judged = Judgement::of(verify(&[expected], &[seen]), true);
    judged.demand(alive.again == 0, || {
        format!("{} messages came to an actor that had been told already", alive.again)
    });
    judged.demand(alive.pairs == pairs, || {
        "its actors are not as many as were ordered, each with a number of its own".to_owned()
    });
    Ok(judged)
}
