//! The yardstick of local tells: one bounded channel, one sender, one receiver.
//!
//! kanal is the fastest bounded channel that we know of. Its sender and its receiver are both
//! tasks, as actors are, and the receiver pays for the same verification as an actor in the lab.

use std::time::Instant;

use tokio::task::JoinError;

use crate::digest::{Moved, SentDigest, SequenceDigest};

/// What the channel carries: what the counting actor is told.
#[derive(Clone, Copy, Debug)]
struct Count {
    amount: u64,
    sender: usize,
    sequence: u64,
}

/// Sends `count` messages, each of `amount`, through a channel that holds `capacity` of them, and
/// returns what the receiver made of them. Must be called within a tokio runtime; the figure is
/// that runtime's. Dropping the future leaves both tasks to end by themselves.
///
/// # Errors
/// A task that panicked or was cancelled by its runtime.
///
/// ```
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// let moved = runtime.block_on(wigwag_lab::channel::kanal_counter(1_024, 10_000, 100))?;
/// assert!(moved.verified.is_clean());
/// # Ok::<(), tokio::task::JoinError>(())
/// ```
pub async fn kanal_counter(capacity: usize, count: u64, amount: u64) -> Result<Moved, JoinError> {
    let (outlet, inlet) = kanal::bounded_async::<Count>(capacity);
    let begun = Instant::now();
    let receiver = tokio::spawn(async move {
        let (mut digest, mut sum) = (SequenceDigest::new(1), 0_u64);
        while let Ok(Count { amount, sender, sequence }) = inlet.recv().await {
            sum = sum.wrapping_add(amount);
            digest.accept(sender, sequence, amount);
        }
        (digest, sum)
    });
    let sender = tokio::spawn(async move {
        let (mut digest, mut sum) = (SentDigest::default(), 0_u64);
        for _ in 0..count {
            sum = sum.wrapping_add(amount);
            let message = Count { amount, sender: 0, sequence: digest.stamp(amount) };
            // Fails only when the receiver is gone; then the verdict counts what is missing.
            if outlet.send(message).await.is_err() {
                break;
            }
        }
        (digest, sum)
    });
    let (sent, sum_sent) = sender.await?;
    let (received, sum_received) = receiver.await?;
    let elapsed = begun.elapsed();
    let mut verified = received.verdict_against(&[sent]);
    verified.corrupt += u64::from(verified.is_clean() && sum_sent != sum_received);
    Ok(Moved { verified, elapsed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_arrives_in_order_on_one_thread_and_on_two() {
        let mut one = tokio::runtime::Builder::new_current_thread();
        let mut two = tokio::runtime::Builder::new_multi_thread();
        for runtime in [one.build().unwrap(), two.worker_threads(2).build().unwrap()] {
            for capacity in [1, 64, 1_024] {
                let moved = runtime.block_on(kanal_counter(capacity, 5_000, 100)).unwrap();
                assert_eq!(moved.verified.received, 5_000);
                assert!(moved.verified.is_clean() && moved.rate() > 0.0);
            }
        }
    }
}
