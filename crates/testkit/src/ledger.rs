//! An actor that records the messages it gets, and a sender of numbered messages.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::timeout;
use wigwag::call::Answer;

/// Longer than any call takes, in simulated time too; it only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(300);

/// Records, for each sender, the next number that it expects.
#[derive(Default)]
pub struct Ledger {
    next: HashMap<u64, u64>,
    /// Messages that were lost, duplicated or out of order.
    wrong: u64,
    owed: Vec<wigwag::Responder<u64>>,
}

#[wigwag::actor]
impl Ledger {
    /// Records message `number` of `sender`.
    pub fn note(&mut self, sender: u64, number: u64, _filler: String) {
        let next = self.next.entry(sender).or_default();
        self.wrong += u64::from(*next != number);
        *next = number + 1;
    }

    /// Records a message and answers with the next number.
    pub fn count(&mut self, sender: u64, number: u64) -> u64 {
        self.note(sender, number, String::new());
        number + 1
    }

    /// Keeps the responder, and never answers.
    pub fn never(&mut self, owed: wigwag::Responder<u64>) {
        self.owed.push(owed);
    }

    /// The number of messages that came from `sender`, and of all messages that were out of
    /// sequence.
    pub fn noted(&self, sender: u64) -> (u64, u64) {
        (self.next.get(&sender).copied().unwrap_or(0), self.wrong)
    }
}

/// Messages sent by all senders of this process.
pub static SENT: AtomicU64 = AtomicU64::new(0);

/// Sends `messages` messages as `sender`. Every eighth is an ask whose answer is checked; some are
/// long. Asks are not awaited one by one.
pub async fn send(ledger: LedgerRef, sender: u64, messages: u64) {
    let mut answers = Vec::new();
    for number in 0..messages {
        if number % 8 == 0 {
            let asked = ledger.count(sender, number).timeout(PATIENCE).ask().sent().await;
            answers.push((number, asked.unwrap()));
        } else {
            let filler = "x".repeat(if number % 97 == 0 { 5000 } else { 3 });
            ledger.note(sender, number, filler).tell().await.unwrap();
        }
        SENT.fetch_add(1, Ordering::Relaxed);
        if answers.len() >= 1000 {
            check(&mut answers).await;
        }
    }
    check(&mut answers).await;
    let all = ledger.noted(sender).timeout(PATIENCE).ask().await.unwrap();
    assert_eq!(all, (messages, 0), "sender {sender}");
}

async fn check(answers: &mut Vec<(u64, Answer<'_, Ledger, u64>)>) {
    for (number, answer) in answers.drain(..) {
        assert_eq!(answer.await.unwrap(), number + 1);
    }
}

/// Waits for `what`, for at most `limit`.
pub async fn in_time<T>(limit: Duration, what: impl Future<Output = T>) -> T {
    timeout(limit, what).await.expect("it ends in time")
}
