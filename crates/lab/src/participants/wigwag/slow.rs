//! A counter that takes its time, as wigwag's documentation tells a user to write it. An actor of its
//! own, so that the plain counter carries nothing for it.

use serde_json::json;
use tokio::runtime::Builder;
use wigwag::Actor;

use crate::contract::Failure;
use crate::contract::{
    Orders, PayloadDraws, Tally, print_line_and_wait, ready_and_go, senders, work,
};

pub(super) struct SlowCounter {
    total: u64,
    worked: u64,
    /// Draws for each message.
    work: u32,
    tallies: Vec<Tally>,
}

#[wigwag::actor]
impl SlowCounter {
    pub fn count(&mut self, amount: u64, sender: u32, number: u64, payload: u32) {
        self.total += amount;
        self.worked = self.worked.wrapping_add(work(self.work, payload));
        if let Some(tally) = self.tallies.get_mut(sender as usize) {
            tally.take(number, payload);
        }
    }

    pub fn account(&self) -> String {
        let (total, worked) = (self.total, self.worked.to_string());
        json!({ "total": total, "senders": senders(&self.tallies), "worked": worked }).to_string()
    }
}

pub(super) fn count(orders: &Orders) -> Result<(), Failure> {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let tallies = vec![Tally::default(); orders.senders as usize];
        let counter = SlowCounter { total: 0, worked: 0, work: orders.work, tallies }.spawn();
        ready_and_go()?;
        let (each, amount) = (orders.messages / u64::from(orders.senders), orders.amount);
        let send = |sender| {
            let (counter, mut draws) = (counter.clone(), PayloadDraws::of(orders.seed, sender));
            wigwag::spawn(async move {
                for number in 0..each {
                    counter.count(amount, sender, number, draws.next()).tell().await?;
                }
                Ok::<(), Failure>(())
            })
        };
        let senders: Vec<_> = (0..orders.senders).map(send).collect();
        for sender in senders {
            sender.await??;
        }
        Ok(print_line_and_wait(&counter.account().ask().await?)?)
    })
}
