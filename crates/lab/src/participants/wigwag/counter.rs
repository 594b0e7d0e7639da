//! The counter, written as wigwag's documentation recommends.

use serde_json::{Value, json};
use tokio::runtime::Builder;
use wigwag::Actor;

use crate::contract::Failure;
use crate::contract::{
    Counts, Orders, PayloadDraws, Tally, counts_to_json, print_line, ready_and_go, senders,
};

pub(super) struct SenderCounter {
    total: u64,
    tallies: Vec<Tally>,
}

#[wigwag::actor]
impl SenderCounter {
    #[inline]
    pub fn count(&mut self, amount: u64, sender: u32, number: u64, payload: u32) {
        self.total += amount;
        if let Some(tally) = self.tallies.get_mut(sender as usize) {
            tally.take(number, payload);
        }
    }

    /// The account, and begins anew.
    pub fn get_and_reset(&mut self) -> String {
        let tallies = std::mem::take(&mut self.tallies);
        let total = std::mem::take(&mut self.total);
        json!({ "total": total, "senders": senders(&tallies) }).to_string()
    }

    /// The total, and what was seen of each sender.
    pub fn counts(&self) -> (u64, Vec<Counts>) {
        (self.total, self.tallies.iter().map(|tally| tally.to_counts()).collect())
    }
}

pub(super) fn count(orders: &Orders) -> Result<(), Failure> {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let tallies = vec![Tally::default(); orders.senders as usize];
        let counter = SenderCounter { total: 0, tallies }.spawn();
        ready_and_go()?;
        let each = orders.messages / u64::from(orders.senders);
        let amount = orders.amount;
        let senders: Vec<_> = (0..orders.senders)
            .map(|sender| {
                let (counter, mut draws) = (counter.clone(), PayloadDraws::of(orders.seed, sender));
                wigwag::spawn(async move {
                    for number in 0..each {
                        counter.count(amount, sender, number, draws.next()).tell().await?;
                    }
                    Ok::<(), Failure>(())
                })
            })
            .collect();
        for sender in senders {
            sender.await??;
        }
        Ok(print_line(&counter.get_and_reset().ask().await?)?)
    })
}

/// A thousand counters, of which any is told next.
pub(super) fn count_each(orders: &Orders) -> Result<(), Failure> {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let counter =
            || SenderCounter { total: 0, tallies: vec![Tally::default(); orders.senders as usize] };
        let counters: Vec<_> = (0..orders.actors).map(|_| counter().spawn()).collect();
        ready_and_go()?;
        let (each, amount) = (orders.messages / u64::from(orders.senders), orders.amount);
        let send = |sender| {
            let (counters, mut draws) = (counters.clone(), PayloadDraws::of(orders.seed, sender));
            wigwag::spawn(async move {
                let mut numbers = vec![0; counters.len()];
                for _ in 0..each {
                    let payload = draws.next();
                    let at = payload as usize % counters.len();
                    counters[at].count(amount, sender, numbers[at], payload).tell().await?;
                    numbers[at] += 1;
                }
                Ok::<(), Failure>(())
            })
        };
        let senders: Vec<_> = (0..orders.senders).map(send).collect();
        for sender in senders {
            sender.await??;
        }
        let (mut total, mut all) = (0, Vec::new());
        for counter in &counters {
            let (of_one, counts) = counter.counts().ask().await?;
            total += of_one;
            all.extend(counts.into_iter().map(counts_to_json));
        }
        let account = json!({ "total": total, "senders": Value::Array(all) });
        Ok(print_line(&account.to_string())?)
    })
}
